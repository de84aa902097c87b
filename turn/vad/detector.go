package vad

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config says when sound becomes speech and when speech ends. A field left
// zero takes its default.
type Config struct {
	// SpeechAbove is the probability above which a window begins speech: 0.5,
	// the threshold that Silero's network is published with.
	SpeechAbove float32
	// SilenceBelow is the probability below which a window of speech is silent:
	// 0.35, Silero's own 0.15 below the other threshold. A window between the
	// two goes on with what was: voiced in speech, no voice in silence.
	SilenceBelow float32
	// SpeechAfter is how long windows above SpeechAbove must follow each other
	// to be speech: 64 ms. Counted in whole windows, rounded up.
	SpeechAfter time.Duration
	// SilenceAfter is how long windows below SilenceBelow must follow each
	// other to end it: 256 ms. Counted in whole windows, rounded up.
	SilenceAfter time.Duration
}

const (
	defaultSpeechAbove  = 0.5
	defaultSilenceBelow = 0.35
	defaultSpeechAfter  = 64 * time.Millisecond
	defaultSilenceAfter = 256 * time.Millisecond
)

// Validate reports everything that is wrong with the configuration, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	return errors.Join(
		outside("speech above", c.SpeechAbove),
		outside("silence below", c.SilenceBelow),
		c.crossed(),
		negative("speech after", c.SpeechAfter),
		negative("silence after", c.SilenceAfter),
	)
}

func (c Config) crossed() error {
	if c.SilenceBelow > c.SpeechAbove {
		return fmt.Errorf("silence below %g is higher than speech above %g", c.SilenceBelow, c.SpeechAbove)
	}
	return nil
}

func outside(what string, p float32) error {
	if p > 0 && p < 1 { // written so that NaN is outside
		return nil
	}
	return fmt.Errorf("%s %g is not between 0 and 1", what, p)
}

func negative(what string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s %s is negative", what, d)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.SpeechAbove = cmp.Or(c.SpeechAbove, defaultSpeechAbove)
	c.SilenceBelow = cmp.Or(c.SilenceBelow, defaultSilenceBelow)
	c.SpeechAfter = cmp.Or(c.SpeechAfter, defaultSpeechAfter)
	c.SilenceAfter = cmp.Or(c.SilenceAfter, defaultSilenceAfter)
	return c
}

// Edge is the moment at which speech begins or ends. Its times are on the
// audio clock: 0 is the first sample written, and it runs only as audio comes.
type Edge struct {
	// Speaking is true where speech begins.
	Speaking bool
	// At is the beginning of the first voiced window, or the end of the last.
	At time.Duration
	// Detected is the end of the window that decided it: the earliest that the
	// edge could be known. Detected less At is what the detector's care costs.
	Detected time.Duration
}

// Detector finds the edges of speech in one caller's audio. It is used from
// one goroutine, which owns all of it.
type Detector struct {
	engine       Engine
	cfg          Config
	speechAfter  int // in windows
	silenceAfter int

	window   [WindowSamples]float32
	filled   int // samples of the window that are in
	judged   int // windows judged: the audio clock
	speaking bool
	run      int           // windows in a row that argue for the other state
	voiced   time.Duration // end of the last voiced window of speech
}

// New is a detector that has heard nothing. It takes the engine for itself.
// The configuration must be valid; see Config.Validate.
func New(engine Engine, cfg Config) *Detector {
	cfg = cfg.withDefaults()
	return &Detector{
		engine:       engine,
		cfg:          cfg,
		speechAfter:  windowsIn(cfg.SpeechAfter),
		silenceAfter: windowsIn(cfg.SilenceAfter),
	}
}

func windowsIn(d time.Duration) int {
	return max(1, int((d+Window-1)/Window))
}

// Write takes the next samples, as many as there are, and returns the edges
// that they decide, mostly none. Samples that do not fill a window wait for
// the next ones.
func (d *Detector) Write(pcm []int16) []Edge {
	var edges []Edge
	for len(pcm) > 0 {
		pcm = pcm[d.fill(pcm):]
		if d.filled < WindowSamples {
			break
		}
		d.filled = 0
		if edge, ok := d.judge(d.engine.Probability(d.window[:])); ok {
			edges = append(edges, edge)
		}
	}
	return edges
}

// fill moves samples into the window and says how many fitted.
func (d *Detector) fill(pcm []int16) int {
	room := d.window[d.filled:]
	n := min(len(room), len(pcm))
	for i, s := range pcm[:n] {
		room[i] = float32(s) / 32768
	}
	d.filled += n
	return n
}

// judge moves the state by one window.
func (d *Detector) judge(p float32) (Edge, bool) {
	d.judged++
	if d.speaking {
		return d.whileSpeaking(p)
	}
	return d.whileSilent(p)
}

func (d *Detector) whileSilent(p float32) (Edge, bool) {
	if !(p > d.cfg.SpeechAbove) {
		d.run = 0
		return Edge{}, false
	}
	if d.run++; d.run < d.speechAfter {
		return Edge{}, false
	}
	began := d.clock() - time.Duration(d.run)*Window
	d.speaking, d.run, d.voiced = true, 0, d.clock()
	return Edge{Speaking: true, At: began, Detected: d.clock()}, true
}

func (d *Detector) whileSpeaking(p float32) (Edge, bool) {
	if p >= d.cfg.SilenceBelow {
		d.run = 0
		if d.sounds() {
			d.voiced = d.clock()
		}
		return Edge{}, false
	}
	if d.run++; d.run < d.silenceAfter {
		return Edge{}, false
	}
	d.speaking, d.run = false, 0
	return Edge{At: d.voiced, Detected: d.clock()}, true
}

// sounds tells whether the window that is part of speech has sound of its own.
func (d *Detector) sounds() bool {
	prompt, ok := d.engine.(Prompt)
	return !ok || prompt.Alone() >= d.cfg.SilenceBelow
}

// clock is the end of the last window judged.
func (d *Detector) clock() time.Duration {
	return time.Duration(d.judged) * Window
}

// Speaking tells whether the last window judged belongs to speech. It stays
// true through a silence too short to end it.
func (d *Detector) Speaking() bool { return d.speaking }

// LastVoiced is the end of the last voiced window of speech, on the audio
// clock; 0 when there was none. A blip too short to be speech does not move it.
func (d *Detector) LastVoiced() time.Duration { return d.voiced }
