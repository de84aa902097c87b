package bench

import (
	"bufio"
	"fmt"
	"io"
	"text/tabwriter"
)

// Row is one line of a table.
type Row struct {
	Name string
	Report
}

// Write writes what asking a collection several ways gave, for people.
func Write(out io.Writer, c *Collection, rows []Row) error {
	b := bufio.NewWriter(out)
	fmt.Fprintf(b, "%s: %d documents, searched in %s; indexed in %.2f s", c.Name, c.Documents, c.Store, c.Index.Seconds)
	if c.Embedder != nil {
		fmt.Fprintf(b, " and embedded with %s in %.1f s", c.Embedder.Name(), c.Index.Embed)
	}
	fmt.Fprintf(b, ", %.1f MB\n\n", float64(c.Index.Bytes)/1e6)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tqueries\tfollowed\tnDCG@10\trecall@10\trecall@100\tMRR\tsearch p50/p95/p99 ms\twith embedder ms\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t%s\t%s\t\n", r.Name, r.Queries, r.Followed,
			r.NDCG10, r.Recall10, r.Recall100, r.MRR, r.Search, r.Whole)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return b.Flush()
}

// String has the three in one word.
func (t Times) String() string { return fmt.Sprintf("%.3f/%.3f/%.3f", t.P50, t.P95, t.P99) }

// WriteRun writes the rankings of a report as trec_eval reads them. Its scores fall
// by one a place, so that no tie is broken otherwise than it was here.
func WriteRun(out io.Writer, questions []Question, r Report) error {
	b := bufio.NewWriter(out)
	for i, run := range r.Runs {
		for place, found := range run {
			fmt.Fprintf(b, "%s Q0 %s %d %d headstart\n", questions[i].ID, found.ID, place+1, len(run)-place)
		}
	}
	return b.Flush()
}
