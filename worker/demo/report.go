package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"headstart/turn"
	"headstart/turn/llm/extractive"
)

// Report is what came of the calls.
type Report struct {
	Turns []Row    `json:"turns"`
	Calls []Called `json:"calls"`
}

// Row is one turn of a caller, in milliseconds. A pointer is nil when there was
// no such thing.
type Row struct {
	Call     string `json:"call"`
	Turn     int    `json:"turn"`
	Question string `json:"question"`
	Answer   string `json:"answer"` // what was heard of it
	// LookupStartedMS is when the lookup that was used began, from the end of
	// speech: negative is before it.
	LookupStartedMS *float64 `json:"lookup_started_ms"`
	LookupTookMS    *float64 `json:"lookup_took_ms"`
	WaitedMS        *float64 `json:"waited_ms"` // what the turn waited for it
	// FirstAudioMS is from the end of speech to the first sound that the caller heard.
	FirstAudioMS *float64 `json:"first_audio_ms"`
	Sources      []string `json:"sources"` // the files of the passages, best first
	Evidence     string   `json:"evidence,omitempty"`
	Skipped      string   `json:"skipped"` // why a lookup did not answer; empty when it did, or when none ran
	// Recalled are the facts of the caller that the turn was handed, best first;
	// null when nothing was recalled at all.
	Recalled    []Fact `json:"recalled"`
	Interrupted bool   `json:"interrupted"`
	// Right tells whether the answer rests on what the script expects: the file
	// that covers the question, no lookup for digits, and plain words of not
	// knowing where no file does.
	Right   bool   `json:"right"`
	Expects Expect `json:"expects"`
}

// Called is one call.
type Called struct {
	ID          string   `json:"id"`
	Script      string   `json:"script"`
	EndedReason string   `json:"ended_reason"` // empty when the log was not sealed
	Entries     int      `json:"entries"`
	GreetingMS  float64  `json:"greeting_ms"` // from dialling to the first sound of the greeting; joining the room is in it
	AudioRMS    float64  `json:"audio_rms"`   // of all that the caller heard; digital silence is 0, full scale 32768
	Trouble     []string `json:"trouble,omitempty"`
	// Taught are the facts that the call taught about the caller, and Refused what a
	// model proposed and was not kept; null when the call was not remembered.
	Taught  []Fact    `json:"taught"`
	Refused []Refused `json:"refused"`
}

// Fact is one thing that is remembered of the caller.
type Fact struct {
	Text   string `json:"text"`
	Source string `json:"source"` // the call that taught it
}

// Refused is a fact that was not kept.
type Refused struct {
	Text   string `json:"text"`
	Reason string `json:"reason"` // a code of package memory
	Words  string `json:"words"`
}

func factsOf(ops turn.MemoryOps) []Fact {
	facts := make([]Fact, 0, len(ops.Facts))
	for _, f := range ops.Facts {
		facts = append(facts, Fact{f.Text, f.Source})
	}
	return facts
}

// learned adds what a remember came to.
func (c *Called) learned(ops turn.MemoryOps) {
	c.Taught, c.Refused = factsOf(ops), make([]Refused, 0, len(ops.Refused))
	for _, r := range ops.Refused {
		c.Refused = append(c.Refused, Refused{r.Text, string(r.Reason), r.Words})
	}
}

// soundRMS is what a call's audio must have to be audio at all: far above a
// silent line, far below speech.
const soundRMS = 50

// Failed says, in words, what was wrong: a call without audio, without its
// seal, or a turn without an answer. Empty when nothing was.
func (r Report) Failed() []string {
	var list []string
	for _, c := range r.Calls {
		list = append(list, c.Trouble...)
		if c.EndedReason == "" {
			list = append(list, fmt.Sprintf("call %s: its log was not sealed", c.Script))
		}
		if c.AudioRMS < soundRMS {
			list = append(list, fmt.Sprintf("call %s: the caller heard nothing (rms %.0f)", c.Script, c.AudioRMS))
		}
	}
	for _, t := range r.Turns {
		if t.FirstAudioMS == nil || t.Answer == "" {
			list = append(list, fmt.Sprintf("call %s, turn %d: not answered", t.Call, t.Turn))
		}
	}
	return list
}

func (r Row) right() bool {
	switch {
	case r.Expects.Digits:
		return r.LookupStartedMS == nil
	case r.Expects.None:
		return r.Answer == extractive.NoAnswerES || r.Answer == extractive.NoAnswerEN
	}
	return len(r.Sources) > 0 && strings.HasSuffix(r.Expects.Path, r.Sources[0])
}

func (r *Report) add(p *playing) {
	called := Called{ID: p.id, Script: p.script.ID, Entries: len(p.entries), AudioRMS: p.heardRMS, GreetingMS: float64(p.greeted.Microseconds()) / 1000}
	for _, err := range p.trouble {
		called.Trouble = append(called.Trouble, fmt.Sprintf("call %s: %v", p.script.ID, err))
	}
	for _, e := range p.entries {
		if ended, ok := read[turn.CallEnded](e); ok {
			called.EndedReason = ended.Reason
		}
		if ops, ok := read[turn.MemoryOps](e); ok && ops.Op == turn.OpRemember {
			called.learned(ops)
		}
	}
	r.Calls = append(r.Calls, called)
	for i, s := range p.said {
		r.Turns = append(r.Turns, p.row(i, s))
	}
}

// row joins what the caller measured with what the log says of the same turn:
// the turns of the log that were committed before the caller's next one began.
func (p *playing) row(i int, s said) Row {
	row := Row{Call: p.script.ID, Turn: i + 1, Question: s.turn.Text, Sources: []string{}, Expects: s.turn.Expects}
	if !s.answered.IsZero() {
		row.FirstAudioMS = new(float64(s.answered.Sub(s.ended).Microseconds()) / 1000)
	}
	until := time.Now()
	if i+1 < len(p.said) {
		until = p.said[i+1].began
	}
	mine := p.speechesBetween(s.began, until)
	for _, e := range p.entries {
		row.take(e, mine)
	}
	row.Right = row.right()
	return row
}

// speechesBetween are the ids of the turns that were committed in a span of time.
func (p *playing) speechesBetween(from, to time.Time) map[turn.SpeechID]bool {
	ids := map[turn.SpeechID]bool{}
	for _, e := range p.entries {
		if user, ok := read[turn.TurnUser](e); ok && !e.Time.Before(from) && e.Time.Before(to) {
			ids[user.SpeechID] = true
		}
	}
	return ids
}

// take adds what an entry says of one of these turns.
func (r *Row) take(e turn.Entry, mine map[turn.SpeechID]bool) {
	if docs, ok := read[turn.DocsSources](e); ok && mine[docs.SpeechID] {
		r.LookupStartedMS, r.LookupTookMS, r.WaitedMS = &docs.StartedMS, &docs.TookMS, &docs.WaitedMS
		r.Evidence = docs.Evidence
		for _, s := range docs.Sources {
			r.Sources = append(r.Sources, s.Path)
		}
	}
	if ops, ok := read[turn.MemoryOps](e); ok && mine[ops.SpeechID] && ops.Op == "recall" {
		r.Recalled = factsOf(ops)
	}
	if agent, ok := read[turn.TurnAgent](e); ok && mine[agent.SpeechID] {
		r.Answer = strings.TrimSpace(r.Answer + " " + agent.Text)
		r.Interrupted = r.Interrupted || agent.Interrupted
	}
	if f, ok := read[turn.Failure](e); ok && mine[f.SpeechID] && f.Code == turn.CodeSearchSkipped {
		r.Skipped = f.Message
	}
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
