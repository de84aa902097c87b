package deepgram

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"headstart/turn/stt"
	"headstart/turn/stt/line"
)

// The messages that a client sends, always as text frames.
const (
	keepAlive   = `{"type":"KeepAlive"}`
	finalize    = `{"type":"Finalize"}`
	closeStream = `{"type":"CloseStream"}`
)

// envelope is what every message of the server has.
type envelope struct {
	Type string `json:"type"`
}

// results is a piece of transcript. Times are seconds of the connection's audio.
type results struct {
	Start       float64 `json:"start"`
	Duration    float64 `json:"duration"`
	IsFinal     bool    `json:"is_final"`
	SpeechFinal bool    `json:"speech_final"`
	Channel     struct {
		Alternatives []alternative `json:"alternatives"`
	} `json:"channel"`
}

type alternative struct {
	Transcript string   `json:"transcript"`
	Confidence float64  `json:"confidence"`
	Languages  []string `json:"languages"`
	Words      []word   `json:"words"`
}

type word struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

type speechStarted struct {
	Timestamp float64 `json:"timestamp"`
}

type utteranceEnd struct {
	LastWordEnd float64 `json:"last_word_end"`
}

type complaint struct {
	Description string `json:"description"`
	Message     string `json:"message"`
}

// reader reads the messages of one connection.
type reader struct {
	at      func(seconds float64) time.Duration // places a time of the connection in the call
	wordEnd time.Duration                       // where the last final word ended
}

// Over implements line.Reader: the finals told all.
func (r *reader) Over(bool) []stt.Event { return nil }

// Read implements line.Reader.
func (r *reader) Read(frame []byte) (line.Heard, error) {
	var head envelope
	if err := json.Unmarshal(frame, &head); err != nil {
		return line.Heard{}, fmt.Errorf("read message: %w", err)
	}
	switch head.Type {
	case "Results":
		return decode(frame, r.results)
	case "SpeechStarted":
		return decode(frame, r.started)
	case "UtteranceEnd":
		return decode(frame, r.ended)
	case "Error":
		return decode(frame, r.complained)
	case "":
		return line.Heard{}, fmt.Errorf("read message: no type")
	}
	return line.Heard{}, nil
}

func decode[T any](frame []byte, understand func(T) line.Heard) (line.Heard, error) {
	var body T
	if err := json.Unmarshal(frame, &body); err != nil {
		return line.Heard{}, fmt.Errorf("read message: %w", err)
	}
	return understand(body), nil
}

func (r *reader) results(m results) line.Heard {
	var out line.Heard
	best := m.best()
	if m.IsFinal {
		out.Settles = m.Start + m.Duration
	}
	if best.Transcript != "" {
		out.Events = append(out.Events, r.transcript(m, best))
	}
	if m.SpeechFinal {
		out.Events = append(out.Events, stt.Event{Kind: stt.EndOfSpeech, Start: r.wordEnd, End: r.wordEnd})
	}
	return out
}

func (m results) best() alternative {
	if len(m.Channel.Alternatives) == 0 {
		return alternative{}
	}
	best := m.Channel.Alternatives[0]
	best.Transcript = strings.TrimSpace(best.Transcript)
	return best
}

func (r *reader) transcript(m results, best alternative) stt.Event {
	event := stt.Event{Kind: stt.Interim, Text: best.Transcript, Confidence: best.Confidence}
	if len(best.Languages) > 0 {
		event.Language = best.Languages[0]
	}
	from, to := m.Start, m.Start+m.Duration
	if n := len(best.Words); n > 0 {
		from, to = best.Words[0].Start, best.Words[n-1].End
	}
	event.Start, event.End = r.at(from), r.at(to)
	if m.IsFinal {
		event.Kind = stt.Final
		r.wordEnd = max(r.wordEnd, event.End)
	}
	return event
}

func (r *reader) started(m speechStarted) line.Heard {
	at := r.at(m.Timestamp)
	return line.Heard{Events: []stt.Event{{Kind: stt.SpeechStarted, Start: at, End: at}}}
}

// ended has no word's end (-1) when no word was heard.
func (r *reader) ended(m utteranceEnd) line.Heard {
	if m.LastWordEnd >= 0 {
		r.wordEnd = max(r.wordEnd, r.at(m.LastWordEnd))
	}
	return line.Heard{Events: []stt.Event{{Kind: stt.EndOfSpeech, Start: r.wordEnd, End: r.wordEnd}}}
}

func (r *reader) complained(m complaint) line.Heard {
	return line.Heard{Trouble: strings.TrimSpace(m.Message + " " + m.Description)}
}
