package bench

import (
	"fmt"
	"io"
	"slices"

	"headstart/turn"
)

// Stages are the stages of a turn, in order; they add up to FirstAudio.
type Stages struct {
	Endpointing Stat `json:"endpointing_ms"`
	LookupWait  Stat `json:"lookup_wait_ms"`
	FirstToken  Stat `json:"first_token_ms"`
	FirstClause Stat `json:"first_clause_ms"`
	FirstByte   Stat `json:"first_byte_ms"`
	Playout     Stat `json:"playout_ms"`
	FirstAudio  Stat `json:"first_audio_ms"`
}

// ModeReport is what was measured in one mode.
type ModeReport struct {
	Name string `json:"name"`
	Mode
	Heard       Stat   `json:"heard_ms"`
	AfterCommit Stat   `json:"after_commit_ms"`
	Stages      Stages `json:"stages"`
	Kept        int    `json:"kept"` // answers that were begun before the turn was committed, and heard
	WordsOnly   int    `json:"words_only"`
	Skipped     int    `json:"skipped"`
	Unanswered  int    `json:"unanswered"`
	Turns       []Turn `json:"turns"`
}

// ReportOf sums the turns of a mode up. Turns without an answer are counted and
// measure nothing.
func ReportOf(m Mode, turns []Turn) ModeReport {
	r := ModeReport{Name: m.Name(), Mode: m, Turns: turns}
	var stages []turn.MetricsTurn
	var heard, after []float64
	for _, t := range turns {
		if t.Skipped != "" {
			r.Skipped++
		}
		if slices.Equal(t.Branches, []string{"words"}) {
			r.WordsOnly++
		}
		if !t.Answered() {
			r.Unanswered++
			continue
		}
		stages = append(stages, *t.Stages)
		heard, after = append(heard, *t.HeardMS), append(after, *t.AfterCommitMS)
		if t.Stages.Preemptive == "kept" {
			r.Kept++
		}
	}
	r.Heard, r.AfterCommit, r.Stages = StatOf(heard), StatOf(after), stagesOf(stages)
	return r
}

func stagesOf(all []turn.MetricsTurn) Stages {
	of := func(field func(turn.MetricsTurn) float64) Stat {
		var values []float64
		for _, m := range all {
			values = append(values, field(m))
		}
		return StatOf(values)
	}
	return Stages{
		Endpointing: of(func(m turn.MetricsTurn) float64 { return m.EndpointingMS }),
		LookupWait:  of(func(m turn.MetricsTurn) float64 { return m.LookupWaitMS }),
		FirstToken:  of(func(m turn.MetricsTurn) float64 { return m.FirstTokenMS }),
		FirstClause: of(func(m turn.MetricsTurn) float64 { return m.FirstClauseMS }),
		FirstByte:   of(func(m turn.MetricsTurn) float64 { return m.FirstByteMS }),
		Playout:     of(func(m turn.MetricsTurn) float64 { return m.PlayoutMS }),
		FirstAudio:  of(func(m turn.MetricsTurn) float64 { return m.FirstAudioMS }),
	}
}

// TurnReport is the whole benchmark of the turn.
type TurnReport struct {
	Machine  Machine      `json:"machine"`
	Question string       `json:"question"`
	Embedder string       `json:"embedder"`
	Modes    []ModeReport `json:"modes"`
	Aims     []Aim        `json:"aims"`
}

// Unanswered says which turns were not answered.
func (r TurnReport) Unanswered() []string {
	var list []string
	for _, m := range r.Modes {
		for i, t := range m.Turns {
			if !t.Answered() {
				list = append(list, fmt.Sprintf("%s, turn %d: not answered", m.Name, i+1))
			}
		}
	}
	return list
}

// Aims of the turn, in milliseconds.
const (
	aimAfterFinal = 100
	aimLookup     = 5
	aimBudget     = 260 // 250 ms, and the 10 ms that a searcher may take to return
	aimVAD        = 400
)

// TurnAims holds what was measured against what the project promises; a mode that
// was not run, or answered nothing, is not in it.
func TurnAims(modes []ModeReport) []Aim {
	var aims []Aim
	for _, m := range modes {
		if m.Heard.N == 0 || m.Late {
			continue
		}
		if m.Recogniser == Flux && m.EmbedMS == 0 {
			aims = append(aims, atMost(m.Name+": first sound heard after the recogniser's final, median", aimAfterFinal, m.AfterCommit.Median, "ms"))
		}
		if m.Recogniser == VAD && m.EmbedMS < 400 {
			aims = append(aims, atMost(m.Name+": first sound heard after the end of a finished question, median", aimVAD, m.Heard.Median, "ms"))
		}
		switch m.EmbedMS {
		case 80:
			aims = append(aims, atMost(m.Name+": what the lookup adds to the turn, median", aimLookup, m.Stages.LookupWait.Median, "ms"))
		case 400:
			aims = append(aims, atMost(m.Name+": what the lookup adds to the turn, worst (the budget, and 10 ms to return)", aimBudget, m.Stages.LookupWait.Max, "ms"))
		}
	}
	return aims
}

// Write writes the report for people.
func (r TurnReport) Write(out io.Writer) {
	fmt.Fprintf(out, "%s\nquestion %q, spoken in %v; embedder: %s\n\n", r.Machine, r.Question, Length(r.Question), r.Embedder)
	fmt.Fprintf(out, "milliseconds, median and 95th percentile; heard is from the caller's end of speech to their first sound,\nthe stages are the worker's own and add up to first audio\n\n")
	fmt.Fprintf(out, "%-15s %5s %11s %11s %11s %9s %9s %9s %9s %9s %11s %5s\n", "mode", "turns", "heard", "after final", "endpointing", "lookup", "token", "clause", "byte", "playout", "first audio", "kept")
	for _, m := range r.Modes {
		s := m.Stages
		fmt.Fprintf(out, "%-15s %5d %11s %11s %11s %9s %9s %9s %9s %9s %11s %5d\n", m.Name, m.Heard.N, m.Heard, m.AfterCommit,
			s.Endpointing, s.LookupWait, s.FirstToken, s.FirstClause, s.FirstByte, s.Playout, s.FirstAudio, m.Kept)
		if m.WordsOnly+m.Skipped > 0 {
			fmt.Fprintf(out, "%15s %d turns had the answer of the words alone, %d no lookup at all\n", "", m.WordsOnly, m.Skipped)
		}
	}
	writeAims(out, r.Aims)
}

// String is the median and the 95th percentile, whole.
func (s Stat) String() string { return fmt.Sprintf("%.0f/%.0f", s.Median, s.P95) }

func writeAims(out io.Writer, aims []Aim) {
	fmt.Fprintln(out)
	for _, a := range aims {
		verdict := "met"
		if !a.Met {
			verdict = "NOT MET"
		}
		fmt.Fprintf(out, "aim: %s: at most %g %s, measured %.2f: %s\n", a.Aim, a.Limit, a.Unit, a.Measured, verdict)
	}
}
