package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// patience is how long what was typed waits for an agent to be there.
	patience = 15 * time.Second
	// settle is when an agent that tells no state is taken to listen.
	settle = 3 * time.Second
	// dialWithin bounds how long the room is being joined.
	dialWithin = 15 * time.Second
)

// ending is why a visit was ended from our side.
type ending string

// Error says it in words.
func (e ending) Error() string { return "visit ended: " + string(e) }

const (
	hungUp    ending = "hung_up"
	idle      ending = "idle"
	unwatched ending = "unwatched"
)

// Why a text was not delivered.
var (
	errAbsent = fmt.Errorf("no agent there after %v", patience)
	errOver   = errors.New("the visit is over")
)

// errPanicked is told to who opens a visit that panicked while it joined.
var errPanicked = errors.New("joining the room panicked")

// visit is one typed visit, from the request to its last event. run's goroutine
// owns it; requests type, watch and end it.
type visit struct {
	id, room  string
	idle      time.Duration
	unwatched time.Duration
	log       *zap.Logger
	journal   *journal
	typing    chan struct{} // one place: who has it is typing, the others queue
	bell      chan struct{} // one place: the clocks have changed
	ready     chan struct{} // closed when the agent listens
	ended     chan struct{} // closed before the end is told: nothing is taken any more
	over      chan struct{} // closed when nothing of the visit lives

	// set by run before the visit is given to its visitor, then only read
	visitor Visitor
	end     context.CancelCauseFunc

	lock     sync.Mutex // guards what follows
	typed    int        // messages so far
	watchers int
	lastWord time.Time // when the visitor last typed
	alone    time.Time // since when nobody watches
	joined   time.Time // when an agent came who has told no state; zero else
	listens  bool      // ready is closed
}

func newVisit(config Config, log *zap.Logger) *visit {
	now := time.Now()
	id := rand.Text()
	return &visit{
		id: id, room: "web-" + rand.Text(), idle: config.Idle, unwatched: config.Unwatched, log: log.With(zap.String("visit", id[:6])),
		journal: newJournal(), typing: make(chan struct{}, 1), bell: make(chan struct{}, 1),
		ready: make(chan struct{}), ended: make(chan struct{}), over: make(chan struct{}), lastWord: now, alone: now,
	}
}

// run joins the room, tells so, and stays until the visit is over. release frees
// its place, before anyone is told that the visit failed or ended: whoever has
// heard that may ask for the place at once.
func (v *visit) run(ctx context.Context, door Door, joined chan<- error, release func()) {
	defer close(v.over)
	ctx, v.end = context.WithCancelCause(ctx)
	defer v.end(nil)
	defer func() {
		if p := recover(); p != nil {
			v.log.Error("visit panicked", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			release()
			v.tellEnd("lost")
			select {
			case joined <- errPanicked: // while joining
			default:
			}
		}
	}()
	var err error
	if v.visitor, err = v.dial(ctx, door); err != nil {
		release()
		joined <- err
		return
	}
	joined <- nil
	var clocks sync.WaitGroup
	clocks.Go(func() { v.keepTime(ctx) })
	err = v.visitor.Run(ctx, v.hear)
	reason := reasonOf(ctx, err)
	v.end(nil)
	clocks.Wait()
	release()
	v.tellEnd(reason)
	v.log.Info("visit over", zap.String("room", v.room), zap.String("reason", reason), zap.Int("messages", v.messages()), zap.Error(err))
}

// tellEnd is the last that anyone hears of the visit. Whoever has heard it finds
// the visit taking nothing.
func (v *visit) tellEnd(reason string) {
	v.lock.Lock()
	defer v.lock.Unlock()
	if v.isOver() {
		return
	}
	close(v.ended)
	v.journal.add(Event{Type: TypeEnd, Reason: reason})
}

func (v *visit) dial(ctx context.Context, door Door) (Visitor, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, dialWithin, fmt.Errorf("not joined after %v", dialWithin))
	defer cancel()
	return door.Dial(ctx, v.room)
}

func reasonOf(ctx context.Context, err error) string {
	var by ending
	switch {
	case errors.As(context.Cause(ctx), &by):
		return string(by)
	case ctx.Err() != nil:
		return "closing"
	case err != nil:
		return "lost"
	}
	return "left"
}

// hear writes down what happened in the room.
func (v *visit) hear(e Event) {
	v.journal.add(e)
	switch {
	case e.Type == TypeState && e.State != "" && e.State != "initializing":
		v.change(v.listenLocked)
	case e.Type == TypeAgent && e.There:
		v.change(func() { v.joined = time.Now() })
	}
}

func (v *visit) messages() int {
	v.lock.Lock()
	defer v.lock.Unlock()
	return v.typed
}

// listenLocked says that the agent would hear what is typed. The lock is held.
func (v *visit) listenLocked() {
	v.joined = time.Time{}
	if !v.listens {
		v.listens = true
		close(v.ready)
	}
}

// change changes what the clocks go by, and has them look again.
func (v *visit) change(change func()) {
	v.lock.Lock()
	change()
	v.lock.Unlock()
	select {
	case v.bell <- struct{}{}:
	default:
	}
}

// watch counts a reader of events until stop is called.
func (v *visit) watch() (stop func()) {
	v.change(func() { v.watchers++ })
	return func() {
		v.change(func() {
			v.watchers--
			v.alone = time.Now()
		})
	}
}

// say delivers what was typed, in the order of the calls. The visitor sees it
// at once, and sees it taken back when it was not delivered.
func (v *visit) say(ctx context.Context, text string) error {
	var segment string
	v.change(func() {
		if v.isOver() {
			return
		}
		v.typed++
		v.lastWord = time.Now()
		segment = "typed-" + strconv.Itoa(v.typed)
		// inside, so that the order of events is that of the numbers
		v.journal.add(Event{Type: TypeTranscript, Who: WhoVisitor, Segment: segment, Text: text, Final: true})
	})
	if segment == "" {
		return errOver
	}
	err := v.deliver(ctx, text)
	if err != nil {
		v.journal.add(Event{Type: TypeUndelivered, Segment: segment})
	}
	return err
}

// deliver waits for its turn and for an agent, and hands the text over.
func (v *visit) deliver(ctx context.Context, text string) error {
	waiting, cancel := context.WithTimeoutCause(ctx, patience, errAbsent)
	defer cancel()
	if err := v.await(waiting, nil, v.typing); err != nil {
		return err
	}
	defer func() { <-v.typing }()
	if err := v.await(waiting, v.ready, nil); err != nil {
		return err
	}
	if v.isOver() { // which lost the draw against ready
		return errOver
	}
	return v.visitor.Type(ctx, text)
}

// isOver reports whether the end has been told, or is about to be.
func (v *visit) isOver() bool {
	select {
	case <-v.ended:
		return true
	default:
		return false
	}
}

// await waits until in closes or out takes; one of them is nil.
func (v *visit) await(ctx context.Context, in <-chan struct{}, out chan<- struct{}) error {
	select {
	case <-in:
		return nil
	case out <- struct{}{}:
		return nil
	case <-v.ended:
		return errOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
