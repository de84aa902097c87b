/*
Package bench measures what callers get and what calls cost. It owns the
question that callers ask, the callers who ask it from a process of their own,
and what is made of the figures: medians, the aims of the project, tables.

It never runs a worker, a server or a process, and it judges no answer: a turn
is answered when the caller heard sound and the log has the words. It fails by
returning an error when callers cannot call at all; a turn without an answer is
a row that says so.

Callers tell wall-clock times, as the log does: both run on one machine.
*/
package bench

import (
	"encoding/json"
	"math"
	"slices"

	"headstart/turn"
)

// Stat is what many measurements of one thing come to.
type Stat struct {
	Median float64 `json:"median"`
	P95    float64 `json:"p95"` // nearest rank: one of the measurements
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// StatOf takes the measurements in any order; none is all zero.
func StatOf(values []float64) Stat {
	n := len(values)
	if n == 0 {
		return Stat{}
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	rank := int(math.Ceil(0.95 * float64(n)))
	return Stat{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, P95: sorted[rank-1], Max: sorted[n-1], N: n}
}

// Aim is something that the project promises, and what was measured of it.
type Aim struct {
	Aim      string  `json:"aim"`
	Limit    float64 `json:"limit"`
	Measured float64 `json:"measured"`
	Unit     string  `json:"unit"`
	Met      bool    `json:"met"`
}

func atMost(aim string, limit, measured float64, unit string) Aim {
	return Aim{Aim: aim, Limit: limit, Measured: measured, Unit: unit, Met: measured <= limit}
}

// read gives the payload of an entry when it is of the type that is asked for.
func read[E turn.Event](e turn.Entry) (E, bool) {
	var ev E
	if e.Type != ev.EventType() || json.Unmarshal(e.Data, &ev) != nil {
		var none E
		return none, false
	}
	return ev, true
}
