package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"headstart/memory/golden"
	"headstart/store/sqlite"
	"headstart/worker"
	"headstart/worker/calllog"
)

// memoryEval is what memory eval was asked.
type memoryEval struct {
	embedder   embedderFlags
	language   string
	extraction bool
	asJSON     bool
}

// errGolden means that a golden was not met: the report says where.
var errGolden = errors.New("the golden is not met")

func memoryEvalCommand() *cobra.Command {
	var o memoryEval
	cmd := &cobra.Command{
		Use:   "eval FILE",
		Short: "Ask a golden: what a memory must bring back, or what a call must teach",
		Long: `Reads [{"holds": [facts], "asks": question, "expects": words}] and, for each, writes
the facts to a scratch contact, asks as a call asks, and deletes them. A question is
answered when a fact that came back contains what was expected, accents dropped,
case folded, spaces squeezed. "before", turns of the caller before the question, makes
it a follow-up. The store is a SQLite of its own, gone at the end.

With --extraction it reads [{"turns": [...], "policy": {"remember", "forget"}, "keeps":
[words], "refuses": [words]}]: what a call must and must not teach. A lesson may carry
"answer", the operations that a model is taken to propose; without it the model of
--agent is asked. "held" are facts from before the call.

It exits 1 when anything is not met.`,
		Example: `  headstart memory eval recall.json --agent agent.yaml
  headstart memory eval recall.json --language es --json
  headstart memory eval lessons.json --extraction --agent agent.yaml`,
		Args: exactlyOneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.extraction {
				return o.teach(cmd, args[0])
			}
			return o.ask(cmd, args[0])
		},
	}
	o.embedder.flags(cmd)
	cmd.Flag("agent").Usage = "take the language, the embedder and the model of this agent `FILE`"
	f := cmd.Flags()
	f.StringVar(&o.language, "language", "en", "`LANGUAGE` of the facts: es, en, pt, fr, de, it; --agent says its own")
	f.BoolVar(&o.extraction, "extraction", false, "the file is a golden of what calls teach")
	f.BoolVar(&o.asJSON, "json", false, "one JSON object in place of the table")
	return cmd
}

// agentFile is the agent of the command, if one is named.
func (o *memoryEval) agentFile() (*worker.Agent, error) {
	if o.embedder.agent == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.embedder.agent)
	if err != nil {
		return nil, fmt.Errorf("read agent: %w", err)
	}
	a, err := worker.ParseAgent(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.embedder.agent, err)
	}
	o.language = a.Language
	return &a, nil
}

func (o *memoryEval) ask(cmd *cobra.Command, path string) error {
	ctx := cmd.Context()
	questions, err := readFile(path, golden.ReadQuestions)
	if errors.Is(err, golden.ErrFormat) {
		return fmt.Errorf("%w; what calls teach is read with --extraction", err)
	}
	if err != nil {
		return err
	}
	if _, err := o.agentFile(); err != nil {
		return err
	}
	e, err := o.embedder.open(ctx)
	if err != nil {
		return err
	}
	reader := golden.Reader{Org: calllog.DefaultOrg, Language: o.language, Embedder: e, At: time.Now(), Progress: stageOn(cmd.ErrOrStderr(), "ask")}
	report, err := askScratch(ctx, reader, questions)
	if err != nil {
		return err
	}
	if err := o.write(cmd.OutOrStdout(), report, func(out io.Writer) { writeRecallGolden(out, report) }); err != nil {
		return err
	}
	if report.Answered < report.Questions {
		return fmt.Errorf("%w: %d of %d questions answered", errGolden, report.Answered, report.Questions)
	}
	return nil
}

// askScratch asks in a store of its own, which no worker has open.
func askScratch(ctx context.Context, r golden.Reader, questions []golden.Question) (report golden.Report, err error) {
	dir, err := os.MkdirTemp("", "headstart-golden-")
	if err != nil {
		return report, fmt.Errorf("make scratch store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sqlite.Open(ctx, dir+"/scratch.db")
	if err != nil {
		return report, fmt.Errorf("open scratch store: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return r.Ask(ctx, db, questions)
}

func (o *memoryEval) teach(cmd *cobra.Command, path string) error {
	lessons, err := readFile(path, golden.ReadLessons)
	if err != nil {
		return err
	}
	a, err := o.agentFile()
	if err != nil {
		return err
	}
	teacher := golden.Teacher{At: time.Now(), Progress: stageOn(cmd.ErrOrStderr(), "teach")}
	if a != nil {
		if err := o.teachAs(*a, &teacher); err != nil {
			return err
		}
	}
	teacher.Language = o.language
	report, err := teacher.Teach(cmd.Context(), lessons)
	if errors.Is(err, golden.ErrNoModel) {
		return usageError{fmt.Errorf("%s: %w", path, err)}
	}
	if err != nil {
		return err
	}
	if err := o.write(cmd.OutOrStdout(), report, func(out io.Writer) { writeLessons(out, report) }); err != nil {
		return err
	}
	if report.Passed < report.Lessons {
		return fmt.Errorf("%w: %d of %d lessons passed", errGolden, report.Passed, report.Lessons)
	}
	return nil
}

// teachAs takes what the agent is: its model, its tools, its instructions.
func (o *memoryEval) teachAs(a worker.Agent, t *golden.Teacher) error {
	s, err := settingsFromEnv()
	if err != nil {
		return err
	}
	k := &kit{settings: s, log: zap.NewNop()}
	m, _, err := k.model(a)
	if err != nil {
		return err
	}
	if t.Model, err = k.extractor(a, m); err != nil {
		t.Model = nil // only a lesson without an answer needs one, and says so
	}
	t.Tools = a.Tools()
	blocks := make([]string, len(a.Prompt))
	for i, b := range a.Prompt {
		blocks[i] = b.Text
	}
	t.Prompt = strings.Join(blocks, "\n\n")
	return nil
}

func (o *memoryEval) write(out io.Writer, report any, table func(io.Writer)) error {
	if o.asJSON {
		return json.NewEncoder(out).Encode(report)
	}
	table(out)
	return nil
}

// stageOn draws one stage on a terminal.
func stageOn(out io.Writer, stage string) func(done, all int) {
	draw := stagesOn(out)
	if draw == nil {
		return nil
	}
	return func(done, all int) { draw(stage, done, all) }
}

func writeRecallGolden(out io.Writer, r golden.Report) {
	for _, a := range r.Answers {
		if a.Rank > 0 {
			fmt.Fprintf(out, "ok %d   %s\n", a.Rank, a.Asks)
			continue
		}
		fmt.Fprintf(out, "MISSED %s\n       expected %q, came back: %s\n", a.Asks, a.Expects, orNothing(a.Facts))
	}
	fmt.Fprintf(out, "\n%d of %d answered: recall %.3f, first %.3f, MRR %.3f\n", r.Answered, r.Questions, r.Recall, r.HitAt1, r.MRR)
}

func orNothing(facts []string) string {
	if len(facts) == 0 {
		return "nothing"
	}
	return strings.Join(facts, " | ")
}

func writeLessons(out io.Writer, r golden.Lessons) {
	for i, t := range r.Results {
		verdict := "ok    "
		if len(t.Missing)+len(t.Leaked) > 0 {
			verdict = "FAILED"
		}
		fmt.Fprintf(out, "%s lesson %d: kept %s\n", verdict, i+1, orNothing(t.Kept))
		for _, words := range t.Missing {
			fmt.Fprintf(out, "       missing %q\n", words)
		}
		for _, words := range t.Leaked {
			fmt.Fprintf(out, "       kept though it must not be: %q\n", words)
		}
		for _, refused := range t.Refused {
			fmt.Fprintf(out, "       refused %q: %s\n", refused.Text, refused)
		}
	}
	fmt.Fprintf(out, "\n%d of %d lessons passed: kept %d of %d, refused %d of %d\n", r.Passed, r.Lessons, r.Kept, r.Keeps, r.Refused, r.Refuses)
}
