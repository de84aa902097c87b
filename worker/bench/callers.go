package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/worker/caller"
	"headstart/worker/room/audio"
)

// Patience of a caller.
const (
	greetingWithin = 30 * time.Second // ten calls may begin at once on a busy machine
	answerWithin   = 10 * time.Second
	longestAnswer  = 60 * time.Second
	// pause is how long the agent must be silent for its answer to be over; the
	// sound of the fake voice has no pause in it.
	pause = 500 * time.Millisecond
)

// Order is what callers are to do.
type Order struct {
	URL       string   `json:"url"`
	APIKey    string   `json:"api_key"`
	APISecret string   `json:"api_secret"`
	AgentName string   `json:"agent_name"` // of explicit dispatch
	Rooms     []string `json:"rooms"`      // a call in each, at once
	Question  string   `json:"question"`
	Turns     int      `json:"turns"` // each caller's; 0 asks until told to stop
}

// Told is what a caller tells of their call, as it happens.
type Told struct {
	Room string `json:"room"`
	// Talking says that the greeting was heard; Turn is set otherwise, or Trouble,
	// which ends the call.
	Talking bool   `json:"talking,omitempty"`
	Turn    *Asked `json:"turn,omitempty"`
	Trouble string `json:"trouble,omitempty"`
}

// Asked is one question, on the caller's clock.
type Asked struct {
	Began time.Time `json:"began"`
	// Ended is when the last frame with voice was due to leave: a frame leaves
	// when all of it was spoken.
	Ended    time.Time `json:"ended"`
	Answered time.Time `json:"answered"` // the first sound after it; zero when none came
	Silent   time.Time `json:"silent"`   // the last sound of the answer
}

// Call makes the calls of an order, each on its own, and returns when all are
// over. tell is called by one goroutine at a time.
func Call(ctx context.Context, o Order, tell func(Told), log *zap.Logger) error {
	packets, err := Packets(o.Question)
	if err != nil {
		return err
	}
	var calls sync.WaitGroup
	var lock sync.Mutex // guards tell and troubles
	var troubles []error
	for _, room := range o.Rooms {
		c := &asking{order: o, room: room, packets: packets, log: log, tell: func(t Told) {
			lock.Lock()
			defer lock.Unlock()
			t.Room = room
			tell(t)
		}}
		calls.Go(func() {
			if err := c.call(ctx); err != nil {
				c.tell(Told{Trouble: err.Error()})
				lock.Lock()
				defer lock.Unlock()
				troubles = append(troubles, fmt.Errorf("call in %s: %w", room, err))
			}
		})
	}
	calls.Wait()
	return errors.Join(troubles...)
}

// asking is one call.
type asking struct {
	order   Order
	room    string
	packets [][]byte
	tell    func(Told)
	log     *zap.Logger

	caller *caller.Caller
}

func (a *asking) call(ctx context.Context) error {
	var err error
	a.caller, err = caller.Dial(ctx, caller.Config{
		URL: a.order.URL, APIKey: a.order.APIKey, APISecret: a.order.APISecret, Room: a.room, AgentName: a.order.AgentName,
		Kind: caller.Phone, Number: "+34600123456", Trunk: "+34910000001", Keep: time.Minute, Log: a.log,
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- a.caller.Run(context.WithoutCancel(ctx)) }() // Hangup ends it
	err = a.converse(ctx)
	if ctx.Err() != nil {
		err = nil // told to stop
	}
	return errors.Join(err, a.caller.Hangup(), <-ended)
}

func (a *asking) converse(ctx context.Context) error {
	if _, err := a.sound(ctx, a.caller.Dialed(), greetingWithin); err != nil {
		return fmt.Errorf("hear the greeting: %w", err)
	}
	if err := a.silence(ctx); err != nil {
		return err
	}
	a.tell(Told{Talking: true})
	for n := 0; a.order.Turns == 0 || n < a.order.Turns; n++ {
		asked, err := a.ask(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("turn %d: %w", n+1, err)
		}
		a.tell(Told{Turn: &asked})
	}
	return nil
}

// ask asks the question once and hears the answer to its end. No answer is no error.
func (a *asking) ask(ctx context.Context) (Asked, error) {
	began, err := a.caller.SayPackets(ctx, a.packets)
	if err != nil {
		return Asked{}, err
	}
	asked := Asked{Began: began, Ended: began.Add(time.Duration(len(a.packets)-1) * audio.Frame)}
	asked.Answered, err = a.sound(ctx, asked.Ended, answerWithin)
	if errors.Is(err, errNoSound) {
		return asked, nil
	}
	if err == nil {
		err = a.silence(ctx)
	}
	asked.Silent = a.caller.LastSound()
	return asked, err
}

// errNoSound is the cause that ends a wait for a sound.
var errNoSound = errors.New("no sound came")

func (a *asking) sound(ctx context.Context, after time.Time, within time.Duration) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("%w within %v", errNoSound, within))
	defer cancel()
	return a.caller.WaitSound(ctx, after)
}

func (a *asking) silence(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longestAnswer, fmt.Errorf("the agent still speaks after %v", longestAnswer))
	defer cancel()
	return a.caller.WaitSilent(ctx, pause)
}
