package audio

import (
	"context"
	"time"
)

// Pace calls step each 20 ms until ctx ends, on a clock of absolute deadlines:
// lateness does not add up. slot counts the frames of the clock; after a stall
// of more than 100 ms it jumps, and the frames between are not made up for.
func Pace(ctx context.Context, step func(slot int64)) {
	PaceResting(ctx, nil, func(slot int64) int64 { step(slot); return 0 })
}

// PaceResting is Pace for a step that has nothing to do for a while: it tells how
// many of the next slots to leave out. A bell that rings ends the rest with the
// first slot that has not passed. An idle clock that wakes for nothing costs more
// than what it is for: each wake of a process that sleeps wakes threads of the
// runtime, too.
func PaceResting(ctx context.Context, bell <-chan struct{}, step func(slot int64) (rest int64)) {
	begin := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for slot, least := int64(0), int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-bell:
			slot = min(slot, max(least, int64((time.Since(begin)+Frame-1)/Frame)))
		case <-timer.C:
			if now := int64(time.Since(begin) / Frame); now > slot+5 {
				slot = now
			}
			least = slot + 1
			slot = least + step(slot)
		}
		timer.Reset(time.Until(begin.Add(time.Duration(slot) * Frame)))
	}
}
