package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
	"headstart/worker"
	v1 "headstart/worker/api/v1"
)

const (
	// testerHits is how many passages the tester shows, and testerLines how much of
	// each.
	testerHits  = 6
	testerLines = 4
)

// docsSearch is what docs search was asked.
type docsSearch struct {
	docsStore
	bases    []string
	before   []string
	k        int
	embedder embedderFlags
}

func docsSearchCommand() *cobra.Command {
	var o docsSearch
	cmd := &cobra.Command{
		Use:   "search QUESTION",
		Short: "What an agent would be handed for a question, and why",
		Long: `Searches bases as a chat does, with the reranker of --agent if it has one, and shows each passage with what both branches make
of it: the cosine of its vector with the question's, its BM25, and its place once both
were fused. Absent is what a branch has nothing to say to. v1 is the format in which the
file was cut. Without --base all bases are searched together, as an agent that reads
them all would.

The question is asked as it stands. --before asks a follow-up with the caller's turns
before it.`,
		Example: `  headstart docs search "¿Cuánto cuesta la revisión?" --base clinica
  headstart docs search "¿y la segunda?" --before "¿Cuánto cuesta la revisión?" --base clinica --json`,
		Args: oneArgument("one question, in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(db database) error {
				found, err := o.search(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				if o.asJSON {
					return writeObject(cmd.OutOrStdout(), found)
				}
				return writeFound(cmd.OutOrStdout(), found)
			})
		},
	}
	o.flags(cmd)
	o.embedder.flags(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&o.bases, "base", nil, "`NAME` of a base to search; may be given more than once")
	f.StringArrayVar(&o.before, "before", nil, "a `TURN` of the caller before the question, oldest first; may be given more than once")
	f.IntVarP(&o.k, "k", "k", testerHits, "passages to show")
	return cmd
}

func (o *docsSearch) search(ctx context.Context, db database, question string) (v1.Found, error) {
	library, formats, err := o.load(ctx, db)
	if err != nil {
		return v1.Found{}, err
	}
	e, err := o.open(ctx, library)
	if err != nil {
		return v1.Found{}, err
	}
	q := retrieval.Query{Org: o.org, Text: question, K: max(1, o.k), Before: o.before, Ranks: true, Written: true}
	for _, base := range o.bases {
		q.Bases = append(q.Bases, retrieval.Attachment{Base: base, K: q.K})
	}
	searcher, err := o.searcher(library, e)
	if err != nil {
		return v1.Found{}, err
	}
	found, err := v1.Find(ctx, searcher, q, func(base, path string) int { return formats[base+"/"+path] })
	if _, mixed := errors.AsType[retrieval.ErrMismatch](err); mixed && len(o.bases) > 1 {
		return found, fmt.Errorf("%w; bases of different embedders are searched one by one, with --base NAME", err)
	}
	return found, err
}

// searcher is the one of --agent, reranker and all, as for what is written.
func (o *docsSearch) searcher(library *retrieval.Library, e retrieval.Embedder) (*retrieval.Searcher, error) {
	var a worker.Agent
	if o.embedder.agent != "" {
		var err error
		if a, err = readAgent(o.embedder.agent); err != nil {
			return nil, err
		}
	}
	s, err := settingsFromEnv()
	if err != nil {
		return nil, err
	}
	return (&kit{settings: s, log: zap.NewNop(), library: library}).searcher(a, e)
}

// load brings the bases into memory, and tells in which format each file of
// theirs was cut.
func (o *docsSearch) load(ctx context.Context, db database) (*retrieval.Library, map[string]int, error) {
	if len(o.bases) == 0 {
		all, err := db.Bases(ctx, o.org)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range all {
			o.bases = append(o.bases, b.Name)
		}
		if len(all) == 0 {
			return nil, nil, errors.New("no bases yet; headstart docs push DIR --base NAME makes one")
		}
	}
	library, formats := &retrieval.Library{}, make(map[string]int)
	for _, base := range o.bases {
		_, segment, err := knowledge.Load(ctx, db, o.org, base)
		if err != nil {
			return nil, nil, known(err, base)
		}
		library.Put(o.org, segment)
		_, files, err := db.Files(ctx, o.org, base)
		if err != nil {
			return nil, nil, known(err, base)
		}
		for _, f := range files {
			formats[base+"/"+f.Path] = f.Format
		}
	}
	return library, formats, nil
}

// open makes the embedder that the flags name, else the one that the first base
// with vectors names; nil where none has any.
func (o *docsSearch) open(ctx context.Context, library *retrieval.Library) (retrieval.Embedder, error) {
	for _, base := range o.bases {
		segment, ok := library.Get(o.org, base)
		if !ok {
			continue
		}
		if model, dim := segment.Model(); model != "" {
			embedder, err := o.embedder.of(model, dim)
			if err != nil {
				return nil, err
			}
			e, err := embedder.open(ctx)
			if err != nil {
				return nil, fmt.Errorf("base %s was embedded with %s: %w", base, model, err)
			}
			return e, nil
		}
	}
	return nil, nil
}

func writeFound(out io.Writer, f v1.Found) error {
	if f.Degraded != "" {
		fmt.Fprintf(out, "from the words alone: %s\n\n", f.Degraded)
	}
	if f.Unranked != "" {
		fmt.Fprintf(out, "not reranked: %s\n\n", f.Unranked)
	}
	if len(f.Passages) == 0 {
		_, err := fmt.Fprintln(out, "Nothing relevant found: the agent would say it doesn't know.")
		return err
	}
	for i, p := range f.Passages {
		fmt.Fprintf(out, "%d  %s: %s\n", i+1, p.Base, p.Path)
		for _, h := range p.Hits {
			fmt.Fprintf(out, "   %s, v%d\n", marks(h), p.Format)
		}
		if p.Heading != "" {
			fmt.Fprintf(out, "   Context: %s\n", p.Heading)
		}
		for _, line := range firstLines(p.Text) {
			fmt.Fprintf(out, "   | %s\n", line)
		}
		fmt.Fprintln(out)
	}
	_, err := fmt.Fprintf(out, "evidence %s, best cosine %.2f, searched by %s\n", f.Evidence, f.Cosine, branchNames(f.Branches))
	return err
}

// marks are what the branches make of a hit; what one has nothing to say to is
// left out.
func marks(h v1.FoundHit) string {
	var parts []string
	if h.Vectors != 0 {
		parts = append(parts, fmt.Sprintf("vectors %.2f", h.Vectors))
	}
	if h.Words != 0 {
		parts = append(parts, fmt.Sprintf("words %.2f", h.Words))
	}
	if h.Fused > 0 {
		parts = append(parts, fmt.Sprintf("fused #%d", h.Fused))
	}
	if h.Reranked > 0 {
		parts = append(parts, fmt.Sprintf("reranked #%d", h.Reranked))
	}
	return strings.Join(parts, ", ")
}

func branchNames(branches []retrieval.Branch) string {
	var names []string
	for _, b := range branches {
		names = append(names, string(b))
	}
	return strings.Join(names, " and ")
}

// firstLines are those of a text that the tester shows.
func firstLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line == "" && len(lines) == 0 {
			continue
		}
		if len(lines) == testerLines {
			return append(lines, "…")
		}
		lines = append(lines, cutAt(line, 160))
	}
	return lines
}

// cutAt shortens a line to so many characters.
func cutAt(line string, n int) string {
	if runes := []rune(line); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return line
}
