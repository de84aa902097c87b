package audio

import (
	"context"
	"time"
)

// Pace calls step each 20 ms until ctx ends, on a clock of absolute deadlines:
// lateness does not add up. slot counts the frames of the clock; after a stall
// of more than 100 ms it jumps, and the frames between are not made up for.
func Pace(ctx context.Context, step func(slot int64)) {
	begin := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for slot := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if now := int64(time.Since(begin) / Frame); now > slot+5 {
			slot = now
		}
		step(slot)
		slot++
		timer.Reset(time.Until(begin.Add(time.Duration(slot) * Frame)))
	}
}
