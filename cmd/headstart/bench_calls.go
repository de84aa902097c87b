package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"headstart/worker/bench"
)

func benchCallsCommand() *cobra.Command {
	var o benchOptions
	var counts []int
	var seconds int
	cmd := &cobra.Command{
		Use:   "calls",
		Short: "Measure what a call costs: processor time, memory, punctuality",
		Long: `So many callers at once ask turn after turn, over a real LiveKit server. LiveKit,
the providers (headstart fakes) and the callers have processes of their own, and
the callers' audio was encoded beforehand: the time of this process is the
worker's alone. Every turn is looked up for, with an embedder of 80 ms.

The window begins when every caller has heard the greeting, and no collection of
garbage is forced in it. What the process does once for all calls (the runtime's
monitor thread, watching the store) is in the figure, so that one call alone
costs more than each of ten. Compare runs only side by side, on a quiet machine: on
a busy one, whose processors never sleep between two frames, the same call costs less.`,
		Example: `  headstart bench calls                                  1, 5 and 10 calls, 30 s each
  headstart bench calls --calls 20 --seconds 60 --json -
  headstart bench calls --calls 10 --cpuprofile cpu.pb.gz
  headstart bench calls --vad silero                     with the detector of production`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, n := range counts {
				if n <= 0 {
					return usageError{fmt.Errorf("--calls %d: want one at least", n)}
				}
			}
			if seconds < leastWindow {
				return usageError{fmt.Errorf("--seconds %d: want %d at least, a turn takes five", seconds, leastWindow)}
			}
			return benchCalls(cmd, o, counts, time.Duration(seconds)*time.Second)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.IntSliceVar(&counts, "calls", []int{1, 5, 10}, "calls at once, one run for each number")
	f.IntVar(&seconds, "seconds", 30, "how long each run is measured")
	return cmd
}

// leastWindow is in seconds: a whole turn of every call is in it.
const leastWindow = 8

func benchCalls(cmd *cobra.Command, o benchOptions, counts []int, window time.Duration) (err error) {
	report := bench.DensityReport{Machine: bench.MachineNow(), Question: o.question, Detector: o.vad}
	t, err := openTheatre(cmd, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	err = t.withWorker(bench.Mode{Recogniser: bench.VAD, EmbedMS: 80}, func(srv *server) error {
		fmt.Fprintln(cmd.ErrOrStderr(), "warming up with one call")
		warm := bench.Density{Calls: 1}
		if err := t.measureCalls(srv, &warm, time.Second); err != nil {
			return err
		}
		for _, n := range counts {
			run := bench.Density{Calls: n}
			if err := t.measureCalls(srv, &run, window); err != nil {
				return fmt.Errorf("measure %d calls: %w", n, err)
			}
			report.Runs = append(report.Runs, run)
		}
		return nil
	})
	if err != nil {
		return err
	}
	report.Aims = bench.DensityAims(report.Runs)
	if err := t.writeBench(report); err != nil {
		return err
	}
	if failed := report.Failed(); len(failed) > 0 {
		return fmt.Errorf("not every turn was answered: %s", joinLines(failed))
	}
	return nil
}

// measureCalls runs so many calls for as long as the window, and looks at the
// process before, meanwhile and after.
func (t *theatre) measureCalls(srv *server, run *bench.Density, window time.Duration) error {
	before, err := atRest(srv)
	if err != nil {
		return err
	}
	sent, late := srv.worker.Frames()
	c, err := t.dial("calls", run.Calls, 0)
	if err != nil {
		return err
	}
	var asked []bench.Asked
	hear := func(told bench.Told) {
		if told.Turn != nil {
			asked = append(asked, *told.Turn)
		}
	}
	if err := awaitTalking(c, hear); err != nil {
		return errors.Join(err, c.hang(), c.wait(hear))
	}
	fmt.Fprintf(t.cmd.ErrOrStderr(), "%d calls: measuring for %v\n", run.Calls, window)
	watched := make(chan error, 1)
	go func() { watched <- errors.Join(t.watch(run, window, before), c.hang()) }()
	if err := errors.Join(c.wait(hear), <-watched); err != nil {
		return err
	}
	run.Count(asked)
	if err := t.settle(srv, run); err != nil {
		return err
	}
	nowSent, nowLate := srv.worker.Frames()
	run.Frames, run.Late = nowSent-sent, nowLate-late
	return nil
}

// watch measures for as long as the window, with a metronome beside.
func (t *theatre) watch(run *bench.Density, window time.Duration, before bench.Process) error {
	beats, err := t.startMetronome()
	if err != nil {
		return err
	}
	err = run.Watch(t.cmd.Context(), window, before)
	var beatsErr error
	run.Machine, beatsErr = beats()
	return errors.Join(err, beatsErr)
}

// awaitTalking waits until every caller has heard the greeting.
func awaitTalking(c *callers, hear func(bench.Told)) error {
	talking := 0
	for told := range c.told {
		hear(told)
		if told.Talking {
			talking++
		}
		if talking == len(c.rooms) {
			return nil
		}
		if told.Trouble != "" {
			return fmt.Errorf("call in %s: %s", told.Room, told.Trouble)
		}
	}
	return errors.New("the callers' process ended before every greeting was heard")
}

// settleWithin is how long what calls have used may take to be let go of.
const settleWithin = 15 * time.Second

// settle waits until no call is left, then until the process is as it was; after
// some time it takes what there is.
func (t *theatre) settle(srv *server, run *bench.Density) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for began := time.Now(); ; {
		<-look.C
		if srv.worker.Calls() > 0 && time.Since(began) < settleWithin {
			continue
		}
		var err error
		if run.After, err = atRest(srv); err != nil {
			return err
		}
		if time.Since(began) > settleWithin || run.After.Goroutines <= run.Before.Goroutines && run.After.Open <= run.Before.Open {
			return nil
		}
	}
}

// atRest looks at the process without the connections that it keeps to the
// providers for the next call: they are nobody's, and end by themselves.
func atRest(srv *server) (bench.Process, error) {
	var providers []any
	for _, s := range srv.served {
		providers = append(providers, s.Model, s.Voice)
	}
	for _, e := range srv.remote {
		providers = append(providers, e)
	}
	for _, provider := range providers {
		if c, ok := provider.(interface{ Close() }); ok {
			c.Close()
		}
	}
	return bench.ProcessAtRest()
}
