package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"headstart/retrieval/calibrate"
	"headstart/retrieval/golden"
	"headstart/worker/calllog"
)

func docsCalibrateCommand() *cobra.Command {
	var o docsBase
	var dry bool
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Fit the weights of words and vectors, and the evidence cut-offs, to a base",
		Long: fmt.Sprintf(`Asks a base every question of a golden (see docs eval) and fits, for the base and
its embedder, what the two branches of a search count in the fusion, and from which
cosine on the evidence is weak or strong. The golden should hold %d questions and more
that a document answers, and %d and more whose "expects" is empty: with fewer, what the
embedder declares stays.

It tells what the weights gain on questions that they were not fitted to: each half
of the golden is judged with the weights of the other. The fusion is never taken where
that is worse than one branch alone.

The calibration is kept with the base until its embedder changes; with --dir and with
--dry-run it is only told.`, calibrate.MinCases, calibrate.MinOffTopic),
		Example: `  headstart docs calibrate --base clinica --golden golden.json
  headstart docs calibrate --dir ./knowledge --golden golden.json --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(b *readBase, questions []golden.Question) error {
				fitted, err := o.fit(cmd, b, questions)
				if err != nil {
					return err
				}
				kept := b.store != nil && !dry && (fitted.Weighed || fitted.Cut)
				if kept {
					if _, err := b.store.Calibrate(cmd.Context(), calllog.DefaultOrg, o.base, &fitted.Calibration); err != nil {
						return err
					}
				}
				return writeFitted(cmd.OutOrStdout(), o.base, fitted, kept, o.asJSON)
			})
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "tell what was fitted and keep nothing")
	return cmd
}

func (o *docsBase) fit(cmd *cobra.Command, b *readBase, questions []golden.Question) (calibrate.Fitted, error) {
	m := calibrate.Material{Segment: b.segment, Embedder: b.embedder}
	m.Cases, m.OffTopic = golden.Material(questions)
	if tell := stagesOn(cmd.ErrOrStderr()); tell != nil {
		m.Progress = func(done, all int) { tell("calibrate", done, all) }
	}
	return calibrate.Fit(cmd.Context(), m)
}

// fittedObject is what docs calibrate tells.
type fittedObject struct {
	Base     string  `json:"base"`
	Embedder string  `json:"embedder"`
	Weighed  bool    `json:"weighed"`
	Words    float64 `json:"words_weight"`
	Vectors  float64 `json:"vectors_weight"`
	Cut      bool    `json:"cut"`
	Strong   float64 `json:"strong"`
	Weak     float64 `json:"weak"`
	HeldOut  means   `json:"held_out"`
	All      means   `json:"all"`
	Kept     bool    `json:"kept"`
}

// means are of nDCG@10.
type means struct {
	Words    float64 `json:"words"`
	Vectors  float64 `json:"vectors"`
	Declared float64 `json:"declared"`
	Fitted   float64 `json:"fitted"`
}

func writeFitted(out io.Writer, base string, f calibrate.Fitted, kept, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(fittedObject{
			Base: base, Embedder: f.Embedder, Weighed: f.Weighed, Words: f.WordsWeight, Vectors: f.VectorsWeight,
			Cut: f.Cut, Strong: f.Strong, Weak: f.Weak, HeldOut: means(f.HeldOut), All: means(f.All), Kept: kept,
		})
	}
	weights, cuts := "fitted", "fitted"
	if !f.Weighed {
		weights = fmt.Sprintf("as declared: fewer than %d questions that a document answers", calibrate.MinCases)
	}
	if !f.Cut {
		cuts = fmt.Sprintf("near what is declared: fewer than %d questions that no document answers", calibrate.MinOffTopic)
	}
	fmt.Fprintf(out, "%s with %s\n", base, f.Embedder)
	fmt.Fprintf(out, "weights    words %.3f, vectors %.3f (%s)\n", f.WordsWeight, f.VectorsWeight, weights)
	fmt.Fprintf(out, "evidence   weak from %.3f, strong from %.3f (%s)\n", f.Weak, f.Strong, cuts)
	fmt.Fprintf(out, "nDCG@10    words %.3f, vectors %.3f, both as declared %.3f\n", f.HeldOut.Words, f.HeldOut.Vectors, f.HeldOut.Declared)
	fmt.Fprintf(out, "held out   %.3f, %+.3f against the better branch\n", f.HeldOut.Fitted, f.HeldOut.Gain())
	if !kept {
		fmt.Fprintln(out, "not kept")
	}
	return nil
}
