// Package turntest holds the fakes that a conversation is tested with. Each is
// a script in virtual time ("speaks 0.5 to 1.9 s, interims at 0.8 and 1.2"),
// and fails its test when it is called more often than written or left over.
package turntest

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"headstart/turn"
	"headstart/turn/stt"
	"headstart/turn/vad"
)

// The delays of the detector, as in the contract.
const (
	speechAfter  = 64 * time.Millisecond
	silenceAfter = 256 * time.Millisecond
	finalAfter   = 150 * time.Millisecond
)

// Interim is a transcript that the recogniser tells at a moment.
type Interim struct {
	At   time.Duration
	Text string
}

// Utterance is one stretch of the caller's speech, on the clock of the call.
type Utterance struct {
	From, To time.Duration
	Interims []Interim
	// Final is its final text, told 150 ms after the end unless FinalAt says
	// otherwise; empty is a recogniser that hears no word.
	Final   string
	FinalAt time.Duration
	// Lingers is how much later than usual the detector tells the silence.
	Lingers time.Duration
	// Pause is a stretch without voice within the speech, which the detector
	// does not call silence.
	Pause [2]time.Duration
	// Unvoiced is speech that the recogniser hears and the detector does not.
	Unvoiced bool
}

// Caller is a caller's script as ears hear it: a detector and a recogniser
// that go by the audio that they are given, 20 ms a frame.
type Caller struct {
	edges  []vad.Edge
	voices [][2]time.Duration
	events []timedEvent
}

type timedEvent struct {
	at    time.Duration
	event stt.Event
}

// Speaks makes the script of a caller.
func Speaks(utterances ...Utterance) *Caller {
	c := &Caller{}
	for _, u := range utterances {
		if !u.Unvoiced {
			if u.Pause[0] > 0 {
				c.voices = append(c.voices, [2]time.Duration{u.From, u.Pause[0]}, [2]time.Duration{u.Pause[1], u.To})
			} else {
				c.voices = append(c.voices, [2]time.Duration{u.From, u.To})
			}
			c.edges = append(c.edges,
				vad.Edge{Speaking: true, At: u.From, Detected: u.From + speechAfter},
				vad.Edge{At: u.To, Detected: u.To + silenceAfter + u.Lingers})
		}
		for _, i := range u.Interims {
			c.events = append(c.events, timedEvent{i.At, stt.Event{Kind: stt.Interim, Text: i.Text}})
		}
		if u.Final != "" {
			at := u.FinalAt
			if at == 0 {
				at = u.To + finalAfter
			}
			c.events = append(c.events, timedEvent{at, stt.Event{Kind: stt.Final, Text: u.Final}}, timedEvent{at, stt.Event{Kind: stt.EndOfSpeech}})
		}
	}
	sort.SliceStable(c.events, func(i, j int) bool { return c.events[i].at < c.events[j].at })
	return c
}

// Then adds an event of the recogniser at a moment.
func (c *Caller) Then(at time.Duration, event stt.Event) *Caller {
	c.events = append(c.events, timedEvent{at, event})
	sort.SliceStable(c.events, func(i, j int) bool { return c.events[i].at < c.events[j].at })
	return c
}

// Audio sends a frame of silence each 20 ms until ctx ends; what is "said" in
// it is in the script. It closes the channel.
func Audio(ctx context.Context, to chan<- []int16) {
	defer close(to)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case to <- make([]int16, stt.SampleRate/50):
		case <-ctx.Done():
			return
		}
	}
}

// Detector is the caller's voice as a detector hears it.
func (c *Caller) Detector() *Detector { return &Detector{edges: c.edges, voices: c.voices} }

// Detector tells the edges of a script when their audio has been written.
type Detector struct {
	edges   []vad.Edge // not told yet
	voices  [][2]time.Duration
	samples int64
}

// LastVoiced implements turn.Detector.
func (d *Detector) LastVoiced() (last time.Duration) {
	now := time.Duration(d.samples) * time.Second / stt.SampleRate
	for _, v := range d.voices {
		if now >= v[0] {
			last = min(now, v[1])
		}
	}
	return last
}

// Write implements turn.Detector.
func (d *Detector) Write(pcm []int16) []vad.Edge {
	d.samples += int64(len(pcm))
	now := time.Duration(d.samples) * time.Second / stt.SampleRate
	n := 0
	for n < len(d.edges) && d.edges[n].Detected <= now {
		n++
	}
	due := d.edges[:n]
	d.edges = d.edges[n:]
	return due
}

// Recogniser is the caller's words as a recogniser hears them.
func (c *Caller) Recogniser() *Recogniser { return &Recogniser{events: c.events} }

// Recogniser tells the words of a script when their audio has been heard.
type Recogniser struct {
	events []timedEvent
	// Fail makes Recognise return errors, one a call, before it hears anything.
	Fail  []error
	heard time.Duration
}

// Recognise implements turn.Recogniser.
func (r *Recogniser) Recognise(ctx context.Context, audio <-chan stt.Input, hear func(stt.Event)) error {
	if len(r.Fail) > 0 {
		err := r.Fail[0]
		r.Fail = r.Fail[1:]
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case in, ok := <-audio:
			if !ok {
				return nil
			}
			r.heard += time.Duration(len(in.PCM)) * time.Second / stt.SampleRate
			for len(r.events) > 0 && r.events[0].at <= r.heard {
				hear(r.events[0].event)
				r.events = r.events[1:]
			}
		}
	}
}

// Log keeps the entries of a call, with the moment of each.
type Log struct {
	began time.Time

	mu      sync.Mutex
	entries []Logged
}

// Logged is one entry of a Log.
type Logged struct {
	At    time.Duration // since the log was made
	Event turn.Event
}

// NewLog makes a log whose clock starts now.
func NewLog() *Log { return &Log{began: time.Now()} }

// Append implements turn.Log.
func (l *Log) Append(event turn.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, Logged{time.Since(l.began), event})
}

// Entries are the entries so far.
func (l *Log) Entries() []Logged {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Logged(nil), l.entries...)
}

// All returns the events of one type, in order.
func All[E turn.Event](l *Log) []E {
	var list []E
	for _, e := range l.Entries() {
		if ev, ok := e.Event.(E); ok {
			list = append(list, ev)
		}
	}
	return list
}

// One returns the only event of a type, and fails the test when there is not
// exactly one.
func One[E turn.Event](t testing.TB, l *Log) E {
	t.Helper()
	list := All[E](l)
	if len(list) != 1 {
		var zero E
		t.Fatalf("the log has %d entries of %T, want one:\n%s", len(list), zero, l)
	}
	return list[0]
}

// When is the moment of the only event of a type.
func When[E turn.Event](t testing.TB, l *Log) time.Duration {
	t.Helper()
	One[E](t, l)
	for _, e := range l.Entries() {
		if _, ok := e.Event.(E); ok {
			return e.At
		}
	}
	return 0
}

// String draws the log, a line an entry.
func (l *Log) String() string {
	var out strings.Builder
	for _, e := range l.Entries() {
		out.WriteString(fmt.Sprintf("%9v %-16s %+v\n", e.At, e.Event.EventType(), e.Event))
	}
	return out.String()
}
