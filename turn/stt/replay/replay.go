// Package replay is the demo's ears: it recognises, from the sound itself,
// which recording of testdata/calls is being spoken, and tells its words at the
// times they are really heard. It owns fingerprints of the recordings and the
// search for what is heard among them. It understands no speech: what is not
// one of its recordings yields nothing, and it never tells a word before the
// frames that carry it have come.
//
// The sound may have gone through a codec, lost frames, changed its level and
// gained noise. Once a recording is clearly the likeliest it is followed to its
// end; when the sound stops being that recording, the words told so far become
// final. New fails when the folder has no readable recordings; Recognise fails
// only by the end of its context.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"headstart/turn/stt"
)

// Config tells what is recognised and how soon it is told.
type Config struct {
	// Dir holds a folder a call, each with a call.json and its recordings. Required.
	Dir string
	// Language keeps the calls in one language: "es" keeps "es-ES". Empty keeps all.
	Language string

	InterimEvery time.Duration // 100 ms, between interims
	WordDelay    time.Duration // 40 ms, from a word's end to its being known
	FinalDelay   time.Duration // 150 ms, from the last word's end to the final
}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	var complaints []error
	if c.Dir == "" {
		complaints = append(complaints, errors.New("replay: folder of calls is missing"))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"interim interval", c.InterimEvery}, {"word delay", c.WordDelay}, {"final delay", c.FinalDelay}} {
		if d.value < 0 {
			complaints = append(complaints, fmt.Errorf("replay: %s %v is negative", d.name, d.value))
		}
	}
	return errors.Join(complaints...)
}

func (c Config) withDefaults() Config {
	c.InterimEvery = cmp.Or(c.InterimEvery, 100*time.Millisecond)
	c.WordDelay = cmp.Or(c.WordDelay, 40*time.Millisecond)
	c.FinalDelay = cmp.Or(c.FinalDelay, 150*time.Millisecond)
	return c
}

// Recogniser recognises recordings. Calls share its fingerprints, which never
// change, and nothing else.
type Recogniser struct {
	config     Config
	recordings []recording
	mean       *[bands]float32
	log        *zap.Logger
}

// New reads the recordings and takes their fingerprints. It fails with ErrEmpty
// when there are none.
func New(config Config, log *zap.Logger) (*Recogniser, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	recordings, err := load(config.Dir, config.Language)
	if err != nil {
		return nil, err
	}
	log = log.Named("replay")
	log.Debug("read the recordings", zap.Int("recordings", len(recordings)))
	return &Recogniser{config: config.withDefaults(), recordings: recordings, mean: settle(recordings), log: log}, nil
}

// Recognise implements turn.Recogniser. Its clock is the audio: nothing is told
// but when audio comes.
func (r *Recogniser) Recognise(ctx context.Context, audio <-chan stt.Input, hear func(stt.Event)) error {
	ears := newListener(r.config, newMatcher(r.recordings, r.mean), hear)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case in, ok := <-audio:
			if !ok {
				ears.stop()
				return nil
			}
			ears.hear(in.PCM)
			if in.Flush {
				ears.flush()
			}
		}
	}
}
