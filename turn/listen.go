package turn

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"headstart/turn/stt"
)

type counter struct{ n atomic.Int64 }

func (c *counter) add()        { c.n.Add(1) }
func (c *counter) load() int64 { return c.n.Load() }

// listen hands each frame of the caller to the detector and on to the
// recogniser. A recogniser that takes none loses frames, which are counted;
// the detector loses none.
func (c *Conversation) listen(ctx context.Context, audio <-chan []int16, sound chan<- stt.Input) {
	defer close(sound)
	ear := ear{detector: c.ports.Detector, long: c.state.cfg.Timing.MinInterruption}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.flushes:
			c.offer(sound, stt.Input{Flush: true})
		case pcm, ok := <-audio:
			if !ok {
				return
			}
			for _, o := range ear.hear(pcm, time.Since(c.began)) {
				c.tell(ctx, o)
			}
			c.offer(sound, stt.Input{PCM: pcm})
		}
	}
}

// ear turns frames into what the detector makes of them, on the call's clock.
type ear struct {
	detector Detector
	long     time.Duration // how much speech is enough to interrupt

	written  int64 // samples given to the detector
	speaking bool
	began    time.Duration // of the speech in hand, on the audio's clock
	told     bool          // that it has lasted long enough
	paused   time.Duration // the last voice before the pause that was told; 0 when none was
}

// pauseAfter is how long speech must be without voice to be paused: what is
// shorter is a stop within a word.
const pauseAfter = 160 * time.Millisecond

// hear takes a frame that came at a moment of the call.
func (e *ear) hear(pcm []int16, now time.Duration) []occurrence {
	e.written += int64(len(pcm))
	clock := time.Duration(e.written) * time.Second / stt.SampleRate
	var list []occurrence
	for _, edge := range e.detector.Write(pcm) {
		e.speaking, e.began, e.told, e.paused = edge.Speaking, edge.At, false, 0
		list = append(list, voiced{speaking: edge.Speaking, at: max(0, now-(clock-edge.At))})
	}
	if !e.speaking {
		return list
	}
	last := e.detector.LastVoiced()
	if !e.told && last-e.began >= e.long {
		e.told = true
		list = append(list, lasted{})
	}
	switch {
	case last != e.paused && clock-last >= pauseAfter:
		e.paused = last
		list = append(list, paused{at: max(0, now-(clock-last))})
	case e.paused != 0 && last > e.paused:
		e.paused, e.told, e.began = 0, false, last
		list = append(list, spokeOn{})
	}
	return list
}

func (c *Conversation) offer(sound chan<- stt.Input, in stt.Input) {
	select {
	case sound <- in:
	default:
		c.dropped.add()
	}
}

// tell hands an occurrence to the loop.
func (c *Conversation) tell(ctx context.Context, o occurrence) {
	select {
	case c.occurrences <- o:
	case <-ctx.Done():
	}
}

// relay hands the messages to the loop.
func (c *Conversation) relay(ctx context.Context, messages <-chan Message) {
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			c.tell(ctx, m.occurrence())
		}
	}
}

// recogniserPause is how long a recogniser that gave up is left alone before
// it is tried again.
const recogniserPause = time.Second

// recognise keeps a recogniser on the caller's audio for as long as there is any.
func (c *Conversation) recognise(ctx context.Context, sound <-chan stt.Input) {
	for {
		err := c.ports.Recogniser.Recognise(ctx, sound, func(ev stt.Event) { c.tell(ctx, heard{ev}) })
		if err == nil || ctx.Err() != nil {
			return
		}
		c.log.Warn("recogniser gave up", zap.Error(err))
		c.tell(ctx, deafened{err})
		if !c.rest(ctx, sound) {
			return
		}
	}
}

// rest waits before the recogniser is tried again; the audio goes on meanwhile.
func (c *Conversation) rest(ctx context.Context, sound <-chan stt.Input) bool {
	pause := time.NewTimer(recogniserPause)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-pause.C:
			return true
		case _, ok := <-sound:
			if !ok {
				return false
			}
			c.dropped.add()
		}
	}
}
