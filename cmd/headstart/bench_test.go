package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"headstart/worker/bench"
	"headstart/worker/devserver/devservertest"
)

// benchReport runs a benchmark as a whole, its children too, and reads what it wrote.
func benchReport[R any](t *testing.T, args ...string) (report R, out string) {
	t.Helper()
	devservertest.Start(t) // the benchmark starts its own; this skips where there is none
	t.Setenv(asMain, "1")  // for the children: they are this binary
	file := filepath.Join(t.TempDir(), "figures.json")
	out, err := command(t, append(args, "--json", file)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	return report, out
}

func TestBenchTurnMeasuresEachStage(t *testing.T) {
	t.Setenv("HEADSTART_VOICE_LOOKUP_BUDGET_MS", "20000") // a slow machine may take its time
	report, out := benchReport[bench.TurnReport](t, "bench", "turn", "--mode", "flux-80ms", "--turns", "2")
	if len(report.Modes) != 2 || len(report.Aims) != 1 || !strings.Contains(out, "flux-80ms-late") {
		t.Fatalf("%d modes, aims %+v, output:\n%s", len(report.Modes), report.Aims, out)
	}
	for _, m := range report.Modes {
		for i, one := range m.Turns {
			s := one.Stages
			sum := s.EndpointingMS + s.LookupWaitMS + s.FirstTokenMS + s.FirstClauseMS + s.FirstByteMS + s.PlayoutMS
			if math.Abs(sum-s.FirstAudioMS) > 0.01 {
				t.Errorf("%s, turn %d: the stages come to %.3f ms, the first audio to %.3f", m.Name, i+1, sum, s.FirstAudioMS)
			}
			if *one.HeardMS < *one.AfterCommitMS || *one.AfterCommitMS <= 0 {
				t.Errorf("%s, turn %d: heard %.1f ms after the end of speech, %.1f after the final", m.Name, i+1, *one.HeardMS, *one.AfterCommitMS)
			}
			if one.Text != bench.DefaultQuestion || !slices.Equal(one.Branches, []string{"words", "vectors"}) {
				t.Errorf("%s, turn %d: %q, looked up in %v", m.Name, i+1, one.Text, one.Branches)
			}
			if late := *one.LookupStartedMS >= 0; late != m.Late {
				t.Errorf("%s, turn %d: the lookup began %.0f ms from the end of speech", m.Name, i+1, *one.LookupStartedMS)
			}
		}
	}
}

func TestBenchCallsLeavesNothing(t *testing.T) {
	report, out := benchReport[bench.DensityReport](t, "bench", "calls", "--calls", "2", "--seconds", "8")
	if len(report.Runs) != 1 {
		t.Fatalf("%d runs, output:\n%s", len(report.Runs), out)
	}
	d := report.Runs[0]
	if d.Calls != 2 || d.Turns == 0 || d.CPUPercent <= 0 || d.Frames < 100 || d.Machine.Beats < 100 {
		t.Fatalf("run %+v", d)
	}
	if left := d.After.Goroutines - d.Before.Goroutines; left > 0 {
		t.Fatalf("%d goroutines are left of two calls", left)
	}
	if left := d.After.Open - d.Before.Open; left > 0 {
		t.Fatalf("%d descriptors are left of two calls", left)
	}
}

func TestBenchUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"turn", "--mode", "ears"}, "flux-none, flux-80ms"},
		{[]string{"turn", "--turns", "0"}, "--turns 0"},
		{[]string{"calls", "--calls", "0"}, "--calls 0"},
		{[]string{"calls", "--seconds", "3"}, "want 8 at least"},
	} {
		_, err := command(t, append([]string{"bench"}, tt.args...)...)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v", tt.args, err)
		}
		if code := run(t.Context(), append([]string{"bench"}, tt.args...)); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", tt.args, code, exitUsage)
		}
	}
}
