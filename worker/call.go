package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/dispatch"
	"headstart/worker/room"
)

// call is one call, from its assignment to the seal of its log. Run's goroutine
// owns it; the conversation, the room and the captions run beside it and end
// before it does.
type call struct {
	worker     *Worker
	served     Served
	assignment dispatch.Assignment
	metadata   jobMetadata
	id         string
	began      time.Time

	log  *zap.Logger
	book *ledger
	room *room.Room

	caller     *room.Caller // nil until somebody came
	subscribed bool         // somebody hears our track
	greeted    bool         // the conversation was told that it is heard
	gone       bool         // the caller left, and may come back
	closed     bool         // the room is gone
	messages   chan turn.Message
	talking    bool // the conversation was started
	stopTalk   context.CancelCauseFunc
	talked     chan turn.End
	parts      sync.WaitGroup
}

// callID is the call's id: LiveKit's job, without its prefix.
func callID(job string) string { return "call-" + strings.TrimPrefix(job, "AJ_") }

// run holds the call. A panic ends this call and no other.
func (c *call) run(ctx context.Context) (err error) {
	c.log = c.worker.log.With(zap.String("call", c.id), zap.String("agent", c.served.Agent.Name))
	journal, err := c.worker.book.Begin(c.id, c.served.Agent.Name)
	if err != nil {
		return fmt.Errorf("begin log of %s: %w", c.id, err)
	}
	c.book = newLedger(journal, c.log)
	defer journal.Seal()
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("call panicked", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = fmt.Errorf("hold call %s: panic: %v", c.id, p)
			c.book.Append(turn.Failure{Code: turn.CodePanic, Message: "internal error"})
			c.finish(ctx, endError, err)
		}
	}()
	end, err := c.hold(ctx)
	c.finish(ctx, end, err)
	return err
}

// hold joins the room and attends to it until the call is over.
func (c *call) hold(ctx context.Context) (turn.End, error) {
	failed := endError
	r, err := room.Join(ctx, room.Config{
		URL: c.assignment.URL, Token: c.assignment.Token,
		APIKey: c.worker.cfg.APIKey, APISecret: c.worker.cfg.APISecret, Log: c.log,
	})
	if err != nil {
		c.book.Append(c.started())
		c.book.Append(turn.Failure{Code: turn.CodeRoom, Message: err.Error()})
		return failed, err
	}
	c.room = r
	c.book.show = newCaptions(r, c.log)
	c.messages, c.talked = make(chan turn.Message, 16), make(chan turn.End, 1)
	life := context.WithoutCancel(ctx) // the room outlives the order to end: finish leaves it
	c.parts.Go(func() {
		if err := r.Run(life); err != nil {
			c.log.Warn("room ended", zap.Error(err))
		}
	})
	c.parts.Go(func() { c.book.show.run(life) })
	return c.attend(ctx), nil
}

// attend is the call's one select: what happens in the room, and the clocks.
func (c *call) attend(ctx context.Context) turn.End {
	patience := time.NewTimer(c.worker.cfg.Absent)
	defer patience.Stop()
	done, events := ctx.Done(), c.room.Events()
	for {
		var over *turn.End
		select {
		case end := <-c.talked:
			return end
		case <-done:
			done = nil
			end := endOf(context.Cause(ctx))
			if !errors.Is(context.Cause(ctx), errNow) && c.dismiss(end) {
				patience.Reset(goodbyeWithin)
				break
			}
			over = &end
		case <-patience.C:
			over = c.outOfPatience(ctx)
		case ev, ok := <-events:
			if !ok {
				events, over = nil, new(endError)
				break
			}
			over = c.onEvent(ctx, ev, patience)
		}
		if over == nil {
			continue
		}
		if !c.talking {
			c.book.Append(c.started())
			return *over
		}
		c.stopTalk(*over)
	}
}

// goodbyeWithin bounds the closing phrase of a call that we end.
const goodbyeWithin = 10 * time.Second

// dismiss lets the conversation say goodbye before it ends, when there is
// somebody to say it to and the end is ours.
func (c *call) dismiss(end turn.End) bool {
	if !c.greeted || end.Reason != "drained" {
		return false
	}
	c.send(turn.Dismissed{End: end})
	return true
}

// outOfPatience: nobody came, who left has not come back, or the goodbye does
// not end.
func (c *call) outOfPatience(ctx context.Context) *turn.End {
	switch {
	case ctx.Err() != nil:
		return new(endOf(context.Cause(ctx)))
	case c.caller == nil:
		return new(endNoAnswer)
	}
	return new(endHungUp)
}

// onEvent takes one event of the room, and says when it ends the call.
func (c *call) onEvent(ctx context.Context, ev room.Event, patience *time.Timer) *turn.End {
	switch ev := ev.(type) {
	case room.CallerJoined:
		patience.Stop()
		c.caller = &ev.Caller
		if err := c.talk(ctx); err != nil {
			c.book.Append(turn.Failure{Code: turn.CodeRoom, Message: err.Error()})
			return new(endError)
		}
		c.greet()
	case room.CallerReturned:
		patience.Stop()
		c.caller, c.gone = &ev.Caller, false
	case room.AttributesChanged:
		c.caller = &ev.Caller
		c.greet()
	case room.Subscribed:
		c.subscribed = true
		c.greet()
	case room.Chat:
		c.send(turn.Typed{Text: ev.Text})
	case room.DTMF:
		c.send(turn.Pressed{Digit: ev.Digit})
	case room.CallerLeft:
		c.gone = true
		if end := endOfLeaving(ev, c.dialling()); end != nil {
			return end
		}
		c.log.Info("caller's line broke", zap.String("reason", ev.Reason))
		patience.Reset(c.worker.cfg.Return)
	case room.RoomClosed:
		c.closed = true
		return new(endOfRoom(ev.Reason, c.gone))
	}
	return nil
}

// dialling tells whether we called somebody who has not answered yet.
func (c *call) dialling() bool {
	return c.caller != nil && c.caller.SIP.Outbound && !c.greeted
}

// talk starts the conversation with the caller who came.
func (c *call) talk(ctx context.Context) error {
	started := c.started()
	c.book.Append(started)
	cfg := c.served.Agent.conversation()
	cfg.Org, cfg.Contact, cfg.Clips = c.worker.cfg.Org, started.Contact, c.served.Clips
	cfg.LateLookups, cfg.Timing.LookupBudget = c.served.LateLookups, c.served.LookupBudget
	conversation, err := turn.New(cfg, turn.Ports{
		Detector: c.served.Detector(), Recogniser: c.served.Recogniser, Model: c.served.Model, Voice: c.served.Voice,
		Mouth: c.room, Searcher: c.served.Searcher, Analyser: c.served.Analyser, Log: c.book,
	}, c.log)
	if err != nil {
		return fmt.Errorf("start conversation: %w", err)
	}
	talk, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // attend ends it, with the reason
	c.stopTalk, c.talking = stop, true
	c.parts.Go(func() {
		end := conversation.Run(talk, c.room.Audio(), c.messages)
		c.book.tally.dropped(conversation.Dropped())
		c.worker.abandoned.Add(conversation.Abandoned())
		c.talked <- end
	})
	return nil
}

// greet tells the conversation, once, that the caller hears us. A telephone
// that still rings does not, whoever is subscribed.
func (c *call) greet() {
	if c.greeted || !c.talking || !c.subscribed {
		return
	}
	if status := c.caller.SIP.Status; status != "" && status != "active" {
		return
	}
	c.greeted = true
	c.send(turn.Subscribed{})
}

func (c *call) send(m turn.Message) {
	if !c.talking {
		return
	}
	select {
	case c.messages <- m:
	case <-time.After(time.Second): // the conversation has ended, or reads nothing: it would not answer either
		c.log.Warn("message not taken", zap.String("type", fmt.Sprintf("%T", m)))
	}
}

// started is the entry that opens the log.
func (c *call) started() turn.CallStarted {
	ev := turn.CallStarted{
		Room: c.assignment.Room, Job: c.assignment.ID, Channel: "web", Medium: "voice", Direction: "inbound",
		Language: c.served.Agent.Language, Providers: c.served.Names,
	}
	if c.caller == nil {
		return ev
	}
	ev.Participant = c.caller.Identity
	ev.Contact = contactOf(c.metadata, *c.caller, c.worker.cfg.Region)
	if c.caller.Kind == "SIP" {
		ev.Channel = "phone"
		if c.caller.SIP.Outbound {
			ev.Direction = "outbound"
		}
	}
	return ev
}

// leaveWithin bounds the end of what runs beside a call: media is gone within
// 2 s of call.ended, and what is not by then is left behind.
const leaveWithin = 2 * time.Second

// awaitParts waits for the conversation, the room and the captions.
func (c *call) awaitParts() error {
	ended := make(chan struct{})
	go func() { c.parts.Wait(); close(ended) }()
	late := time.NewTimer(leaveWithin)
	defer late.Stop()
	select {
	case <-ended:
		return nil
	case <-late.C:
		c.worker.abandoned.Add(1)
		return fmt.Errorf("parts of the call still run after %v", leaveWithin)
	}
}

// finish closes the call: its end is logged, its status told, its room left,
// its summary written. The caller of run seals the log.
func (c *call) finish(ctx context.Context, end turn.End, err error) {
	c.book.Append(turn.CallEnded{Reason: end.Reason, EndedBy: end.By, DurationS: time.Since(c.began).Seconds()})
	if c.stopTalk != nil {
		c.stopTalk(end)
	}
	c.assignment.Done(err) // before the agent leaves: a job whose agent left while it ran has failed
	if c.room != nil {
		c.leave(ctx, end)
		counters := c.room.Counters()
		c.book.tally.frames(counters.FramesHeard, counters.FramesSaid, counters.FramesLost, counters.DroppedAudio)
	}
	c.book.Append(c.book.tally.summary(time.Since(c.began)))
	c.log.Info("call ended", zap.String("reason", end.Reason), zap.String("by", end.By),
		zap.Duration("lasted", time.Since(c.began)), zap.Error(err))
}

// leave hangs up when the end was ours, leaves the room and waits for what
// still runs of the call.
func (c *call) leave(ctx context.Context, end turn.End) {
	var errs []error
	if end.By != "caller" && !c.closed && !errors.Is(context.Cause(ctx), dispatch.ErrTerminated) {
		errs = append(errs, c.room.Hangup(context.WithoutCancel(ctx))) // closing work: it has its own deadline
	}
	errs = append(errs, c.room.Leave())
	c.book.show.close()
	errs = append(errs, c.awaitParts())
	if err := errors.Join(errs...); err != nil {
		c.log.Warn("leave room", zap.Error(err))
	}
}
