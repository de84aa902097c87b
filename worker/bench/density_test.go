package bench_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/bench"
)

func TestDensityMeasuresThisProcess(t *testing.T) {
	t.Parallel()
	before, err := bench.ProcessAtRest()
	if err != nil {
		t.Fatal(err)
	}
	if before.Goroutines < 1 || before.LiveMB <= 0 {
		t.Fatalf("process %+v", before)
	}
	if runtime.GOOS == "linux" && (before.Open < 1 || before.ResidentMB < before.LiveMB/2) {
		t.Fatalf("process %+v", before)
	}
	busy, stop := context.WithCancel(t.Context())
	worked := make(chan struct{})
	go func() { // one processor, as much of it as there is
		defer close(worked)
		for busy.Err() == nil {
		}
	}()
	d := bench.Density{Calls: 2}
	err = d.Watch(t.Context(), 300*time.Millisecond, before)
	stop()
	<-worked
	if err != nil {
		t.Fatal(err)
	}
	if d.CPUPercent <= 0 || d.Seconds < 0.3 {
		t.Fatalf("a busy process: %+v", d)
	}
	enough := errors.New("enough")
	ended, end := context.WithCancelCause(t.Context())
	end(enough)
	if err := d.Watch(ended, time.Hour, before); !errors.Is(err, enough) {
		t.Fatalf("a watch that was ended: %v", err)
	}
}

func TestDensityReport(t *testing.T) {
	t.Parallel()
	before := bench.Process{ResidentMB: 50, LiveMB: 20, Goroutines: 19, Open: 18}
	after := before
	after.Goroutines++
	one := bench.Density{Calls: 1, Seconds: 30, CPUPercent: 3.5, ResidentMB: 12, LiveMB: 6, Frames: 0, Before: before, After: before}
	ten := bench.Density{Calls: 10, Seconds: 30, CPUPercent: 4.5, ResidentMB: 3, LiveMB: 3, Frames: 1000, Late: 5, Machine: bench.Beats{Beats: 200, Late: 1}, Before: before, After: after}
	ten.Count([]bench.Asked{{Ended: at(1), Answered: at(1.4)}, {Ended: at(2), Answered: at(2.5)}, {Ended: at(3)}})
	if ten.Turns != 2 || ten.Unanswered != 1 || ten.HeardMS.Median != 450 || ten.LatePercent() != 0.5 || one.LatePercent() != 0 {
		t.Fatalf("counted %+v", ten)
	}
	r := bench.DensityReport{Question: "a qué hora", Detector: "energy", Runs: []bench.Density{one, ten}}
	if diff := cmp.Diff([]string{"1 calls: no turn was answered", "10 calls: 1 turns were not answered"}, r.Failed()); diff != "" {
		t.Fatalf("failed (-want +got):\n%s", diff)
	}
	r.Aims = bench.DensityAims(r.Runs)
	var met []bool
	for _, a := range r.Aims {
		met = append(met, a.Met)
	}
	// processor, memory, goroutines, descriptors; with ten calls lateness before the last two
	if diff := cmp.Diff([]bool{true, false, true, true, false, true, true, false, true}, met); diff != "" {
		t.Fatalf("met (-want +got):\n%s", diff)
	}
	var out strings.Builder
	r.Write(&out)
	if row := "   10    30s      2       4.50 %         3.0 MB     3.0 MB   0.50 %   0.50 %      450/500      19 ->   20      18 ->   18"; !strings.Contains(out.String(), row) {
		t.Fatalf("no row %q in:\n%s", row, out.String())
	}
	unknown := bench.DensityAims([]bench.Density{{Calls: 1, LiveMB: 6, Before: bench.Process{ResidentMB: -1}}})
	if !strings.Contains(unknown[1].Aim, "heap and stacks") || unknown[1].Measured != 6 {
		t.Fatalf("where the resident memory is not known: %+v", unknown[1])
	}
}

func TestMetronomeCountsBeatsThatComeLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 990*time.Millisecond)
		defer cancel()
		b := bench.Metronome(ctx)
		if b != (bench.Beats{Beats: 50}) || b.Percent() != 0 {
			t.Fatalf("on an idle machine: %+v", b)
		}
	})
}
