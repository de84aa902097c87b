package flux

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"headstart/turn/stt"
	"headstart/turn/stt/line"
)

// closeStream is the one message that we send, as a text frame.
const closeStream = `{"type":"CloseStream"}`

// message is any message of the server. Times are seconds of the connection's audio.
type message struct {
	Type string `json:"type"`

	// Of a TurnInfo.
	Event       string   `json:"event"`
	WindowStart float64  `json:"audio_window_start"`
	WindowEnd   float64  `json:"audio_window_end"`
	Transcript  string   `json:"transcript"` // of the turn so far, the whole of it
	Words       []word   `json:"words"`
	Confidence  float64  `json:"end_of_turn_confidence"`
	Languages   []string `json:"languages"`

	// Of an Error.
	Code        string `json:"code"`
	Description string `json:"description"`
}

type word struct {
	Confidence float64  `json:"confidence"`
	Start      *float64 `json:"start"` // not always there
	End        *float64 `json:"end"`
}

// settleBehind is how much of the silence before a turn is kept for the next
// connection: more than Flux takes to notice a first word.
const settleBehind = 2

// reader reads the messages of one connection.
type reader struct {
	at            func(seconds float64) time.Duration // places a time of the connection in the call
	log           *zap.Logger
	promiseBroken func()

	open  bool      // a turn is
	last  stt.Event // the words of the open turn, as they were last told
	eager string    // the text of the guess that stands; empty when none does
}

// Read implements line.Reader.
func (r *reader) Read(frame []byte) (line.Heard, error) {
	var m message
	if err := json.Unmarshal(frame, &m); err != nil {
		return line.Heard{}, fmt.Errorf("read message: %w", err)
	}
	switch m.Type {
	case "TurnInfo":
		return r.turn(m), nil
	case "Error":
		return line.Heard{Hollow: true, Fatal: &Failure{Code: m.Code, Description: m.Description}}, nil
	case "ConfigureFailure":
		r.log.Warn("flux refused a change of its options")
	case "":
		return line.Heard{}, errors.New("read message: no type")
	}
	return line.Heard{Hollow: true}, nil // Connected, what is still unknown
}

func (r *reader) turn(m message) line.Heard {
	m.Transcript = strings.TrimSpace(m.Transcript)
	var out line.Heard
	switch m.Event {
	case "StartOfTurn":
		r.open = true
		at := r.at(m.onset())
		out.Events = append([]stt.Event{{Kind: stt.SpeechStarted, Start: at, End: at}}, r.update(m)...)
	case "Update":
		if !r.open && m.Transcript == "" {
			out.Settles = max(0, m.WindowEnd-settleBehind)
		}
		out.Events = r.update(m)
	case "EagerEndOfTurn":
		out.Events = r.guess(m)
	case "TurnResumed":
		out.Events = append(r.resume(m), r.update(m)...)
	case "EndOfTurn":
		out.Events = r.end(m)
		out.Settles = m.WindowEnd
	}
	return out
}

// update tells the words of an open turn, when they are others than before.
func (r *reader) update(m message) []stt.Event {
	if m.Transcript == "" || r.open && m.Transcript == r.last.Text {
		return nil
	}
	out := r.takeBack(m)
	r.open, r.last = true, r.event(stt.Interim, m)
	return append(out, r.last)
}

func (r *reader) guess(m message) []stt.Event {
	if m.Transcript == "" || m.Transcript == r.eager {
		return nil // nothing may be begun on no words, nor twice on the same
	}
	out := r.takeBack(m)
	r.open, r.eager = true, m.Transcript
	r.last = r.event(stt.EagerEndOfTurn, m)
	return append(out, r.last)
}

// resume takes the guess back that Flux takes back.
func (r *reader) resume(m message) []stt.Event {
	if r.eager == "" {
		return nil
	}
	r.eager = ""
	return []stt.Event{r.event(stt.TurnResumed, m)}
}

// takeBack takes a guess back that Flux lets stand although its words changed.
func (r *reader) takeBack(m message) []stt.Event {
	if r.eager == "" || r.eager == m.Transcript {
		return nil
	}
	r.promiseBroken()
	return r.resume(m)
}

func (r *reader) end(m message) []stt.Event {
	out := r.takeBack(m)
	if m.Transcript != "" {
		out = append(out, r.event(stt.EndOfTurn, m))
	}
	r.open, r.eager, r.last = false, "", stt.Event{}
	return out
}

// Over implements line.Reader. The end of the audio ends the turn that was
// open; a connection that was lost takes its guess with it, since the next one
// begins the turn anew.
func (r *reader) Over(whole bool) []stt.Event {
	last := r.last
	switch {
	case whole && r.open && last.Text != "":
		last.Kind = stt.EndOfTurn
	case !whole && r.eager != "":
		last.Kind = stt.TurnResumed
	default:
		return nil
	}
	r.open, r.eager = false, ""
	return []stt.Event{last}
}

// event makes an event of a message. Its confidence is that of the words for an
// interim, and that of the end for what is said about the end.
func (r *reader) event(kind stt.Kind, m message) stt.Event {
	event := stt.Event{Kind: kind, Text: m.Transcript, Confidence: m.Confidence, Start: r.at(m.start()), End: r.at(m.end())}
	if kind == stt.Interim {
		event.Confidence = m.sure()
	}
	if len(m.Languages) > 0 {
		event.Language = m.Languages[0]
	}
	return event
}

// onset is where the turn's first sound was, as far as the message knows.
func (m message) onset() float64 {
	if len(m.Words) == 0 {
		return m.WindowEnd
	}
	return m.start()
}

func (m message) start() float64 {
	if len(m.Words) > 0 && m.Words[0].Start != nil {
		return *m.Words[0].Start
	}
	return m.WindowStart
}

func (m message) end() float64 {
	if n := len(m.Words); n > 0 && m.Words[n-1].End != nil {
		return *m.Words[n-1].End
	}
	return m.WindowEnd
}

// sure is the mean confidence of the words.
func (m message) sure() float64 {
	if len(m.Words) == 0 {
		return 0
	}
	sum := 0.0
	for _, w := range m.Words {
		sum += w.Confidence
	}
	return sum / float64(len(m.Words))
}
