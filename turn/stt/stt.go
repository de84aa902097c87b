// Package stt holds what a recogniser hears: the value types that every adapter
// under it speaks. An adapter knows one vendor's wire and nothing of turns; it
// fails by returning an error from Recognise, after it has tried to reconnect.
package stt

import "time"

// SampleRate is the rate, in hertz, of the mono audio that a recogniser is fed.
const SampleRate = 16000

// Input is one piece of the caller's audio, or a request about it.
type Input struct {
	// PCM is 16 kHz mono audio, 20 ms of it as a rule. It is never written to after it was sent.
	PCM []int16
	// Flush asks for the final text of everything heard so far, because the
	// caller has fallen silent. A recogniser that cannot do that ignores it.
	Flush bool
}

// Kind tells what an Event says.
type Kind int

// The kinds of Event. A recogniser that does not end turns itself never sends
// the last three.
const (
	// SpeechStarted is the recogniser's own start of speech. It may come twice
	// in a row, or not at all.
	SpeechStarted Kind = iota + 1
	// Interim is the text so far of the segment that is being spoken; the next
	// Interim or Final replaces it.
	Interim
	// Final freezes a segment. A turn's text is its finals, joined by spaces.
	Final
	// EndOfSpeech says that the recogniser heard its endpoint (a speech_final,
	// or an utterance end). Both may arrive for one turn.
	EndOfSpeech
	// EagerEndOfTurn says that the turn may be over; Text is the turn so far.
	EagerEndOfTurn
	// TurnResumed takes the last EagerEndOfTurn back.
	TurnResumed
	// EndOfTurn ends the turn. Text is the whole turn and equals that of the
	// EagerEndOfTurn before it, when there was one.
	EndOfTurn
	// Reconnected says that the connection was lost and made anew, and that
	// the audio kept meanwhile was sent again. Err tells why it was lost.
	Reconnected
)

// Event is one thing that a recogniser heard.
type Event struct {
	Kind       Kind
	Text       string
	Language   string  // BCP 47, when the recogniser told
	Confidence float64 // 0 to 1, 0 when unknown
	// Start and End bound the words on the clock of the audio that was fed: 0
	// is the first sample.
	Start, End time.Duration
	// Err is the reason of a Reconnected.
	Err error
}
