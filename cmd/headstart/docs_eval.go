package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"headstart/retrieval"
	"headstart/retrieval/golden"
	"headstart/worker/calllog"
)

func docsEvalCommand() *cobra.Command {
	var o docsBase
	var k int
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "How well a base answers questions whose answers are known",
		Long: `Asks a base every question of a golden, and prints recall@k, nDCG@10 and the
questions whose answer was not found, with what came instead. Nothing is judged by a
model: an answer is a passage under the heading path that was expected, accents,
case and spaces aside.

A golden is a JSON list, written by who knows the documents:

  [{"asks": "¿Cuánto cuesta la revisión?", "expects": "Tarifas › Revisión"},
   {"asks": "¿Y la segunda?", "expects": "Tarifas › Revisión", "before": ["…"]},
   {"asks": "¿Quién ganó el mundial?", "expects": ""}]

"before" holds the caller's turns before the question. What expects "" is answered
by no document: it counts in no figure, and is told when the evidence is strong.`,
		Example: `  headstart docs eval --base clinica --golden golden.json
  headstart docs eval --dir ./knowledge --golden golden.json --k 4 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if k < 1 {
				return usageError{fmt.Errorf("--k %d: want one passage at least", k)}
			}
			return o.with(cmd, func(b *readBase, questions []golden.Question) error {
				e := golden.Evaluation{Org: calllog.DefaultOrg, Base: o.base, K: k}
				if tell := stagesOn(cmd.ErrOrStderr()); tell != nil {
					e.Progress = func(done, all int) { tell("ask", done, all) }
				}
				r, err := golden.Eval(cmd.Context(), retrieval.NewSearcher(b.library(), b.embedder), e, questions)
				if err != nil {
					return err
				}
				return writeEval(cmd.OutOrStdout(), r, o.asJSON)
			})
		},
	}
	o.flags(cmd)
	cmd.Flags().IntVar(&k, "k", retrieval.DefaultK, "passages that a call reads")
	return cmd
}

func writeEval(out io.Writer, r golden.Report, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	fmt.Fprintf(out, "%s: %d questions, recall@%d %.3f, nDCG@10 %.3f\n", r.Base, r.Questions, r.K, r.Recall, r.NDCG10)
	for _, m := range r.Misses {
		at := "not found"
		if m.At > 0 {
			at = fmt.Sprintf("at %d", m.At)
		}
		fmt.Fprintf(out, "\nmissed (%s): %s\n  expected  %s\n", at, m.Asks, m.Expects)
		writeCame(out, m.Came)
	}
	if r.OffTopic > 0 {
		fmt.Fprintf(out, "\n%d questions that no document answers, strong evidence for %d\n", r.OffTopic, len(r.Mistaken))
	}
	for _, m := range r.Mistaken {
		fmt.Fprintf(out, "\nseems answered: %s\n", m.Asks)
		writeCame(out, m.Came)
	}
	return nil
}

func writeCame(out io.Writer, came []golden.Came) {
	for i, c := range came {
		fmt.Fprintf(out, "  came %d    %s (%s)\n", i+1, c.Heading, c.Path)
	}
	if len(came) == 0 {
		fmt.Fprintln(out, "  came      nothing")
	}
}
