package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/turn/crew"
	"headstart/worker/app"
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

	release func() // gives the call's place back, once

	log    *zap.Logger
	book   *ledger
	room   *room.Room
	memory *recollection // nil for nobody, and without a policy
	held   *app.Held     // nil when no app held the agent as the caller came

	caller     *room.Caller // nil until somebody came
	answered   bool         // the caller's telephone was picked up, or they have none
	subscribed bool         // somebody hears our track
	greeted    bool         // the conversation was told that it is heard
	gone       bool         // the caller left, and may come back
	closed     bool         // the room is gone
	terminated bool         // LiveKit ended the job
	detached   bool         // the app that holds the call is gone
	ordered    *turn.End    // the end that we say goodbye before
	lost       error        // why the room was lost, when that was nobody's doing
	messages   chan turn.Message
	talking    bool // the conversation was started
	stopTalk   context.CancelCauseFunc
	talked     chan talkOver
	roomOver   chan error // how the room's Run ended
	broken     chan error // the panics of parts: room for each of them

	passings    chan *passing           // from who has the caller passed on
	passing     *passing                // the one that is on, nil else
	passed      chan error              // what came of it
	stopPassing context.CancelCauseFunc // nil before the first
	over        chan struct{}           // closed when the call is on no more

	parts parts
}

// kindSIP is the kind of a participant on a telephone.
const kindSIP = "SIP"

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
	defer func() { c.held.End() }()
	defer func() {
		if p := recover(); p != nil {
			end := c.onBroken(crew.Caught(p))
			err = fmt.Errorf("hold call %s: %w", c.id, c.lost)
			c.finish(ctx, end, err)
		}
	}()
	c.recollect(ctx, contactOf(c.metadata, room.Caller{}, "")) // whom the app named; a number rings first
	end, err := c.hold(ctx)
	c.finish(ctx, end, err)
	return err
}

// hold joins the room and attends to it until the call is over.
func (c *call) hold(ctx context.Context) (turn.End, error) {
	r, err := room.Join(ctx, room.Config{
		URL: c.assignment.URL, Token: c.assignment.Token,
		APIKey: c.worker.cfg.APIKey, APISecret: c.worker.cfg.APISecret, Log: c.log,
	})
	if err != nil {
		c.book.Append(c.started())
		return c.onBroken(err), err
	}
	c.room = r
	c.book.show = newCaptions(r, c.log)
	c.messages, c.talked = make(chan turn.Message, 16), make(chan talkOver, 1)
	c.roomOver, c.broken, c.passed = make(chan error, 1), make(chan error, 4), make(chan error, 1)
	life := context.WithoutCancel(ctx) // the room outlives the order to end: finish leaves it
	c.beside("room", func() { c.roomOver <- r.Run(life) })
	c.beside("captions", func() { c.book.show.run(life) })
	end := c.attend(ctx)
	if end == endError && c.lost == nil {
		c.lost = errors.New("the conversation ended as an error") // which its log tells
	}
	return end, c.lost
}

// attend is the call's one select: what happens in the room, and the clocks.
func (c *call) attend(ctx context.Context) turn.End {
	if c.isAnother() {
		c.book.Append(c.started())
		return endNoAnswer
	}
	patience := time.NewTimer(c.worker.cfg.Absent)
	defer patience.Stop()
	done, events := ctx.Done(), c.room.Events()
	var reason <-chan time.Time // until when a termination waits for its reason
	var ending <-chan struct{}  // the process ends its calls, when ctx cannot tell any more
	for {
		var over *turn.End
		select {
		case talk := <-c.talked:
			if talk.err != nil {
				return c.onBroken(talk.err)
			}
			return talk.end
		case <-done:
			done = nil
			if errors.Is(context.Cause(ctx), dispatch.ErrTerminated) {
				reason, ending = time.After(reasonWithin), c.worker.ending
				break
			}
			over = c.order(context.Cause(ctx), patience)
		case <-ending:
			ending = nil
			over = c.order(c.worker.why, patience)
		case names := <-c.held.Offered():
			c.send(turn.Offered{Tools: names})
		case p := <-c.passings:
			c.passOn(ctx, p)
		case err := <-c.passed:
			over = c.onPassed(err)
		case <-c.appGone():
			over = c.onDetached(patience)
		case <-reason:
			over = c.onTermination()
		case <-patience.C:
			over = c.outOfPatience()
		case err := <-c.broken:
			over = new(c.onBroken(err))
		case ev, ok := <-events:
			if ok {
				over = c.onEvent(ctx, ev, patience)
				break
			}
			if events = nil; !c.closed { // it ended without a word that it is closed
				over = new(c.onBroken(cmp.Or(<-c.roomOver, errNoRoom)))
			}
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

// isAnother tells whether the room is another one of the same name: that of the
// job was gone before the agent came, and LiveKit made one for the agent.
func (c *call) isAnother() bool {
	want, got := c.assignment.RoomSID, c.room.SID()
	if want == "" || got == "" || want == got {
		return false
	}
	c.log.Warn("the job's room was gone before the agent came", zap.String("room", c.assignment.Room))
	return true
}

// goodbyeWithin bounds the closing phrase of a call that we end.
const goodbyeWithin = 10 * time.Second

// order takes an order to end from outside the room. The conversation may say
// goodbye first, when there is somebody to say it to and the end is ours.
func (c *call) order(cause error, patience *time.Timer) *turn.End {
	end := endOf(cause)
	if c.ordered != nil && end == endDrained && !errors.Is(cause, errNow) {
		return nil // it says goodbye already
	}
	if !c.greeted || c.ordered != nil || end.Reason != endDrained.Reason || errors.Is(cause, errNow) {
		return &end
	}
	return c.bid(end, patience)
}

// bid has the conversation say goodbye, for a while at most.
func (c *call) bid(end turn.End, patience *time.Timer) *turn.End {
	c.ordered = &end
	c.send(turn.Dismissed{End: end})
	patience.Reset(goodbyeWithin)
	return nil
}

// reasonWithin is how long a termination waits for the room to tell why: LiveKit
// terminates a job whenever its agent's participant ends, without saying how.
const reasonWithin = 500 * time.Millisecond

// onTermination ends a call whose job was terminated, unless that only echoes
// that our own connection was made anew: the participant before it ended then.
// Who means it removes the agent from the room 3 s later.
func (c *call) onTermination() *turn.End {
	if c.room.Renewed(renewedWithin) {
		c.log.Info("job terminated by our own reconnect: the call goes on")
		return nil
	}
	c.terminated = true
	return new(endSupervisor)
}

// renewedWithin is how long after our own reconnect a termination is its echo.
const renewedWithin = 10 * time.Second

// outOfPatience: nobody came, who left has not come back, or the goodbye does
// not end.
func (c *call) outOfPatience() *turn.End {
	switch {
	case c.ordered != nil:
		return c.ordered
	case c.caller == nil:
		return new(endNoAnswer)
	}
	return new(endOfGone(c.dialling()))
}

// onEvent takes one event of the room, and says when it ends the call.
func (c *call) onEvent(ctx context.Context, ev room.Event, patience *time.Timer) *turn.End {
	switch ev := ev.(type) {
	case room.CallerJoined:
		patience.Stop()
		c.meet(ev.Caller)
		if err := c.talk(ctx); err != nil {
			return new(c.onBroken(err))
		}
		c.greet()
	case room.CallerReturned:
		patience.Stop()
		c.meet(ev.Caller)
		c.gone = false
	case room.AttributesChanged:
		c.meet(ev.Caller)
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
		if c.passing != nil && ev.Reason != "ROOM_DELETED" { // as one does who was taken
			patience.Reset(leftWithin)
			return nil
		}
		if end := endOfLeaving(ev, c.dialling()); end != nil {
			return end
		}
		c.log.Info("caller's line broke", zap.String("reason", ev.Reason))
		patience.Reset(c.worker.cfg.Return)
	case room.RoomClosed:
		c.closed = true
		return new(c.onClosed(ev.Reason))
	}
	return nil
}

// onClosed tells how a call whose room is gone ends.
func (c *call) onClosed(reason string) turn.End {
	if c.gone {
		return endOfGone(c.dialling())
	}
	if end := endOfRoom(reason, c.caller != nil); end != endError {
		return end
	}
	return c.onBroken(fmt.Errorf("lose room: %s", reason))
}

// meet notes what is known of the caller now.
func (c *call) meet(caller room.Caller) {
	c.caller = &caller
	switch caller.SIP.Status {
	case "", "automation", "active":
		c.answered = true
	}
}

// dialling tells whether we called somebody who has not answered yet.
func (c *call) dialling() bool { return c.caller != nil && c.caller.SIP.Outbound && !c.answered }

// talk starts the conversation with the caller who came.
func (c *call) talk(ctx context.Context) error {
	c.held = c.worker.cfg.Apps.Hold(c.served.Agent.Name, c.id)
	started := c.started()
	c.book.Append(started)
	cfg := c.served.Agent.conversation()
	cfg.Org, cfg.Contact, cfg.Clips = c.worker.cfg.Org, started.Contact, c.served.Clips
	cfg.LateLookups, cfg.Written = c.served.LateLookups, written(*c.caller)
	cfg.Timing.LookupBudget, cfg.Timing.WrittenBudget = c.served.LookupBudget, c.served.WrittenBudget
	ports := turn.Ports{
		Detector: c.served.Detector(), Recogniser: c.served.Recogniser, Model: c.served.Model, Voice: c.served.Voice,
		Mouth: c.room, Searcher: c.served.Searcher, Analyser: c.served.Analyser, Log: c.book,
	}
	if r := c.recollect(ctx, started.Contact); r != nil {
		ports.Recaller = r
	}
	if c.held != nil {
		cfg.Tools, ports.Toolbox = c.held.Tools(), c.held
	}
	conversation, err := turn.New(cfg, ports, c.log)
	if err != nil {
		return fmt.Errorf("start conversation: %w", err)
	}
	talk, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // attend ends it, with the reason
	c.stopTalk, c.talking = stop, true
	c.beside("conversation", func() {
		var over talkOver
		over.err = crew.Guard(func() error {
			over.end = conversation.Run(talk, c.room.Audio(), c.messages)
			return nil
		})
		c.book.tally.dropped(conversation.Dropped())
		c.worker.abandoned.Add(conversation.Abandoned())
		c.talked <- over
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
	for _, tool := range c.held.Tools() {
		ev.Tools = append(ev.Tools, tool.Name)
	}
	ev.Participant = c.caller.Identity
	if written(*c.caller) {
		ev.Medium = "text"
	}
	ev.Contact = contactOf(c.metadata, *c.caller, c.worker.cfg.Region)
	if c.caller.Kind == kindSIP {
		ev.Channel = "phone"
		if c.caller.SIP.Outbound {
			ev.Direction = "outbound"
		}
	}
	return ev
}
