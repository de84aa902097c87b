package demo

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// WriteTable writes one row a turn, for people. other, when not nil, is the
// same calls with lookups at the end of the turn; it stands beside.
func WriteTable(out io.Writer, r Report, other *Report) {
	fmt.Fprintf(out, "%-6s %-4s %9s %7s %8s %12s  %-3s %s\n", "call", "turn", "lookup at", "took", "waited", "first sound", "ok", "best source")
	for i, t := range r.Turns {
		fmt.Fprintf(out, "%-6s %-4d %9s %7s %8s %12s  %-3s %s\n", t.Call, t.Turn,
			signed(t.LookupStartedMS), plain(t.LookupTookMS), plain(t.WaitedMS), plain(t.FirstAudioMS), mark(t.Right), t.source())
		if other != nil && i < len(other.Turns) {
			o := other.Turns[i]
			fmt.Fprintf(out, "%-11s %9s %7s %8s %12s  %-3s\n", "  no early", signed(o.LookupStartedMS), plain(o.LookupTookMS), plain(o.WaitedMS), plain(o.FirstAudioMS), mark(o.Right))
		}
	}
	fmt.Fprintf(out, "\nmilliseconds from the end of the caller's speech; median first sound %s", plain(r.Median()))
	if other != nil {
		fmt.Fprintf(out, ", with lookups at the end of the turn %s", plain(other.Median()))
	}
	fmt.Fprintln(out)
	for _, c := range r.Calls {
		fmt.Fprintf(out, "call %s: greeting heard %.0f ms after dialling\n", c.Script, c.GreetingMS)
	}
	r.writeMemory(out)
	early, of := r.Early()
	fmt.Fprintf(out, "%d of %d lookups began before the end of speech and cost their turn at most 1 ms\n", early, of)
}

func (r Row) source() string {
	switch {
	case r.Expects.Digits && r.LookupStartedMS == nil:
		return "digits: nothing looked up"
	case r.Skipped != "":
		return "skipped: " + r.Skipped
	case len(r.Sources) == 0:
		return "nothing found"
	}
	return r.Sources[0]
}

// Median is the median time from the end of speech to the first sound heard;
// nil without any answer.
func (r Report) Median() *float64 {
	var all []float64
	for _, t := range r.Turns {
		if t.FirstAudioMS != nil {
			all = append(all, *t.FirstAudioMS)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return new((all[(len(all)-1)/2] + all[len(all)/2]) / 2)
}

// Early counts the lookups, and those that began before the end of speech and
// were waited for at most 1 ms.
func (r Report) Early() (early, of int) {
	for _, t := range r.Turns {
		if t.LookupStartedMS == nil {
			continue
		}
		of++
		if *t.LookupStartedMS < 0 && *t.WaitedMS <= 1 {
			early++
		}
	}
	return early, of
}

func mark(ok bool) string {
	if ok {
		return "yes"
	}
	return "NO"
}

func signed(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%+.0f", *ms)
}

func plain(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", *ms)
}

// writeMemory tells what the calls taught about the caller, and where that was
// recalled.
func (r Report) writeMemory(out io.Writer) {
	script := map[string]string{}
	for _, c := range r.Calls {
		script[c.ID] = c.Script
		for _, f := range c.Taught {
			fmt.Fprintf(out, "call %s taught: %s\n", c.Script, f.Text)
		}
		for _, f := range c.Refused {
			fmt.Fprintf(out, "call %s did not teach: %s (%s: %s)\n", c.Script, f.Text, f.Reason, f.Words)
		}
	}
	for _, t := range r.Turns {
		for _, f := range t.Recalled {
			fmt.Fprintf(out, "call %s, turn %d recalled of call %s: %s\n", t.Call, t.Turn, cmp.Or(script[f.Source], f.Source), f.Text)
		}
	}
}
