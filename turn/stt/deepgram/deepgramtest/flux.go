package deepgramtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The clocks of Flux: Update each quarter of a second of audio, whether the text
// changed or not, and the guess of an end of turn 60 ms after the energy, when
// it is asked for.
const (
	updateEvery = 250 * time.Millisecond
	eagerAfter  = 60 * time.Millisecond
)

// fluxOptions are the options that v2 knows.
var fluxOptions = []string{
	"model", "encoding", "sample_rate", "eot_threshold", "eager_eot_threshold", "eot_timeout_ms", "keyterm",
	"language_hint", "profanity_filter", "numerals", "tag", "mip_opt_out",
}

// wrongFlux tells what is wrong with a handshake of v2; 0 when nothing is.
func (s *Server) wrongFlux(r *http.Request) (status int, message string) {
	if status, message := s.wrong(r); status != 0 {
		return status, message
	}
	q := r.URL.Query()
	for name := range q {
		if !slices.Contains(fluxOptions, name) {
			return http.StatusBadRequest, "an option is none of v2's"
		}
	}
	eot, eotErr := number(q, "eot_threshold", 0.7)
	eager, eagerErr := number(q, "eager_eot_threshold", 0.3)
	timeout, timeoutErr := number(q, "eot_timeout_ms", 5000)
	switch {
	case !strings.HasPrefix(q.Get("model"), "flux-"):
		return http.StatusBadRequest, "model is none of v2's"
	case eotErr != nil || eot < 0.5 || eot > 0.9:
		return http.StatusBadRequest, "eot_threshold is out of range"
	case eagerErr != nil || eager < 0.3 || eager > eot:
		return http.StatusBadRequest, "eager_eot_threshold is out of range"
	case timeoutErr != nil || timeout < 500 || timeout > 60000:
		return http.StatusBadRequest, "eot_timeout_ms is out of range"
	case q.Has("language_hint") && q.Get("model") != "flux-general-multi":
		return http.StatusBadRequest, "language_hint is for the model of many languages"
	}
	return 0, ""
}

func number(q url.Values, name string, otherwise float64) (float64, error) {
	if !q.Has(name) {
		return otherwise, nil
	}
	value, err := strconv.ParseFloat(q.Get(name), 64)
	if err != nil {
		return 0, fmt.Errorf("read option: %w", err)
	}
	return value, nil
}

// flux speaks v2.
func (s *Server) flux(q url.Values, script *track) protocol {
	rate, _ := strconv.Atoi(q.Get("sample_rate")) // wrong has looked
	after := s.script.EndOfTurn
	if after == 0 {
		after = finalAfter
	}
	return &flux{script: script, rate: rate, endAfter: after, eagerly: q.Has("eager_eot_threshold"), hints: q["language_hint"]}
}

// flux hears the audio of one connection of v2. A turn is a stretch of energy.
type flux struct {
	script   *track
	rate     int // samples a second
	endAfter time.Duration
	eagerly  bool
	hints    []string

	part     []int16       // less than a window, left over
	heard    time.Duration // audio heard
	from     time.Duration // where the turn's window begins
	update   time.Duration // when the next update is due
	speaking bool
	onset    time.Duration // where the stretch began
	voiced   time.Duration // where its last energy ended
	voicedAt time.Time     // when that arrived
	turn     int
	sequence int    // of the next message
	eager    string // the text of the guess that stands
}

// hear takes audio and tells what Flux would say of it.
func (f *flux) hear(now time.Time, pcm []int16) []any {
	out := f.greet()
	f.part = append(f.part, pcm...)
	window := f.rate / 100
	for len(f.part) >= window {
		out = append(out, f.window(now, f.part[:window])...)
		f.part = f.part[window:]
	}
	return append(out, f.tick(now)...)
}

// greet says the first message of a connection.
func (f *flux) greet() []any {
	if f.sequence > 0 {
		return nil
	}
	f.sequence++
	f.update = updateEvery
	return []any{connected{Type: "Connected", RequestID: requestID}}
}

func (f *flux) window(now time.Time, pcm []int16) []any {
	var out []any
	begins := f.heard
	f.heard += 10 * time.Millisecond
	if rms(pcm) > loud {
		f.voiced, f.voicedAt = f.heard, now
		out = append(out, f.voice(begins)...)
	}
	if f.speaking {
		out = append(out, f.silence(f.heard-f.voiced)...)
	}
	if f.heard >= f.update {
		f.update += updateEvery
		out = append(out, f.info("Update", f.known(), 0.1))
	}
	return out
}

// voice is what energy says: a turn starts, or goes on.
func (f *flux) voice(at time.Duration) []any {
	switch {
	case !f.speaking:
		f.speaking, f.onset = true, at
		f.script.begin()
		return []any{f.info("StartOfTurn", nil, 0)}
	case f.eager != "":
		f.eager = ""
		return []any{f.info("TurnResumed", f.known(), 0.1)}
	}
	return nil
}

// silence is what so much of it says while a turn is open.
func (f *flux) silence(lasted time.Duration) []any {
	switch {
	case lasted >= f.endAfter:
		return f.end()
	case f.eagerly && f.eager == "" && lasted >= eagerAfter && len(f.said()) > 0:
		f.eager = text(f.said())
		return []any{f.info("EagerEndOfTurn", f.said(), 0.5)}
	}
	return nil
}

// end ends the turn with all that the script says. When a guess stands that
// lacks some of it, it is taken back and made again, as the protocol promises.
func (f *flux) end() []any {
	var out []any
	rest := f.script.rest()
	if whole := text(rest); f.eagerly && whole != f.eager && whole != "" {
		if f.eager != "" {
			out = append(out, f.info("TurnResumed", rest, 0.1))
		}
		out = append(out, f.info("EagerEndOfTurn", rest, 0.6))
	}
	out = append(out, f.info("EndOfTurn", rest, 0.9))
	f.script.finish()
	f.speaking, f.eager, f.from = false, "", f.heard
	f.turn++
	return out
}

// said is the turn up to now for one who believes that it is over. An utterance
// whose script gives no times is said whole.
func (f *flux) said() []Word {
	if u, ok := f.script.utterance(); ok && u.Speech == 0 && len(u.Words) == 0 {
		return f.script.rest()
	}
	return f.known()
}

func (f *flux) known() []Word {
	if !f.speaking {
		return nil
	}
	return f.script.known(f.heard - f.onset)
}

// tick is what the passing of time alone says.
func (f *flux) tick(now time.Time) []any {
	out := f.greet()
	if f.speaking && f.heard-f.voiced >= leastSilence {
		out = append(out, f.silence(now.Sub(f.voicedAt))...)
	}
	return out
}

// control answers a control message. What v1 knows and v2 does not is an error,
// as at Deepgram.
func (f *flux) control(kind string, message []byte) (answer []any, over bool) {
	out := f.greet()
	switch kind {
	case "CloseStream":
		// A turn that is open stays so: the stream's end is no end of turn.
		return append(out, f.info("Update", f.known(), 0.1)), true
	case "Configure":
		var c configured
		if err := json.Unmarshal(message, &c); err != nil {
			return append(out, failure{Type: "ConfigureFailure", SequenceID: f.next()}), false
		}
		c.Type, c.RequestID, c.SequenceID = "ConfigureSuccess", requestID, f.next()
		return append(out, c), false
	}
	return append(out, failure{Type: "Error", SequenceID: f.next(), Code: "UNPARSABLE_CLIENT_MESSAGE", Description: "unknown message"}), true
}

func (f *flux) next() int {
	f.sequence++
	return f.sequence - 1
}

func (f *flux) info(event string, words []Word, confidence float64) any {
	out := turnInfo{
		Type: "TurnInfo", RequestID: requestID, SequenceID: f.next(), Event: event, Turn: f.turn,
		From: f.from.Seconds(), Until: f.heard.Seconds(), Transcript: text(words), Words: []fluxWord{}, Confidence: confidence,
	}
	if len(words) > 0 {
		out.Languages = f.hints
	}
	for _, w := range words {
		start, end := min(f.onset+w.Start, f.heard), min(f.onset+w.End, f.heard)
		out.Words = append(out.Words, fluxWord{Word: w.Word, Confidence: 0.99, Start: start.Seconds(), End: end.Seconds()})
	}
	return out
}
