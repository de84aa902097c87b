package demo

import (
	"time"

	"headstart/turn"
)

// Said is one turn of a caller as it went, for tests of the report.
type Said struct {
	Turn                   Turn
	Began, Ended, Answered time.Time
}

// ReportOf makes the report of one call that went so.
func ReportOf(script string, turns []Said, entries []turn.Entry, rms float64) Report {
	p := &playing{script: Script{ID: script}, id: "call-" + script, entries: entries, heardRMS: rms}
	for _, s := range turns {
		p.said = append(p.said, said{turn: s.Turn, began: s.Began, ended: s.Ended, answered: s.Answered})
	}
	var r Report
	r.add(p)
	return r
}

// RightOf judges a row.
func RightOf(r Row) bool { return r.right() }
