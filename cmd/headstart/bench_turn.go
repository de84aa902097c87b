package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"headstart/worker/bench"
)

func benchTurnCommand() *cobra.Command {
	var o benchOptions
	var turns int
	var names []string
	var late bool
	cmd := &cobra.Command{
		Use:   "turn",
		Short: "Measure from the end of speech to the first sound, and each stage between",
		Long: `One caller at a time asks the same question again and again, four times a call,
over a real LiveKit server. LiveKit, the providers (headstart fakes) and the caller have processes of
their own; the worker is this one. The caller's audio was encoded beforehand.

The modes are flux (the recogniser ends the turn) and vad (silence and the
endpointing end it), each with no retrieval, with an embedder of 80 ms and with one
of 400 ms; those with retrieval once with lookups while the caller speaks and once
(-late) at the end of the turn. Each takes about six seconds a turn.

It fails when a turn was not answered. An aim that is not met is told, and is no
failure: it is the machine's load as much as ours.`,
		Example: `  headstart bench turn                              all ten modes, 31 turns each
  headstart bench turn --mode flux --turns 11       where the recogniser ends the turn
  headstart bench turn --mode vad-80ms --json -     one pair, everything as JSON
  headstart bench turn --no-early                   lookups at the end of the turn`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			modes, err := bench.Choose(names, late)
			if err != nil {
				return usageError{err}
			}
			if turns <= 0 {
				return usageError{fmt.Errorf("--turns %d: want one at least", turns)}
			}
			return benchTurns(cmd, o, modes, turns)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&turns, "turns", 31, "questions in each mode")
	f.StringSliceVar(&names, "mode", nil, "`MODE` to measure, by its name or the beginning of it; may be given more than once")
	f.BoolVar(&late, "no-early", false, "leave out the modes whose lookups start while the caller speaks")
	return cmd
}

func benchTurns(cmd *cobra.Command, o benchOptions, modes []bench.Mode, turns int) (err error) {
	report := bench.TurnReport{Machine: bench.MachineNow(), Question: o.question, Embedder: benchEmbedder}
	t, err := openTheatre(cmd, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for _, m := range modes {
		measured, err := t.measureMode(m, turns)
		if err != nil {
			return fmt.Errorf("measure %s: %w", m.Name(), err)
		}
		report.Modes = append(report.Modes, bench.ReportOf(m, measured))
	}
	report.Aims = bench.TurnAims(report.Modes)
	if err := t.writeBench(report); err != nil {
		return err
	}
	if failed := report.Unanswered(); len(failed) > 0 {
		return fmt.Errorf("not every turn was answered: %s", joinLines(failed))
	}
	return nil
}

// benchSealWithin bounds the wait for the log of a call that is over.
const benchSealWithin = 15 * time.Second

// turnsPerCall is how many questions one call asks. The frames of caller and agent
// leave on clocks of their own, whose phase chance sets once a call and which is
// worth up to 20 ms: many calls even it out.
const turnsPerCall = 4

// measureMode makes one call after the other until there are enough turns.
func (t *theatre) measureMode(m bench.Mode, turns int) (measured []bench.Turn, err error) {
	tell := turnsOn(t.cmd.ErrOrStderr(), m.Name(), turns)
	err = t.withWorker(m, func(srv *server) error {
		for len(measured) < turns {
			call, err := t.measureCall(srv, m, min(turnsPerCall, turns-len(measured)), func(n int) { tell(len(measured) + n) })
			if err != nil {
				return err
			}
			measured = append(measured, call...)
		}
		return nil
	})
	return measured, err
}

// turnsOn tells how far a mode is: a line that rewrites itself on a terminal, one
// line each ten turns and at the end elsewhere.
func turnsOn(out io.Writer, mode string, turns int) func(done int) {
	terminal := isTerminal(out)
	return func(done int) {
		line := fmt.Sprintf("%s: turn %d of %d", mode, done, turns)
		switch {
		case terminal && done < turns:
			fmt.Fprint(out, "\r", line)
		case terminal:
			fmt.Fprint(out, "\r", line, "\n")
		case done%10 == 0 || done == turns:
			fmt.Fprintln(out, line)
		}
	}
}

// measureCall makes one call and joins what the caller saw with the log.
func (t *theatre) measureCall(srv *server, m bench.Mode, turns int, progress func(turn int)) ([]bench.Turn, error) {
	c, err := t.dial(m.Name(), 1, turns)
	if err != nil {
		return nil, err
	}
	var asked []bench.Asked
	if err := c.wait(func(told bench.Told) {
		if told.Turn != nil {
			asked = append(asked, *told.Turn)
			progress(len(asked))
		}
	}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(t.cmd.Context(), benchSealWithin, fmt.Errorf("log not sealed after %v", benchSealWithin))
	defer cancel()
	_, entries, err := bookLogs{srv}.Sealed(ctx, c.rooms[0])
	if err != nil {
		return nil, err
	}
	return bench.Join(asked, entries), nil
}
