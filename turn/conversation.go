package turn

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/turn/crew"
	"headstart/turn/llm"
	"headstart/turn/stt"
	"headstart/turn/vad"
)

// Analyser tells what a caller's words are worth to a search.
type Analyser interface {
	// Content is the content words, folded and stemmed, in order: what has to
	// change before a lookup starts again.
	Content(text string) []string
	// WorthEarly tells whether an interim is worth a query.
	WorthEarly(text string) bool
	// Worth tells whether a committed turn is worth one.
	Worth(text string) bool
}

// Detector tells speech from silence in the caller's audio.
type Detector interface {
	// Write takes 16 kHz mono audio and returns the edges found in it, on the
	// clock of the audio written so far.
	Write(pcm []int16) []vad.Edge
	// LastVoiced is the last moment that had voice in it, on the same clock.
	LastVoiced() time.Duration
}

// Ports are what a conversation hears with, looks up with and speaks with.
// Recaller and Searcher may be nil: then there is no such lookup; without a Toolbox the
// model is offered no tools of an app.
type Ports struct {
	Detector   Detector
	Recogniser Recogniser
	Model      Model
	Voice      Voice
	Mouth      Mouth
	Searcher   Searcher
	Recaller   Recaller
	Toolbox    Toolbox
	Analyser   Analyser
	Log        Log
}

// Conversation is one call as the agent has it: it hears, looks up, decides
// when to speak, and speaks. Run owns every goroutine of it.
type Conversation struct {
	cfg   Config
	ports Ports
	log   *zap.Logger

	occurrences chan occurrence
	began       time.Time

	// Touched by Run's goroutine only.
	state   *state
	lookups map[int]context.CancelCauseFunc
	tools   map[int]context.CancelCauseFunc
	replies map[int]speaking
	flushes chan struct{}

	workers   sync.WaitGroup
	over      chan struct{} // closed when nobody reads occurrences any more
	abandoned counter       // workers that did not end in time
	dropped   counter       // frames of audio that the recogniser had no room for
}

// speaking is a reply that runs.
type speaking struct {
	stop   context.CancelCauseFunc
	player *player
}

// New prepares a conversation; nothing happens before Run.
func New(cfg Config, ports Ports, log *zap.Logger) (*Conversation, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if ports.Searcher == nil {
		cfg.Bases, cfg.ToolBases = nil, nil
	}
	if ports.Toolbox == nil {
		cfg.Tools = nil
	}
	return &Conversation{
		cfg: cfg, ports: ports, log: log.Named("turn"),
		occurrences: make(chan occurrence, 256),
		state:       newState(cfg, ports.Analyser, ports.Recaller != nil),
		lookups:     map[int]context.CancelCauseFunc{},
		tools:       map[int]context.CancelCauseFunc{},
		replies:     map[int]speaking{},
		flushes:     make(chan struct{}, 1),
		over:        make(chan struct{}),
	}, nil
}

// Message is something that reaches the conversation other than sound.
type Message interface{ occurrence() occurrence }

// Subscribed says that the caller hears us: the greeting may begin.
type Subscribed struct{}

// Typed is a written message of the caller.
type Typed struct{ Text string }

// Pressed is a key of the caller's telephone: "0" to "9", "*", "#", "A" to "D".
type Pressed struct{ Digit string }

// Dismissed ends the conversation with a closing phrase.
type Dismissed struct{ End End }

func (Subscribed) occurrence() occurrence  { return began{} }
func (m Typed) occurrence() occurrence     { return typed{m.Text} }
func (m Pressed) occurrence() occurrence   { return pressed{m.Digit} }
func (m Dismissed) occurrence() occurrence { return dismissed{m.End} }

// Run holds the conversation until ctx ends, whose cause may be an End that
// says why, or until the conversation ends itself. Nothing of it lives after
// Run returned, and nothing is spoken after that. A panic, of the loop or of a
// worker, ends it as an error.
func (c *Conversation) Run(ctx context.Context, audio <-chan []int16, messages <-chan Message) End {
	c.began = time.Now()
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	sound := make(chan stt.Input, 100)
	c.work(func() { c.listen(work, audio, sound) })
	c.work(func() { c.recognise(work, sound) })
	c.work(func() { c.relay(work, messages) })
	var end End
	if p := crew.In(crew.Guard(func() error { end = c.loop(ctx); return nil })); p != nil {
		c.tellPanic(p)
		end = End{Reason: "error", By: "platform"}
		c.ports.Log.Append(panicked)
	}
	stop(end)
	c.drain()
	return end
}

// Abandoned is how many workers of the conversation did not end in time, and
// were left behind.
func (c *Conversation) Abandoned() int64 { return c.abandoned.load() }

// Dropped is how many frames of the caller's audio found no room on their way
// to the recogniser.
func (c *Conversation) Dropped() int64 { return c.dropped.load() }

// loop owns the one select: it feeds occurrences to the step and performs what
// the step asks for. Nothing in it blocks.
func (c *Conversation) loop(ctx context.Context) End {
	timer := time.NewTimer(0)
	defer timer.Stop()
	done := ctx.Done()
	for {
		timer.Reset(c.untilDeadline())
		var o occurrence
		select {
		case o = <-c.occurrences:
		case <-timer.C:
			o = ticked{}
		case <-done:
			done = nil
			o = closed{endOf(ctx)}
		}
		c.settle(o)
		var end *End
		for _, a := range c.state.step(time.Since(c.began), o) {
			if l, ok := a.(leave); ok {
				end = &l.end
			}
			c.perform(ctx, a)
		}
		if end != nil {
			return *end
		}
	}
}

// settle lets go of what has ended.
func (c *Conversation) settle(o occurrence) {
	switch o := o.(type) {
	case found:
		if cancel, ok := c.lookups[o.id]; ok {
			cancel(nil)
			delete(c.lookups, o.id)
		}
	case returned:
		if cancel, ok := c.tools[o.id]; ok {
			cancel(nil)
			delete(c.tools, o.id)
		}
	case finished:
		if r, ok := c.replies[o.id]; ok {
			r.stop(nil)
			delete(c.replies, o.id)
		}
	}
}

// untilDeadline is how long the state can be left alone.
func (c *Conversation) untilDeadline() time.Duration {
	at := c.state.nextDeadline()
	if at == never {
		return time.Hour
	}
	return max(0, at-time.Since(c.began))
}

// endOf reads why a call was ended from outside.
func endOf(ctx context.Context) End {
	if end, ok := errors.AsType[End](context.Cause(ctx)); ok {
		return end
	}
	return End{Reason: "error", By: "platform"}
}

func (c *Conversation) perform(ctx context.Context, a action) {
	switch a := a.(type) {
	case record:
		c.ports.Log.Append(a.event)
	case look:
		lookCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // ended by drop or by drain: the step decides
		c.lookups[a.id] = cancel
		c.work(func() { c.lookUp(lookCtx, a) })
	case drop:
		if cancel, ok := c.lookups[a.id]; ok {
			cancel(a.cause)
			delete(c.lookups, a.id)
		}
	case speak:
		replyCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // ended by hush or by drain: the step decides
		sp := newSpeech(a, c.ports, c.cfg.Says)
		sp.report = c.reporter(a.id)
		sp.called = func(calls []llm.ToolCall, said bool) { c.hand(called{a.id, calls, said}) }
		c.replies[a.id] = speaking{cancel, sp.player}
		c.work(func() { c.hand(finished{a.id, sp.run(replyCtx)}) })
	case run:
		c.runTool(ctx, a)
	case quit:
		if cancel, ok := c.tools[a.id]; ok {
			cancel(a.cause)
			delete(c.tools, a.id)
		}
	case hold:
		if r, ok := c.replies[a.id]; ok {
			r.player.hold()
		}
	case release:
		if r, ok := c.replies[a.id]; ok {
			r.player.release()
		}
	case hush:
		if r, ok := c.replies[a.id]; ok {
			r.stop(a.cause)
			delete(c.replies, a.id)
		}
	case warm:
		c.warm(ctx)
	case inform:
		close(a.said)
	case flush:
		select {
		case c.flushes <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// Warmer is a model, a voice or a searcher that can open its connection before it is
// needed. Warm does nothing when one is open already.
type Warmer interface {
	Warm(ctx context.Context) error
}

// warm opens the connections that the next answer will need. One that cannot be
// opened is no failure yet: the answer will tell.
func (c *Conversation) warm(ctx context.Context) {
	for _, provider := range []any{c.ports.Model, c.ports.Voice, c.ports.Searcher} {
		w, ok := provider.(Warmer)
		if !ok {
			continue
		}
		c.work(func() {
			if err := w.Warm(ctx); err != nil && ctx.Err() == nil {
				c.log.Debug("connection not opened ahead", zap.Error(err))
			}
		})
	}
}

// lookUp runs one lookup and hands in what came of it.
func (c *Conversation) lookUp(ctx context.Context, l look) {
	var out findings
	if l.kind == search {
		out.docs, out.err = c.ports.Searcher.Search(ctx, retrieval.Query{Org: c.cfg.Org, Text: l.query, Bases: l.bases, Before: l.before, Written: l.written})
	} else {
		out.memory, out.err = c.ports.Recaller.Recall(ctx, memory.Query{Text: l.query, Before: l.before})
	}
	c.hand(found{l.id, out})
}

// runTool runs one call of a tool and hands in what came of it.
func (c *Conversation) runTool(ctx context.Context, a run) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // ended by quit, its timeout, or drain: the step decides
	c.tools[a.id] = cancel
	c.work(func() {
		ctx, expire := context.WithTimeoutCause(ctx, a.timeout, errToolLate)
		defer expire()
		out, err := c.ports.Toolbox.Call(ctx, a.call)
		c.hand(returned{a.id, out, err})
	})
}

// work runs a worker of the conversation. One that panics ends the conversation,
// and no other: the loop hears of it.
func (c *Conversation) work(do func()) {
	c.workers.Go(func() {
		if p := crew.In(crew.Guard(func() error { do(); return nil })); p != nil {
			c.tellPanic(p)
			c.hand(burst{})
		}
	})
}

// panicked is what the log says of a panic.
var panicked = Failure{Code: CodePanic, Message: "internal error"}

func (c *Conversation) tellPanic(p *crew.Panic) {
	c.log.Error("conversation panicked", zap.Error(p), zap.ByteString("stack", p.Stack))
}

// hand gives an occurrence to the loop, unless that has ended for good.
func (c *Conversation) hand(o occurrence) {
	select {
	case c.occurrences <- o:
	case <-c.over:
	}
}

// reporter tells the loop which stages a reply reaches, each once, and its words.
func (c *Conversation) reporter(id int) func(stage, string) {
	var reached [stageWords]sync.Once // the goroutines of a speech report side by side
	return func(st stage, delta string) {
		tell := func() { c.hand(progressed{id, st, delta}) }
		if st == stageWords {
			tell()
			return
		}
		reached[st].Do(tell)
	}
}

// endWithin bounds the end of the workers: a provider that ignores its context
// must not hold up the end of a call.
const endWithin = 2 * time.Second

// drain cancels what still runs and reads on until every worker has ended, so
// that none of them is left standing before a full channel. What does not end
// in time is left behind, and counted.
func (c *Conversation) drain() {
	for _, cancel := range c.lookups {
		cancel(ErrSuperseded)
	}
	for _, cancel := range c.tools {
		cancel(errConversationOver)
	}
	for _, r := range c.replies {
		r.stop(ErrInterrupted)
	}
	gone := make(chan struct{})
	go func() { c.workers.Wait(); close(gone) }()
	late := time.NewTimer(endWithin)
	defer late.Stop()
	defer close(c.over)
	for {
		select {
		case <-c.occurrences:
		case <-gone:
			return
		case <-late.C:
			c.abandoned.add()
			c.log.Error("conversation left workers behind", zap.Duration("after", endWithin))
			return
		}
	}
}
