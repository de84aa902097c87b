package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headstart/retrieval"
	"headstart/retrieval/bench"
	"headstart/retrieval/calibrate"
)

// docsBench is what docs bench was asked.
type docsBench struct {
	embedder  embedderFlags
	language  string
	depth     int
	arm       string
	stores    []string // memory, postgres or both
	database  string   // URL of the PostgreSQL
	limit     int
	alone     bool
	asJSON    bool
	runFile   string
	calibrate string
	on        string
}

func docsBenchCommand() *cobra.Command {
	var o docsBench
	cmd := &cobra.Command{
		Use:   "bench DIR",
		Short: "How good and how fast a search is on a judged collection in BEIR's layout",
		Long: `Reads corpus.jsonl, queries.jsonl and qrels/test.tsv of a folder, indexes each
document as one chunk, asks every query that is judged, and prints nDCG@10, recall@10,
recall@100 and the mean reciprocal rank as trec_eval computes them, and what a search
takes, with the embedder and without. Nothing is collapsed or cut into sections.

A query may carry "history", a list of {"speaker", "text"}: it is asked together with
what the user said before it. The table then has a row for the last turn alone as
well; --alone asks nothing else.

With --calibrate odd --on even, the weights of the two branches are fitted on every
other query and judged on the rest. Queries are counted from 1, in their file's order.

What an embedder counts against the words is its own: 1 where it declares nothing. A
weak one then costs more than it brings, and --calibrate says so: give it its weight
with docs calibrate before a base is searched with it.

With --store postgres the collection is put into the PostgreSQL of
HEADSTART_DATABASE_URL for the time of the run, and asked there by one statement a
query. With --store memory,postgres it is asked in both, and the table says how much
longer the statement takes; --json then has a line for each, postgres first.`,
		Example: `  headstart docs bench data/scifact --arm words
  headstart docs bench data/xquad-es --language es --json
  headstart docs bench data/xquad-en --embedder openai --embedder-url http://127.0.0.1:9911/v1 --embedder-model m
  HEADSTART_DATABASE_URL=postgres://localhost/headstart headstart docs bench data/scifact --store memory,postgres --depth 10
  headstart docs bench data/xquad-en --agent agent.yaml --calibrate odd --on even`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("docs bench takes one folder; see headstart docs bench --help")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.embedder.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.language, "language", "en", "`LANGUAGE` of the collection: es, en, pt, fr, de, it; any other is not stemmed")
	f.IntVar(&o.depth, "depth", bench.DefaultDepth, "documents of each ranking that are judged")
	f.StringVar(&o.arm, "arm", string(retrieval.Fused), "what is ranked: words, vectors or fused")
	f.StringSliceVar(&o.stores, "store", []string{inMemory}, "where the collection is searched: memory, postgres, or both of them with a comma between")
	databaseFlag(cmd, &o.database)
	f.IntVar(&o.limit, "limit-queries", 0, "ask only the first `N` queries that are judged; 0 is all")
	f.BoolVar(&o.alone, "alone", false, "ask the last turn without the turns before it")
	f.StringVar(&o.runFile, "run", "", "write the rankings to this `FILE`, as trec_eval reads them")
	f.StringVar(&o.calibrate, "calibrate", "", "fit the weights of the branches on this half of the queries: odd or even")
	f.StringVar(&o.on, "on", "", "judge only this half of the queries: odd or even")
	f.BoolVar(&o.asJSON, "json", false, "one JSON object a store in place of the table")
	return cmd
}

func (o *docsBench) check() error {
	var wrong []error
	arm := retrieval.Arm(o.arm)
	if arm != retrieval.Words && arm != retrieval.Vectors && arm != retrieval.Fused {
		wrong = append(wrong, fmt.Errorf("--arm %q: want words, vectors or fused", o.arm))
	}
	if len(o.stores) == 0 || slices.ContainsFunc(o.stores, func(s string) bool { return s != inMemory && s != inPostgres }) {
		wrong = append(wrong, fmt.Errorf("--store %q: want memory, postgres or memory,postgres", strings.Join(o.stores, ",")))
	}
	if o.depth < 1 || o.limit < 0 {
		wrong = append(wrong, fmt.Errorf("--depth %d, --limit-queries %d: want a depth of 1 at least and a limit of 0 at least", o.depth, o.limit))
	}
	for flag, half := range map[string]string{"--calibrate": o.calibrate, "--on": o.on} {
		if h := bench.Half(half); h != bench.All && h != bench.Odd && h != bench.Even {
			wrong = append(wrong, fmt.Errorf("%s %q: want odd or even", flag, half))
		}
	}
	if o.calibrate != "" && (arm != retrieval.Fused || slices.Contains(o.stores, inPostgres)) {
		wrong = append(wrong, errors.New("--calibrate weighs the two branches against each other: it needs --arm fused and --store memory"))
	}
	if err := errors.Join(wrong...); err != nil {
		return usageError{err}
	}
	return nil
}

func (o *docsBench) run(cmd *cobra.Command, dir string) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	cfg := bench.Config{Dir: dir, Language: o.language, Limit: o.limit, Progress: stagesOn(cmd.ErrOrStderr())}
	beside, done, err := o.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	cfg.Store = beside
	if retrieval.Arm(o.arm) != retrieval.Words {
		if cfg.Embedder, err = o.embedder.open(ctx); err != nil {
			return err
		}
	}
	c, err := bench.Open(ctx, cfg)
	if err != nil {
		return err
	}
	if c.Unasked > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d judged queries are not in queries.jsonl and do not count\n", c.Unasked)
	}
	w := bench.Way{Arm: retrieval.Arm(o.arm), Depth: o.depth, Alone: o.alone, Half: bench.Half(o.on), Progress: cfg.Progress}
	if beside.both {
		return o.compare(ctx, cmd.OutOrStdout(), c, c.Through(inMemory, beside.memory, beside.index), w)
	}
	return o.report(ctx, cmd, c, w)
}

func (o *docsBench) report(ctx context.Context, cmd *cobra.Command, c *bench.Collection, w bench.Way) error {
	out := cmd.OutOrStdout()
	if o.calibrate != "" {
		fitted, err := c.Calibrate(ctx, bench.Half(o.calibrate), w)
		if err != nil {
			return err
		}
		if !fitted.Weighed {
			fmt.Fprintf(cmd.ErrOrStderr(), "%d queries are the least that weights are fitted to: what the embedder declares stays\n", calibrate.MinCases)
		}
		w.Calibration = &fitted.Calibration
	}
	r, err := c.Ask(ctx, w)
	if err != nil {
		return err
	}
	if err := o.writeRun(c, r); err != nil {
		return err
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	rows, err := o.others(ctx, c, w, bench.Row{Name: o.arm, Report: r})
	if err != nil {
		return err
	}
	if w.Calibration != nil {
		fmt.Fprintf(out, "fitted on the %s queries: words %.3f, vectors %.3f; weak from %.3f, strong from %.3f\n",
			o.calibrate, w.Calibration.WordsWeight, w.Calibration.VectorsWeight, w.Calibration.Weak, w.Calibration.Strong)
	}
	return bench.Write(out, c, rows)
}

// others asks the ways that a table shows beside the one that was asked for.
func (o *docsBench) others(ctx context.Context, c *bench.Collection, w bench.Way, asked bench.Row) ([]bench.Row, error) {
	rows := []bench.Row{asked}
	ask := func(name string, w bench.Way) error {
		r, err := c.Ask(ctx, w)
		rows = append(rows, bench.Row{Name: name, Report: r})
		return err
	}
	if w.Calibration != nil {
		rows[0].Name = "fused, calibrated"
		w.Calibration = nil
		for _, arm := range []retrieval.Arm{retrieval.Fused, retrieval.Words, retrieval.Vectors} {
			w.Arm = arm
			name := string(arm)
			if arm == retrieval.Fused {
				name = "fused, as declared"
			}
			if err := ask(name, w); err != nil {
				return nil, err
			}
		}
		return rows, nil
	}
	if asked.Followed == 0 {
		return rows, nil
	}
	w.Alone = true
	err := ask(asked.Name+", last turn alone", w)
	return rows, err
}

// writeRun writes the rankings where that was asked.
func (o *docsBench) writeRun(c *bench.Collection, r bench.Report) (err error) {
	if o.runFile == "" {
		return nil
	}
	file, err := os.Create(o.runFile)
	if err != nil {
		return fmt.Errorf("write rankings: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := bench.WriteRun(file, bench.Half(o.on).Of(c.Questions), r); err != nil {
		return fmt.Errorf("write rankings: %w", err)
	}
	return nil
}

// stagesOn draws how far a benchmark is, on a terminal only: its lines elsewhere
// would tell nobody anything.
func stagesOn(out io.Writer) bench.Progress {
	if !isTerminal(out) {
		return nil
	}
	return func(stage string, done, all int) {
		fmt.Fprintf(out, "\r%s %d of %d", stage, done, all)
		if done == all {
			fmt.Fprint(out, "\r\x1b[K")
		}
	}
}
