package health_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/health"
)

var update = flag.Bool("update", false, "rewrite the golden figures")

// own keeps the lines of our figures: those of Go and of the process change.
func own(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "lk_") || strings.HasPrefix(name, "headstart_") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// script is two calls: one of three turns, one that failed.
var script = []turn.Event{
	turn.CallStarted{Room: "sala-secreta", Job: "AJ_secreto", Contact: &memory.Contact{ID: "+34600123456"}},
	turn.TurnUser{Text: "palabras secretas"},
	turn.MetricsTurn{SpeechID: "secreto", EndpointingMS: 300, FirstTokenMS: 20, FirstClauseMS: 40, FirstByteMS: 60, PlayoutMS: 20, FirstAudioMS: 440, TranscriptMS: 150},
	turn.MetricsTurn{EndpointingMS: 300, LookupWaitMS: 250, FirstTokenMS: 400, FirstByteMS: 120, FirstAudioMS: 1070, TranscriptMS: 200},
	turn.Failure{Code: turn.CodeSearchSkipped, Message: "palabras secretas", Recoverable: true},
	turn.MetricsTurn{EndpointingMS: -1, FirstAudioMS: 12000}, // no model was asked, no voice either
	turn.Failure{Code: turn.CodeSearchDegraded, Message: "embedder late", Recoverable: true},
	turn.ToolResulted{Name: "secreto", Output: "palabras secretas"},
	turn.ToolResulted{Name: "secreto", Error: "palabras secretas"},
	turn.CallEnded{Reason: "caller_hung_up", EndedBy: "caller"},
	turn.Failure{Code: turn.CodeRecallSkipped, Recoverable: true},
	turn.Failure{Code: "secreto"},
	turn.CallEnded{Reason: "un motivo secreto", EndedBy: "platform"},
	turn.CallSummary{Errors: 4},
}

func TestFiguresOfAScript(t *testing.T) {
	t.Parallel()
	s := health.Unbound(t, health.Config{Node: "pod-1", Checks: []health.Check{{Name: "spool", Fatal: true}, {Name: "store"}}},
		still{Registered: true, Calls: 3, Load: 0.25, Held: 2, Spooled: 17, Abandoned: 1}, zap.NewNop())
	for _, ev := range script {
		s.Observe(ev)
	}
	status, body := get(t, s, "/metrics")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	for _, secret := range []string{"secret", "34600123456"} {
		if strings.Contains(body, secret) {
			t.Fatalf("the figures tell %q:\n%s", secret, body)
		}
	}
	for _, theirs := range []string{"go_goroutines ", "process_cpu_seconds_total "} {
		if !strings.Contains(body, "\n"+theirs) {
			t.Errorf("no %s", theirs)
		}
	}
	golden := filepath.Join("testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(own(body)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), own(body)); diff != "" {
		t.Fatalf("figures (-want +got):\n%s", diff)
	}
}

// Two workers in one process, as in tests and demos, share no figure.
func TestAServerHasARegistryOfItsOwn(t *testing.T) {
	t.Parallel()
	one := health.Unbound(t, health.Config{}, still{}, zap.NewNop())
	two := health.Unbound(t, health.Config{}, still{}, zap.NewNop())
	one.Observe(turn.CallEnded{Reason: "drained"})
	_, body := get(t, two, "/metrics")
	if !strings.Contains(body, `headstart_calls_ended_total{reason="drained"} 0`) {
		t.Fatalf("the other one's figures:\n%s", own(body))
	}
}

func TestObserveBesideScrapes(t *testing.T) {
	t.Parallel()
	s := health.Unbound(t, health.Config{}, still{}, zap.NewNop())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, ev := range script {
				s.Observe(ev)
			}
			get(t, s, "/metrics")
		})
	}
	all.Wait()
	if _, body := get(t, s, "/metrics"); !strings.Contains(body, "lk_agents_turn_e2e_latency_seconds_count 24\n") {
		t.Fatalf("want 24 turns:\n%s", own(body))
	}
}

func BenchmarkObserve(b *testing.B) {
	s := health.Unbound(b, health.Config{}, still{}, zap.NewNop())
	b.ReportAllocs()
	for b.Loop() {
		s.Observe(script[2])
	}
}
