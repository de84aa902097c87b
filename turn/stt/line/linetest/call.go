package linetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"headstart/turn/stt"
)

// Frame is the piece of audio that a caller is fed in.
const Frame = 20 * time.Millisecond

// Heard is an event with the time since the call began.
type Heard struct {
	At time.Duration
	stt.Event
}

// Recogniser is what turn.Recogniser asks for.
type Recogniser interface {
	Recognise(ctx context.Context, audio <-chan stt.Input, hear func(stt.Event)) error
}

// Call runs one Recognise while speak feeds it, and gives what was heard.
func Call(ctx context.Context, t *testing.T, recogniser Recogniser, speak func(*Mouth)) ([]Heard, error) {
	t.Helper()
	began := time.Now()
	m := &Mouth{audio: make(chan stt.Input), stop: make(chan struct{})}
	var speaking sync.WaitGroup
	speaking.Go(func() {
		defer close(m.audio)
		speak(m)
	})
	var events []Heard
	err := recogniser.Recognise(ctx, m.audio, func(e stt.Event) {
		events = append(events, Heard{At: time.Since(began), Event: e})
	})
	close(m.stop)
	speaking.Wait()
	if m.blocked > 0 {
		t.Fatalf("the audio's reader held the caller up for %v", m.blocked)
	}
	return events, err
}

// Mouth feeds frames of 20 ms in real time and notes when it was held up.
type Mouth struct {
	audio   chan stt.Input
	stop    chan struct{}
	blocked time.Duration
}

// Send hands one input over; false when the call is over.
func (m *Mouth) Send(in stt.Input) bool {
	began := time.Now()
	select {
	case m.audio <- in:
		m.blocked += time.Since(began)
		return true
	case <-m.stop:
		return false
	}
}

// Feed sounds at a level for a while.
func (m *Mouth) Feed(d time.Duration, level int16) {
	for range d / Frame {
		pcm := make([]int16, stt.SampleRate/50)
		for i := range pcm {
			pcm[i] = level
			if i%8 < 4 {
				pcm[i] = -level
			}
		}
		if !m.Send(stt.Input{PCM: pcm}) {
			return
		}
		m.Wait(Frame)
	}
}

// Wait feeds nothing for a while.
func (m *Mouth) Wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-m.stop:
	}
}

// Speak, Silent and Flush are what callers do.
func (m *Mouth) Speak(d time.Duration)  { m.Feed(d, 4000) }
func (m *Mouth) Silent(d time.Duration) { m.Feed(d, 20) }
func (m *Mouth) Flush()                 { m.Send(stt.Input{Flush: true}) }

// Said joins the finals.
func Said(events []Heard) string {
	var texts []string
	for _, e := range events {
		if e.Kind == stt.Final {
			texts = append(texts, e.Text)
		}
	}
	return strings.Join(texts, " ")
}

// Only keeps the events of some kinds.
func Only(events []Heard, kinds ...stt.Kind) []Heard {
	var kept []Heard
	for _, e := range events {
		for _, kind := range kinds {
			if e.Kind == kind {
				kept = append(kept, e)
			}
		}
	}
	return kept
}
