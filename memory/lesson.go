package memory

import (
	"context"
	"fmt"
	"time"

	"headstart/retrieval"
)

// Said is one turn of a call.
type Said struct {
	Turn string // its id, by which a fact cites it
	// Agent marks the agent's own words. They help to understand the caller's and
	// support nothing: what an agent read out of a memory or a document is no source.
	Agent bool
	Text  string // as it was heard, or typed
}

// Lesson is a call that may have taught something about its contact.
type Lesson struct {
	Org, Contact string // of whom; never empty, and never what a model wrote
	Call         string
	At           time.Time // when what it teaches begins to be held
	Language     string    // of the call, as a BCP 47 tag
	Policy       Policy
	Tools        []string // names of the agent's tools: no fact may name one
	Prompt       string   // the agent's instructions: no fact may quote them
	Turns        []Said   // in order
	Current      []Held   // what is held of the contact now
	// Room is how many facts more may be held; nil is any number.
	Room *int
}

// Learned is what came of a lesson.
type Learned struct {
	Writing Writing   // perhaps without changes
	Refused []Refusal // what the model proposed and was not kept, in its order
	Use     *Use      // what the model cost, also where nothing was learned; nil when none was asked
}

// Empty tells whether there is nothing to ask a model: nobody said anything, the
// policy remembers nothing, or there is no room.
func (l Lesson) Empty() bool {
	if len(l.Policy.Remember) == 0 || l.Room != nil && *l.Room <= 0 {
		return true
	}
	for _, s := range l.Turns {
		if !s.Agent && s.Text != "" {
			return false
		}
	}
	return true
}

// leftForWriting is what of a deadline the embedder does not get: facts without
// vectors are worth more than none.
const leftForWriting = 500 * time.Millisecond

// Learn asks a model what a call taught, admits what may be kept, and embeds it.
// An empty lesson asks nobody and has an empty writing. When the embedder fails, or
// has no answer half a second before ctx ends, the facts are kept without vectors:
// their words find them. It fails as the model does, with ErrAnswer, or with the
// cause of ctx; then nothing was learned, and Use alone is told.
func Learn(ctx context.Context, l Lesson, m Model, e retrieval.Embedder) (Learned, error) {
	if l.Empty() {
		return Learned{Writing: l.writing(nil)}, nil
	}
	answer, err := m.Extract(ctx, l.Request())
	spent := Learned{Use: answer.Use}
	if err != nil {
		return spent, fmt.Errorf("ask what the call taught: %w", err)
	}
	proposals, err := ParseAnswer(answer.Text)
	if err != nil {
		return spent, err
	}
	learned := l.Admit(proposals)
	learned.Use = answer.Use
	embedWithin(ctx, e, learned.Writing.Changes)
	if ctx.Err() != nil {
		return spent, fmt.Errorf("embed what the call taught: %w", context.Cause(ctx))
	}
	return learned, nil
}

// embedWithin gives what was added its vectors, if the embedder is in time.
func embedWithin(ctx context.Context, e retrieval.Embedder, changes []Change) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-leftForWriting))
		defer cancel()
	}
	var waiting []*Held
	for i := range changes {
		if changes[i].Op != Invalidate {
			waiting = append(waiting, &changes[i].Fact)
		}
	}
	// What the embedder says is left out: a fact without a vector is embedded when its
	// contact calls next.
	_ = Embed(ctx, e, waiting)
}

func (l Lesson) writing(changes []Change) Writing {
	return Writing{Org: l.Org, Contact: l.Contact, Call: l.Call, At: l.At, Changes: changes}
}
