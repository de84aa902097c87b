package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"headstart/memory/locomo"
	"headstart/retrieval"
	"headstart/retrieval/calibrate"
)

// memoryBench is what memory bench was asked.
type memoryBench struct {
	embedder  embedderFlags
	format    string
	arm       string
	calibrate string
	on        string
	follow    bool
	asJSON    bool
}

func memoryBenchCommand() *cobra.Command {
	var o memoryBench
	cmd := &cobra.Command{
		Use:   "bench --format locomo FILE",
		Short: "How often a recall finds the evidence, on conversations in LoCoMo's format",
		Long: `Reads conversations, makes each of them a contact and each of its turns a fact
(speaker, date of the session, words, caption of the picture), asks every question
of its own contact, and prints how often a turn that holds the evidence is among
the first 1, 5, 10 and 20 facts. The figures in front are of categories 1 to 4;
category 5 holds questions that nothing answers: what is told of it is how they differ
from the others, by what is found, by the best BM25 and cosine, and by the evidence; 0.5
of pairs tells nothing apart. Times are of the recall alone, without the embedder.

With --follow each question is asked after those before it, as turns of one call: what
a short one is recalled together with has nothing to do with it.

With --calibrate odd --on even, the weights of the two branches are fitted on every
other question and judged on the rest. An embedder counts as much as the words where it
declares nothing else, and a weak one then costs more than it brings: calibrate the base
that its agent reads (docs calibrate), whose weights hold for the recalls of that agent too.`,
		Example: `  headstart memory bench --format locomo locomo10.json --arm words
  headstart memory bench --format locomo locomo10.json --agent agent.yaml --json
  headstart memory bench --format locomo locomo10.json --agent agent.yaml --calibrate odd --on even`,
		Args: exactlyOneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.embedder.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "locomo", "`FORMAT` of the file: locomo")
	f.StringVar(&o.arm, "arm", string(retrieval.Fused), "what is ranked: words, vectors or fused")
	f.StringVar(&o.calibrate, "calibrate", "", "fit the weights of the branches on this half of the questions: odd or even")
	f.BoolVar(&o.follow, "follow", false, "ask each question after those before it, as turns of one call")
	f.StringVar(&o.on, "on", "", "judge only this half of the questions: odd or even")
	f.BoolVar(&o.asJSON, "json", false, "one JSON object in place of the table")
	return cmd
}

// exactlyOneFile wants the file of a golden or a benchmark.
func exactlyOneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{fmt.Errorf("%s takes one file, got %d; see headstart memory %s --help", cmd.CommandPath(), len(args), cmd.Name())}
	}
	return nil
}

func (o *memoryBench) check() error {
	var wrong []error
	if o.format != "locomo" {
		wrong = append(wrong, fmt.Errorf("--format %q: want locomo", o.format))
	}
	arm := retrieval.Arm(o.arm)
	if arm != retrieval.Words && arm != retrieval.Vectors && arm != retrieval.Fused {
		wrong = append(wrong, fmt.Errorf("--arm %q: want words, vectors or fused", o.arm))
	}
	for _, f := range []struct{ flag, half string }{{"--calibrate", o.calibrate}, {"--on", o.on}} {
		if h := locomo.Half(f.half); h != locomo.All && h != locomo.Odd && h != locomo.Even {
			wrong = append(wrong, fmt.Errorf("%s %q: want odd or even", f.flag, f.half))
		}
	}
	if o.calibrate != "" && arm != retrieval.Fused {
		wrong = append(wrong, errors.New("--calibrate weighs the two branches against each other: it needs --arm fused"))
	}
	if err := errors.Join(wrong...); err != nil {
		return usageError{err}
	}
	return nil
}

func (o *memoryBench) run(cmd *cobra.Command, path string) error {
	if err := o.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	all, err := readFile(path, locomo.Read)
	if err != nil {
		return err
	}
	options := locomo.Options{Arm: retrieval.Arm(o.arm), Follow: o.follow, Progress: stagesOn(cmd.ErrOrStderr())}
	if options.Progress == nil {
		options.Progress = func(string, int, int) {}
	}
	if options.Arm != retrieval.Words {
		if options.Embedder, err = o.embedder.open(ctx); err != nil {
			return err
		}
	}
	fitted, err := o.fit(ctx, cmd, all, &options)
	if err != nil {
		return err
	}
	report, err := locomo.Bench(ctx, locomo.Half(o.on).Of(all), options)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if o.asJSON {
		return json.NewEncoder(out).Encode(report)
	}
	if fitted != nil {
		fmt.Fprintf(out, "fitted on the %s questions: words %.2f, vectors %.2f\n", o.calibrate, fitted.WordsWeight, fitted.VectorsWeight)
	}
	return writeMemoryBench(out, report)
}

func (o *memoryBench) fit(ctx context.Context, cmd *cobra.Command, all []locomo.Conversation, options *locomo.Options) (*calibrate.Fitted, error) {
	if o.calibrate == "" {
		return nil, nil
	}
	fitted, err := locomo.Calibrate(ctx, locomo.Half(o.calibrate).Of(all), options.Embedder, options.Progress)
	if err != nil {
		return nil, err
	}
	if !fitted.Weighed {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d questions are the least that weights are fitted to: what the embedder declares stays\n", calibrate.MinCases)
	}
	options.Calibration = &fitted.Calibration
	return &fitted, nil
}

// readFile reads a file whole by its format, and names it when it fails.
func readFile[T any](path string, read func(io.Reader) (T, error)) (got T, err error) {
	file, err := os.Open(path)
	if err != nil {
		return got, fmt.Errorf("read file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if got, err = read(file); err != nil {
		return got, fmt.Errorf("%s: %w", path, err)
	}
	return got, nil
}

func writeMemoryBench(out io.Writer, r locomo.Report) error {
	by := r.Embedder
	if by == "" {
		by = "no embedder"
	}
	fmt.Fprintf(out, "%d conversations, %d facts; %s, %s\n\n", r.Conversations, r.Facts, r.Arm, by)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "category\tquestions\thit@1\thit@5\thit@10\thit@20\t")
	row := func(name string, s locomo.Score) {
		fmt.Fprintf(w, "%s\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t\n", name, s.Questions, s.HitAt1, s.HitAt5, s.HitAt10, s.HitAt20)
	}
	row("1 to 4", r.Score)
	for _, category := range slices.Sorted(maps.Keys(r.ByCategory)) {
		row(category, r.ByCategory[category])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	writeAbstention(out, r)
	if r.Followed > 0 {
		fmt.Fprintf(out, "%d questions were short, or pointed back, and were asked together with those before them\n", r.Followed)
	}
	if r.Degraded > 0 {
		fmt.Fprintf(out, "%d questions were answered by words alone: the embedder was late or failed\n", r.Degraded)
	}
	_, err := fmt.Fprintf(out, "a recall without the embedder: p50 %.3f ms, p95 %.3f ms, p99 %.3f ms\n", r.RecallMS.P50, r.RecallMS.P95, r.RecallMS.P99)
	return err
}

// writeAbstention shows what could tell the questions that nothing answers from the
// others: of each branch that was asked, and what was found at all.
func writeAbstention(out io.Writer, r locomo.Report) {
	a := r.Abstention
	fmt.Fprintf(out, "\n%d questions that nothing answers, and the others: %d and %d found nothing\n", a.Questions, a.FoundNothing, a.AnswerableFoundNothing)
	if r.Arm != retrieval.Vectors {
		fmt.Fprintf(out, "  best BM25 %.2f and %.2f on average, told apart in %.3f of pairs\n", a.BM25, a.AnswerableBM25, a.BM25Separation)
	}
	if a.Cosine == 0 && a.AnswerableCosine == 0 {
		return // no vectors took part
	}
	fmt.Fprintf(out, "  best cosine %.3f and %.3f on average, told apart in %.3f of pairs\n", a.Cosine, a.AnswerableCosine, a.Separation)
	e, o := a.Evidence, a.AnswerableEvidence
	fmt.Fprintf(out, "  evidence strong %.3f and %.3f, weak %.3f and %.3f, none %.3f and %.3f of them\n", e.Strong, o.Strong, e.Weak, o.Weak, e.None, o.None)
}
