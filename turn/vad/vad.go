// Package vad tells when the caller speaks. It owns the engines that judge a
// window of sound (Silero's network in plain Go, and Energy, which needs no
// file) and the Detector that turns their judgements into the edges of speech.
//
// It never knows of turns, never reads a clock and never starts a goroutine:
// time is counted in samples, so the same audio gives the same edges at any
// speed and however it is cut into frames.
//
// It fails only when weights are loaded: a file that is cut short, damaged or
// of another network is refused with what is wrong and in which tensor. Once
// loaded, judging a window cannot fail, and neither allocates nor waits.
package vad

import "time"

// The sound that every engine judges: 16 kHz mono in windows of 512 samples,
// which are what Silero's 16 kHz network was trained on.
const (
	SampleRate    = 16000
	WindowSamples = 512
	// Window is how long WindowSamples last: 32 ms.
	Window = WindowSamples * time.Second / SampleRate
)

// Engine judges windows of one caller's audio, in order. It remembers what it
// heard, so each call has its own, used from one goroutine at a time.
type Engine interface {
	// Probability is how likely the window holds speech, 0 to 1. The window
	// holds WindowSamples samples between -1 and 1; a shorter one panics.
	Probability(window []float32) float32
	// Reset forgets everything heard, as if the call began again.
	Reset()
}

// Prompt is an engine whose probabilities linger after a sound, and that tells
// the one that does not: so that the end of speech is where the sound ended.
type Prompt interface {
	// Alone is the probability of the last window judged, on its own.
	Alone() float32
}
