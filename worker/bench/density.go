package bench

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Density is what so many calls at once cost this process.
type Density struct {
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"` // of the window
	Turns   int     `json:"turns"`   // answered in the window and beside it, all calls together
	// CPUPercent is of one core, a call.
	CPUPercent float64 `json:"cpu_percent_per_call"`
	// ResidentMB and LiveMB are what the highest of a look each second grew by, a
	// call: what the operating system gave, and the heap in use with the stacks.
	// Garbage that waits for the collector is in both.
	ResidentMB float64 `json:"resident_mb_per_call"`
	LiveMB     float64 `json:"live_mb_per_call"`
	Frames     int64   `json:"frames"` // sent to callers
	Late       int64   `json:"late"`   // of those, more than 10 ms after their time
	// Machine is a process beside this one that only wakes as often as a frame
	// leaves: what is late there is no work of ours.
	Machine    Beats   `json:"machine"`
	HeardMS    Stat    `json:"heard_ms"`
	Unanswered int     `json:"unanswered"`
	Before     Process `json:"before"` // at rest, without a call
	After      Process `json:"after"`  // at rest, once the calls are over
}

// LatePercent is the share of frames that left late.
func (d Density) LatePercent() float64 { return percent(d.Late, d.Frames) }

// Watch measures this process for so long. before is the process at rest.
func (d *Density) Watch(ctx context.Context, window time.Duration, before Process) error {
	first, err := ProcessNow()
	if err != nil {
		return err
	}
	d.Before = before
	end := time.NewTimer(window)
	defer end.Stop()
	each := time.NewTicker(time.Second)
	defer each.Stop()
	live, resident, over := first.LiveMB, first.ResidentMB, false
	for !over {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-each.C:
		case <-end.C:
			over = true
		}
		now, err := ProcessNow()
		if err != nil {
			return err
		}
		live, resident = max(live, now.LiveMB), max(resident, now.ResidentMB)
		d.Seconds = now.At.Sub(first.At).Seconds()
		d.CPUPercent = 100 * (now.CPU - first.CPU).Seconds() / d.Seconds / float64(d.Calls)
	}
	d.LiveMB = (live - before.LiveMB) / float64(d.Calls)
	d.ResidentMB = (resident - before.ResidentMB) / float64(d.Calls)
	return nil
}

// Count adds the questions that the callers asked.
func (d *Density) Count(asked []Asked) {
	var heard []float64
	for _, a := range asked {
		if a.Answered.IsZero() {
			d.Unanswered++
			continue
		}
		d.Turns++
		heard = append(heard, millis(a.Answered.Sub(a.Ended)))
	}
	d.HeardMS = StatOf(heard)
}

// DensityReport is the whole benchmark of calls at once.
type DensityReport struct {
	Machine  Machine   `json:"machine"`
	Question string    `json:"question"`
	Detector string    `json:"detector"`
	Runs     []Density `json:"runs"`
	Aims     []Aim     `json:"aims"`
}

// Failed says what went wrong: turns without an answer.
func (r DensityReport) Failed() []string {
	var list []string
	for _, d := range r.Runs {
		if d.Unanswered > 0 {
			list = append(list, fmt.Sprintf("%d calls: %d turns were not answered", d.Calls, d.Unanswered))
		}
		if d.Turns == 0 {
			list = append(list, fmt.Sprintf("%d calls: no turn was answered", d.Calls))
		}
	}
	return list
}

// Aims of a call.
const (
	aimCPU    = 4  // percent of one core
	aimMemory = 10 // MB
	aimLate   = 1  // percent of the frames
)

// DensityAims holds what was measured against what the project promises.
func DensityAims(runs []Density) []Aim {
	var aims []Aim
	for _, d := range runs {
		name := fmt.Sprintf("%d calls at once: ", d.Calls)
		memory, of := d.ResidentMB, "resident memory"
		if d.Before.ResidentMB < 0 {
			memory, of = d.LiveMB, "heap and stacks"
		}
		aims = append(aims,
			atMost(name+"processor time a call", aimCPU, d.CPUPercent, "% of one core"),
			atMost(name+of+" a call", aimMemory, memory, "MB"))
		if d.Calls >= 10 {
			aims = append(aims, atMost(name+"frames more than 10 ms late", aimLate, d.LatePercent(), "%"))
		}
		aims = append(aims,
			atMost(name+"goroutines that are left", 0, float64(d.After.Goroutines-d.Before.Goroutines), "more than before"),
			atMost(name+"descriptors that are left", 0, float64(d.After.Open-d.Before.Open), "more than before"))
	}
	return aims
}

// Write writes the report for people.
func (r DensityReport) Write(out io.Writer) {
	fmt.Fprintf(out, "%s\nquestion %q, spoken in %v; detector: %s\n\n", r.Machine, r.Question, Length(r.Question), r.Detector)
	fmt.Fprintf(out, "%5s %6s %6s %12s %14s %10s %8s %8s %12s %15s %15s\n", "calls", "window", "turns", "cpu a call", "resident/call", "live/call", "late", "idle", "heard (ms)", "goroutines", "descriptors")
	for _, d := range r.Runs {
		fmt.Fprintf(out, "%5d %5.0fs %6d %10.2f %% %11.1f MB %7.1f MB %6.2f %% %6.2f %% %12s %7d -> %4d %7d -> %4d\n", d.Calls, d.Seconds, d.Turns, d.CPUPercent,
			d.ResidentMB, d.LiveMB, d.LatePercent(), d.Machine.Percent(), d.HeardMS, d.Before.Goroutines, d.After.Goroutines, d.Before.Open, d.After.Open)
	}
	fmt.Fprintf(out, "\nlate is the share of frames that left more than 10 ms after their time; idle is the same of a process that\nonly wakes each 20 ms on this machine, meanwhile: less than that cannot be measured here\n")
	writeAims(out, r.Aims)
}
