package worker

import (
	"context"
	"time"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/dispatch"
	"headstart/worker/room"
)

// EndOfLeaving reads why the caller left; nil when they may come back.
func EndOfLeaving(reason string, final, dialling bool) *turn.End {
	return endOfLeaving(room.CallerLeft{Reason: reason, Final: final}, dialling)
}

// EndOfRoom reads why a room is gone.
func EndOfRoom(reason string, came bool) turn.End { return endOfRoom(reason, came) }

// EndOf reads why a call was ended from outside its room.
func EndOf(cause error) turn.End { return endOf(cause) }

// Conversation is what an agent file decides of a conversation.
func Conversation(a Agent) turn.Config { return a.conversation() }

// FinishCall plays the end of a call of which the log holds these events, from
// its hang-up to its seal, on a worker that reached no room. release tells that
// the call's place was given back.
func FinishCall(ctx context.Context, w *Worker, id string, release func(), events ...turn.Event) error {
	journal, err := w.book.Begin(id, w.agents[0].Agent.Name)
	if err != nil {
		return err
	}
	defer journal.Seal()
	c := &call{
		worker: w, served: w.agents[0], id: id, began: time.Now(), release: release, log: w.log,
		assignment: dispatch.Assignment{Done: func(error) {}},
	}
	c.book = newLedger(journal, c.log)
	for _, ev := range events {
		c.book.Append(ev)
	}
	c.finish(ctx, endHungUp, nil)
	return nil
}

// RememberLeft remembers the calls that a dead worker left, until ctx ends.
func (w *Worker) RememberLeft(ctx context.Context) { w.rememberLeft(ctx) }

// Recollection is the recall of one call of a contact, and how it is given up.
func Recollection(ctx context.Context, w *Worker, contact string) (turn.Recaller, func()) {
	c := &call{worker: w, served: w.agents[0]}
	r := c.recollect(ctx, &memory.Contact{ID: contact})
	if r == nil {
		return nil, func() {}
	}
	return r, func() { c.forgetMemory(); c.parts.all.Wait() }
}
