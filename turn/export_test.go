package turn

import (
	"encoding/json"
	"time"

	"headstart/turn/tts"
)

// Unfinished tells what endpointing reads in a text.
func Unfinished(text, language string) bool {
	s := state{cfg: Config{Language: language}}
	return s.unfinished(text)
}

// IsBackchannel tells whether a text only shows that somebody listens.
func IsBackchannel(text, language string) bool { return isBackchannel(text, language) }

// Playback is a reply of these clauses, three seconds each; all audio of the
// last one is here only if whole. It tells what a caller who has heard so much
// of it has heard beyond told bytes.
func Playback(whole bool, clauses ...string) func(heard time.Duration, told int) string {
	s := newScript()
	for i, c := range clauses {
		s.add(tts.Clause{Text: c, Spoken: c})
		s.addAudio(tts.Audio{PCM: make([]int16, 3*16000), Clause: i, Last: whole || i < len(clauses)-1}, 16000)
	}
	return s.reached
}

// Receipt fills a tool's receipt.
func Receipt(template string, arguments, output json.RawMessage) string {
	return receipt(template, arguments, output)
}
