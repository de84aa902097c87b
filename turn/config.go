package turn

import (
	"errors"
	"fmt"
	"time"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/turn/tts"
)

// Config is how a conversation behaves. The zero value of each field is the
// default that its comment names.
type Config struct {
	// Language is what the agent speaks, as a BCP 47 tag. Default "en".
	Language string
	// Prompt is the static prompt, sent first in every request.
	Prompt string
	// Greeting opens the call. The zero value says nothing.
	Greeting Greeting
	// Org and Bases are what is searched before each turn is answered; without bases
	// nothing is. ToolBases are searched when the model calls the tool search, which it
	// is offered when there are any.
	Org              string
	Bases, ToolBases []retrieval.Attachment
	// Written tells that the caller reads the answers: a conversation in writing. What
	// is typed in it may take longer to look up, be judged by a reranker and be said in
	// other words; it ends when the caller has long written nothing, and has no ceiling.
	// A message typed in a spoken call is none, nor is what is said in this one.
	Written bool
	// Contact is who is on the line, for the log of recalls; nil when nobody is known.
	Contact *memory.Contact
	// Says is how the voice pronounces words; the log never shows it.
	Says []tts.Pronunciation
	// Timing holds the clocks of a turn.
	Timing Timing
	// LateLookups starts lookups at the end of the turn instead of on interims,
	// to measure what the early start is worth.
	LateLookups bool
	// Hangup lets the model end the call: it is offered the tool end_call, whose
	// description says when. Nil, the model cannot hang up.
	Hangup *Hangup
	// Tools are the app's own, run through Ports.Toolbox.
	Tools []Tool
	// KeysLength is how many keys make a turn without a pause or "#"; 0 is no length.
	KeysLength int
	// Clips are phrases that were synthesised before they are needed, so that a
	// dead voice can still speak them.
	Clips Clips
}

// Hangup is when the model may end the call, in the operator's own words. Empty,
// whenever it judges the call done.
type Hangup struct{ When string }

// Greeting is how the agent opens a call: the words themselves, or what the
// model is told before it finds its own. At most one of the two.
type Greeting struct {
	Say   string
	Reply string
	// Interruptible lets the caller cut the opening short. By default a
	// caller's "hello?" over it is heard, and answered after it.
	Interruptible bool
}

// Timing holds the clocks of a turn. Zero means the default in the comment.
type Timing struct {
	MinEndpointing  time.Duration // 300 ms after the end of speech, when the words are final
	MaxEndpointing  time.Duration // 2.5 s, when a final is still owed
	LookupBudget    time.Duration // 250 ms from commit, search and recall together
	WrittenBudget   time.Duration // 3 s, for what is typed in a written conversation
	MinInterruption time.Duration // 500 ms of speech over the agent stop it
	// MinInterruptionWords is how many words, besides, the caller must say. Default 0.
	MinInterruptionWords int
	FalseInterruption    time.Duration // 2 s after a sound that was no interruption, the agent goes on
	Patience             time.Duration // 5 s without a sound of the answer, then a fallback is heard
	Keys                 time.Duration // 4 s after a key of the telephone, the digits are a turn
	Away                 time.Duration // 15 s with both sides silent
	MaxDuration          time.Duration // 600 s, the ceiling of a spoken call
	Idle                 time.Duration // 600 s without a turn of the caller end a written one
}

// lookupGrace is how long after the budget a searcher that was cancelled may
// take to hand in what it has, before the turn goes on without it.
const lookupGrace = 10 * time.Millisecond

func (t Timing) withDefaults() Timing {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.MinEndpointing, 300 * time.Millisecond},
		{&t.MaxEndpointing, 2500 * time.Millisecond},
		{&t.LookupBudget, 250 * time.Millisecond},
		{&t.WrittenBudget, 3 * time.Second},
		{&t.MinInterruption, 500 * time.Millisecond},
		{&t.FalseInterruption, 2 * time.Second},
		{&t.Patience, 5 * time.Second},
		{&t.Keys, 4 * time.Second},
		{&t.Away, 15 * time.Second},
		{&t.MaxDuration, 600 * time.Second},
		{&t.Idle, 600 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return t
}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	var complaints []error
	if c.Greeting.Say != "" && c.Greeting.Reply != "" {
		complaints = append(complaints, errors.New("greeting: say and reply exclude each other"))
	}
	t := c.Timing.withDefaults()
	if t.MinEndpointing < 0 || t.MaxEndpointing < t.MinEndpointing {
		complaints = append(complaints, fmt.Errorf("endpointing: the minimum %v must not be above the maximum %v", t.MinEndpointing, t.MaxEndpointing))
	}
	if t.LookupBudget < 0 || t.WrittenBudget < 0 {
		complaints = append(complaints, fmt.Errorf("lookup budget: %v spoken, %v written: none may be negative", t.LookupBudget, t.WrittenBudget))
	}
	if t.MinInterruptionWords < 0 {
		complaints = append(complaints, fmt.Errorf("min interruption words: %d is negative", t.MinInterruptionWords))
	}
	for _, p := range c.Says {
		if p.Word == "" || p.Spoken == "" {
			complaints = append(complaints, fmt.Errorf("says: %q as %q needs both words", p.Word, p.Spoken))
		}
	}
	complaints = append(complaints, validateTools(c.Tools)...)
	return errors.Join(complaints...)
}
