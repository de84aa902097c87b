package bench

import (
	"context"
	"time"

	"headstart/worker/room/audio"
)

// Beats is what a process that does nothing else than wake each 20 ms came to:
// how punctual the machine is by itself, the floor of what can be measured.
type Beats struct {
	Beats int64 `json:"beats"`
	Late  int64 `json:"late"` // more than 10 ms
}

// Percent is the share that came late.
func (b Beats) Percent() float64 { return percent(b.Late, b.Beats) }

func percent(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// Metronome counts until ctx ends, on the clock that speech is paced by. Beats
// that a stall of more than 100 ms leaves out are late ones.
func Metronome(ctx context.Context) Beats {
	var b Beats
	begin := time.Now()
	audio.Pace(ctx, func(slot int64) {
		b.Late += slot - b.Beats
		b.Beats = slot + 1
		if time.Since(begin)-time.Duration(slot)*audio.Frame > audio.Frame/2 {
			b.Late++
		}
	})
	return b
}
