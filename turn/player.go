package turn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	// errHeld is the cause with which a Play in hand is broken off.
	errHeld = errors.New("held")
	// errSpoken is the cause that ends a player whose script was heard whole.
	errSpoken = errors.New("spoken to the end")
)

// player hands the audio of a script to the mouth. It can be held, which
// silences it at once, and let go, which takes up where the caller stopped
// hearing it. run plays; hold and release are called by the conversation's loop
// and do not block.
type player struct {
	script *script
	mouth  Mouth

	mu       sync.Mutex // guards what follows
	held     bool
	changed  chan struct{}           // closed and made anew when held changes
	breakOff context.CancelCauseFunc // of the Play in hand, nil when there is none
	playing  bool
	before   time.Duration // heard before playing began again
	from     time.Duration // what the mouth had played when it did
}

func newPlayer(s *script, m Mouth, held bool) *player {
	return &player{script: s, mouth: m, held: held, changed: make(chan struct{})}
}

func (p *player) hold()    { p.set(true) }
func (p *player) release() { p.set(false) }

func (p *player) set(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == held {
		return
	}
	p.held = held
	close(p.changed)
	p.changed = make(chan struct{})
	if held && p.breakOff != nil {
		p.breakOff(errHeld)
	}
}

// heard is how much of the script the caller has heard.
func (p *player) heard() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.heardLocked()
}

func (p *player) heardLocked() time.Duration {
	if !p.playing {
		return p.before
	}
	return p.before + p.mouth.Played() - p.from
}

// run plays the script until ctx ends. Unless it ended with errSpoken, nothing
// of the script waits in the mouth then.
func (p *player) run(ctx context.Context) error {
	for {
		if !p.awaitRelease(ctx) {
			return nil
		}
		err := p.play(ctx)
		switch {
		case errors.Is(err, errSpoken):
			return nil
		case errors.Is(err, errHeld):
			p.stop()
		case ctx.Err() != nil:
			p.stop()
			return nil
		default:
			return err
		}
	}
}

func (p *player) awaitRelease(ctx context.Context) bool {
	for {
		p.mu.Lock()
		held, changed := p.held, p.changed
		p.mu.Unlock()
		if !held {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// play hands over what has not been heard yet, and stays until all of it was
// heard. It returns the cause that ended it: errHeld, errSpoken, or ctx's.
func (p *player) play(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !p.begin(cancel) {
		return errHeld
	}
	skip := p.heard()
	for n := 0; ; n++ {
		piece, ok := p.script.piece(ctx, n)
		if !ok {
			<-ctx.Done() // what waits in the mouth can still be held
			return context.Cause(ctx)
		}
		pcm := piece.pcm
		if length := piece.length(); skip >= length {
			skip -= length
			continue
		}
		pcm, skip = pcm[int(skip*time.Duration(piece.rate)/time.Second):], 0
		if err := p.mouth.Play(ctx, pcm, piece.rate); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("play speech: %w", err)
		}
	}
}

// begin marks the moment from which the mouth plays this script.
func (p *player) begin(cancel context.CancelCauseFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held {
		return false
	}
	p.breakOff, p.playing, p.from = cancel, true, p.mouth.Played()
	return true
}

// stop silences the mouth and remembers how far the caller heard.
func (p *player) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mouth.Cut()
	p.before, p.playing, p.breakOff = p.heardLocked(), false, nil
}
