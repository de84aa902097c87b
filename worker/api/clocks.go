package api

import (
	"context"
	"time"
)

// keepTime ends the visit when one of its clocks says so, or returns when ctx
// ends.
func (v *visit) keepTime(ctx context.Context) {
	for {
		wait, over := v.due(time.Now())
		if over != "" {
			v.end(over)
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-v.bell:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// due tells which clock has run out, or how long none will. An agent that came
// and tells no state is heard of here, too.
func (v *visit) due(now time.Time) (wait time.Duration, over ending) {
	v.lock.Lock()
	defer v.lock.Unlock()
	wait = v.lastWord.Add(v.idle).Sub(now)
	if wait <= 0 {
		return 0, idle
	}
	if v.watchers == 0 {
		left := v.alone.Add(v.unwatched).Sub(now)
		if left <= 0 {
			return 0, unwatched
		}
		wait = min(wait, left)
	}
	if !v.joined.IsZero() {
		left := v.joined.Add(settle).Sub(now)
		if left <= 0 {
			v.listenLocked()
			return wait, ""
		}
		wait = min(wait, left)
	}
	return wait, ""
}
