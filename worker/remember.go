package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
)

// defaultRememberBudget is what a hang-up may cost until its call is sealed.
const defaultRememberBudget = 8 * time.Second

// pageOfTurns is how many entries of a log are read at once.
const pageOfTurns = 1000

// Learner finds out what a call taught, as memory.Learn does with a model and an
// embedder. It returns when ctx ends, with an error.
type Learner interface {
	Learn(ctx context.Context, l memory.Lesson) (memory.Learned, error)
}

// notes is a call's log, as far as remembering needs it.
type notes interface {
	turn.Log
	Remember(ops turn.MemoryOps, w memory.Writing)
}

// errNothingToLearn means that a call is not remembered at all, and says nothing of it.
var errNothingToLearn = errors.New("nothing to learn from this call")

// rememberCall keeps what the call taught, between call.ended and call.summary.
// It fails by an entry in the log, and never longer than the budget.
func (w *Worker) rememberCall(ctx context.Context, served Served, call string, log notes) error {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.RememberBudget, fmt.Errorf("not remembered within %v", w.cfg.RememberBudget))
	defer cancel()
	learned, err := w.learnWithin(ctx, served, call)
	if learned.Use != nil {
		log.Append(turn.MetricsOf(*learned.Use))
	}
	if errors.Is(err, errNothingToLearn) {
		return nil
	}
	if err != nil {
		return err
	}
	ops := turn.Remembered(learned.Writing)
	ops.Refused, ops.TookMS = learned.Refused, float64(time.Since(began).Microseconds())/1000
	log.Remember(ops, learned.Writing)
	return nil
}

// rememberOrSay is rememberCall, with the failure told in the log.
func (w *Worker) rememberOrSay(ctx context.Context, served Served, call string, log notes) {
	if !served.remembers() {
		return
	}
	if err := w.rememberCall(ctx, served, call, log); err != nil {
		w.log.Warn("call not remembered", zap.String("call", call), zap.Error(err))
		log.Append(turn.Failure{Code: turn.CodeRememberFailed, Message: err.Error(), Recoverable: true})
	}
}

// remembers tells whether the agent keeps what its calls teach.
func (s Served) remembers() bool { return s.Agent.Remembers() && s.Learner != nil }

// learnWithin is learn, left behind when it does not return with its context.
func (w *Worker) learnWithin(ctx context.Context, served Served, call string) (memory.Learned, error) {
	type outcome struct {
		learned memory.Learned
		err     error
	}
	outcomes := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				w.log.Error("remembering panicked", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
				o.err = fmt.Errorf("remember call: panic: %v", p)
			}
			outcomes <- o
		}()
		o.learned, o.err = w.learn(ctx, served, call)
	}()
	select {
	case o := <-outcomes:
		return o.learned, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-outcomes: // both in the same instant, or it heeds its context
		if o.err == nil {
			return o.learned, nil
		}
		return memory.Learned{Use: o.learned.Use}, context.Cause(ctx)
	case <-time.After(leaveBehind):
		w.abandoned.Add(1)
	}
	return memory.Learned{}, context.Cause(ctx)
}

// leaveBehind is how long somebody may take to notice that its context ended.
const leaveBehind = 100 * time.Millisecond

// learn asks what a call taught, unless nobody was on the line, nobody said a
// word, or the org may keep no more.
func (w *Worker) learn(ctx context.Context, served Served, call string) (memory.Learned, error) {
	lesson, err := w.lesson(ctx, served, call)
	if err != nil {
		return memory.Learned{}, err
	}
	if lesson.Room, err = w.memoryRoom(ctx, served.Agent.Name, call); err != nil {
		return memory.Learned{}, err
	}
	if lesson.Current, err = w.cfg.Facts.Current(ctx, w.cfg.Org, lesson.Contact); err != nil {
		return memory.Learned{}, fmt.Errorf("read what is held: %w", err)
	}
	learned, err := served.Learner.Learn(ctx, lesson)
	if err != nil {
		return memory.Learned{Use: learned.Use}, fmt.Errorf("learn from the call: %w", err)
	}
	return learned, nil
}

// lesson reads the call back from its log.
func (w *Worker) lesson(ctx context.Context, served Served, call string) (memory.Lesson, error) {
	lesson := memory.Lesson{
		Org: w.cfg.Org, Call: call, At: time.UnixMicro(time.Now().UnixMicro()), Policy: *served.Agent.Memory,
		Tools: served.Agent.Tools(), Prompt: served.Agent.prompt(), Language: served.Agent.Language,
	}
	for after := int64(0); ; {
		page, err := w.book.Read(ctx, call, after, pageOfTurns)
		if err != nil {
			return lesson, fmt.Errorf("read the call back: %w", err)
		}
		for _, entry := range page.Entries {
			takeEntry(&lesson, entry)
			after = entry.Seq
		}
		if len(page.Entries) < pageOfTurns {
			break
		}
	}
	if lesson.Contact == "" || lesson.Empty() {
		return lesson, errNothingToLearn
	}
	return lesson, nil
}

// takeEntry adds what an entry says to a lesson. Keys are no words.
func takeEntry(l *memory.Lesson, entry turn.Entry) {
	switch entry.Type {
	case turn.CallStarted{}.EventType():
		started, ok := payload[turn.CallStarted](entry)
		if ok && started.Contact != nil {
			l.Contact = started.Contact.ID
		}
		nameTools(l, started.Tools...) // an app's too: no fact is about one
	case turn.TurnUser{}.EventType():
		user, ok := payload[turn.TurnUser](entry)
		if !ok || user.Medium == "dtmf" {
			return
		}
		l.Turns = slices.DeleteFunc(l.Turns, func(s memory.Said) bool { return user.Supersedes != "" && s.Turn == string(user.Supersedes) })
		l.Turns = append(l.Turns, memory.Said{Turn: string(user.SpeechID), Text: user.Text})
	case turn.ToolCalled{}.EventType(): // older logs name no others
		if called, ok := payload[turn.ToolCalled](entry); ok {
			nameTools(l, called.Name)
		}
	case turn.TurnAgent{}.EventType():
		if agent, ok := payload[turn.TurnAgent](entry); ok && agent.Text != "" {
			l.Turns = append(l.Turns, memory.Said{Turn: string(agent.SpeechID), Agent: true, Text: agent.Text})
		}
	}
}

func nameTools(l *memory.Lesson, names ...string) {
	for _, name := range names {
		if !slices.Contains(l.Tools, name) {
			l.Tools = append(l.Tools, name)
		}
	}
}

// payload reads an entry of a known type; one of another shape is none.
func payload[E turn.Event](entry turn.Entry) (E, bool) {
	var ev E
	err := json.Unmarshal(entry.Data, &ev)
	return ev, err == nil
}

// memoryRoom is how many facts more the org may hold; nil is any number. Where
// there is no room no model is asked, and the agent's own log says why.
func (w *Worker) memoryRoom(ctx context.Context, agent, call string) (*int, error) {
	if w.cfg.MemoryQuota == nil {
		return nil, nil
	}
	most, err := w.cfg.MemoryQuota(ctx, w.cfg.Org)
	if err != nil || most == nil {
		return nil, err
	}
	holds, err := w.cfg.Facts.Count(ctx, w.cfg.Org)
	if err != nil || holds < *most {
		return new(*most - holds), err
	}
	log, err := w.book.BeginAgent(ctx, agent)
	if err != nil {
		return nil, fmt.Errorf("tell that the memory is full: %w", err)
	}
	log.Append(turn.CreditsExhausted{Quota: "memory_facts", Limit: *most, Holds: holds, CallID: call})
	return new(0), nil
}

// rememberLeft remembers the calls that a dead worker left before it could, one
// after the other, until ctx ends. One that is cut off is left to the next start.
func (w *Worker) rememberLeft(ctx context.Context) {
	for log := range w.book.Left(ctx) {
		served, ok := w.agentOf(jobMetadata{Agent: log.Agent()})
		if ok {
			w.rememberOrSay(ctx, served, log.Name(), leftNotes{observedLog{log, w.cfg.Observe}, ctx})
		}
		if ctx.Err() != nil {
			return
		}
		log.Seal()
		w.log.Info("call of a dead worker remembered", zap.String("call", log.Name()))
	}
}

// leftNotes takes no failure that is only the end of this process.
type leftNotes struct {
	observedLog
	over context.Context
}

// Append implements turn.Log.
func (n leftNotes) Append(ev turn.Event) {
	if _, failed := ev.(turn.Failure); failed && n.over.Err() != nil {
		return
	}
	n.observedLog.Append(ev)
}
