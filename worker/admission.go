package worker

import (
	"time"

	"headstart/worker/load"
)

// maxLoad is the highest load that is reported: LiveKit gives nothing to a
// worker at 1, though it says that it is available.
const maxLoad = 0.99

// Drain makes the worker refuse every call from now on; those it has go on.
func (w *Worker) Drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
}

// Draining tells whether Drain was called.
func (w *Worker) Draining() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draining
}

// Load implements dispatch.Host. The load is the larger of the share of places
// that are taken and the share of the processors that the process uses, at
// most 0.99. The worker is full when it drains, has no place left, or its
// effective load has reached the threshold; Admit refuses by the same rule.
func (w *Worker) Load() (load float64, full bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	places := float64(w.places) / float64(w.cfg.MaxCalls)
	return min(max(places, w.cpu()), maxLoad), w.full()
}

// Calls is how many places are taken.
func (w *Worker) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.places
}

// Abandoned is how many things calls had to leave behind because they did not
// end in time, since the process began. Each may still hold memory.
func (w *Worker) Abandoned() int64 { return w.abandoned.Load() }

// Frames is how many frames the calls that are over have sent, and how many of
// them left more than 10 ms after their time by our own clock.
func (w *Worker) Frames() (sent, late int64) { return w.sent.Load(), w.late.Load() }

// full decides whether the next call is refused. The caller holds mu.
func (w *Worker) full() bool {
	return w.draining || w.places >= w.cfg.MaxCalls || w.effective() >= w.cfg.LoadThreshold
}

// cpu is the measured load; what is no number is none.
func (w *Worker) cpu() float64 {
	if used := w.cfg.CPU(); used > 0 {
		return used
	}
	return 0
}

// effective is the load once the calls that were just taken show in it: the
// measured one looks back load.Window, so a burst would be let in whole before
// any of it is seen. A call that is seen for a part of the window counts for
// that part, and what is missing is reckoned at what the seen ones use each, or
// at a place's share of the threshold when less than one is seen. It stays
// below 1. The caller holds mu.
func (w *Worker) effective() float64 {
	unseen := w.unseen(time.Now())
	used, seen := w.cpu(), float64(w.places)-unseen
	each := w.cfg.LoadThreshold / float64(w.cfg.MaxCalls)
	if seen >= 1 {
		each = used / seen
	}
	return min(used+unseen*each, maxLoad)
}

// unseen is how many of the calls the measured load does not show yet. It
// forgets those that it shows whole. The caller holds mu.
func (w *Worker) unseen(now time.Time) float64 {
	for len(w.fresh) > 0 && now.Sub(w.fresh[0]) >= load.Window {
		w.fresh = w.fresh[1:]
	}
	unseen := 0.0
	for _, taken := range w.fresh {
		unseen += 1 - now.Sub(taken).Seconds()/load.Window.Seconds()
	}
	// Places given back leave their times behind for the window's length.
	return min(unseen, float64(w.places))
}

// take counts a place. The caller holds mu.
func (w *Worker) take() {
	w.places++
	w.fresh = append(w.fresh, time.Now())
}

func (w *Worker) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places--
}
