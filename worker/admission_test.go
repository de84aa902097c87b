package worker_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"headstart/worker"
	"headstart/worker/dispatch"
)

// gate is a worker that only admits: it has an agent and nothing to serve it with.
func gate(t *testing.T, cfg worker.Config) *worker.Worker {
	t.Helper()
	cfg.URL, cfg.APIKey, cfg.APISecret = "ws://livekit.test", "key", "secret"
	w, err := worker.New(cfg, []worker.Served{{Agent: worker.Agent{Name: "clinica"}}}, nil, zap.NewNop())
	if err != nil {
		t.Fatalf("new worker: %v", err)
	}
	return w
}

// admit takes a place, and returns how to give it back.
func admit(t *testing.T, w *worker.Worker, want bool) (release func()) {
	t.Helper()
	answer, ok := w.Admit(dispatch.Job{ID: "AJ_1"})
	if ok != want {
		t.Fatalf("admitted %t, want %t, with %d calls", ok, want, w.Calls())
	}
	return answer.Release
}

func reports(t *testing.T, w *worker.Worker, load float64, full bool) {
	t.Helper()
	gotLoad, gotFull := w.Load()
	if math.Abs(gotLoad-load) > 1e-9 || gotFull != full {
		t.Fatalf("reports a load of %v and full %t, want %v and %t", gotLoad, gotFull, load, full)
	}
}

func TestOnePlaceLeftIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := gate(t, worker.Config{MaxCalls: 5})
	for range 4 {
		admit(t, w, true)
	}
	var yes atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range 50 {
		all.Go(func() {
			<-start
			if _, ok := w.Admit(dispatch.Job{ID: fmt.Sprintf("AJ_%d", i)}); ok {
				yes.Add(1)
			}
		})
	}
	close(start)
	all.Wait()
	if yes.Load() != 1 || w.Calls() != 5 {
		t.Fatalf("%d of 50 admitted, %d calls, want 1 and 5", yes.Load(), w.Calls())
	}
	reports(t, w, 0.99, true)
}

func TestAReleasedPlaceIsTakenAgain(t *testing.T) {
	t.Parallel()
	w := gate(t, worker.Config{MaxCalls: 1})
	release := admit(t, w, true)
	admit(t, w, false)
	release()
	reports(t, w, 0, false)
	admit(t, w, true)
}

func TestLoadReported(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		cpu       float64
		threshold float64
		calls     int // of 10
		load      float64
		full      bool
	}{
		{"idle", 0, 0, 0, 0, false},
		{"places above the processors", 0.1, 0, 4, 0.4, false},
		{"processors above the places", 0.5, 0, 1, 0.5, false},
		{"just below the threshold", 0.69, 0, 0, 0.69, false},
		{"at the threshold", 0.7, 0, 0, 0.7, true},
		{"above what there is", 3, 0, 0, 0.99, true},
		{"a threshold of one's own", 0.7, 0.9, 0, 0.7, false},
		{"no guard by load", 3, 1, 0, 0.99, false},
		{"no number", math.NaN(), 0, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cpu := 0.0
			w := gate(t, worker.Config{MaxCalls: 10, LoadThreshold: tt.threshold, CPU: func() float64 { return cpu }})
			for range tt.calls {
				admit(t, w, true)
			}
			cpu = tt.cpu
			reports(t, w, tt.load, tt.full)
			admit(t, w, !tt.full)
		})
	}
}

func TestDrainingRefusesEveryCall(t *testing.T) {
	t.Parallel()
	w := gate(t, worker.Config{MaxCalls: 2})
	admit(t, w, true)
	w.Drain()
	admit(t, w, false)
	reports(t, w, 0.5, true)
	if !w.Draining() || w.Calls() != 1 {
		t.Fatalf("draining %t with %d calls, want true and 1", w.Draining(), w.Calls())
	}
}

// Two calls use 0.15 each. Of a burst, so many are let in as the threshold has
// room for, although the measured load does not move; later the measurement
// alone decides.
func TestABurstIsReckonedBeforeItIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cpu := 0.0
		w := gate(t, worker.Config{MaxCalls: 16, CPU: func() float64 { return cpu }})
		admit(t, w, true)
		admit(t, w, true)
		time.Sleep(2500 * time.Millisecond)
		cpu = 0.3
		var releases []func()
		for range 3 { // 0.45, 0.6, 0.75
			releases = append(releases, admit(t, w, true))
		}
		reports(t, w, 0.3125, true)
		admit(t, w, false)
		time.Sleep(1250 * time.Millisecond)
		cpu = 0.525 // half of the window shows them: the reckoning stays the same
		admit(t, w, false)
		cpu = 0.42 // they use less than the first two
		releases = append(releases, admit(t, w, true))
		time.Sleep(2500 * time.Millisecond)
		cpu = 0.66
		admit(t, w, true)
		cpu = 0.7
		admit(t, w, false)
		for _, release := range releases {
			release()
		}
		reports(t, w, 0.7, true) // what the ended calls used is in the window still
	})
}

func TestAWorkerConfigComplains(t *testing.T) {
	t.Parallel()
	for _, threshold := range []float64{-0.1, 1.1, math.NaN()} {
		cfg := worker.Config{URL: "ws://livekit.test", APIKey: "k", APISecret: "s", LoadThreshold: threshold}
		if err := cfg.Validate(); err == nil {
			t.Fatalf("a threshold of %v was taken", threshold)
		}
	}
}
