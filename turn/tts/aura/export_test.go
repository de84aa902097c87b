package aura

import "headstart/turn/tts"

// Shares is how audio is shared out between clauses, at a pace.
type Shares struct{ script *script }

// NewShares begins a turn at so many samples a character.
func NewShares(samples float64) Shares { return Shares{newScript(nil, &pace{per: samples})} }

// Add adds a clause, Share shares audio out, Finish ends the turn.
func (s Shares) Add(text string) { s.script.add(text, true) }

// Share shares audio out.
func (s Shares) Share(pcm []int16) []tts.Audio { return s.script.share(pcm) }

// Finish ends the turn.
func (s Shares) Finish() []tts.Audio { return s.script.finish() }
