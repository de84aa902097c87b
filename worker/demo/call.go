// Package demo plays the recorded calls against a worker that runs beside it,
// over a real LiveKit server, and measures what the caller got: it is the
// caller, with a stopwatch. It knows nothing of how the worker works; what the
// agent knew it reads in the call's log, as anybody can afterwards.
//
// It fails by returning an error when a call cannot be made at all. A call that
// went wrong is a row that says so.
package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/caller"
	"headstart/worker/room/audio"
)

// Patience of a caller.
const (
	greetingWithin = 15 * time.Second
	answerWithin   = 20 * time.Second
	longestAnswer  = 90 * time.Second
	// silenceEnds is how long the agent must be silent for its turn to be over;
	// between two sentences of a voice it is silent for less.
	silenceEnds = time.Second
	sealWithin  = 15 * time.Second
)

// Logs is where the demo reads what the agent knew.
type Logs interface {
	// Sealed waits for the log of the call in a room to be whole, and returns it.
	Sealed(ctx context.Context, room string) (id string, entries []turn.Entry, err error)
}

// Config says where to call and what to tell while calls go on.
type Config struct {
	URL, APIKey, APISecret string
	AgentName              string            // of explicit dispatch
	Agents                 map[string]string // the agent's slug by language of the call
	Logs                   Logs
	Show                   func(Line) // each thing that is said, as it is heard; may be nil
	Log                    *zap.Logger
}

// Line is one thing that was said in a call.
type Line struct {
	Call, Who, Text string
}

// Play makes one call after the other.
func Play(ctx context.Context, cfg Config, scripts []Script) (Report, error) {
	var report Report
	for _, s := range scripts {
		c := &playing{cfg: cfg, script: s, room: fmt.Sprintf("demo-%s-%d", s.ID, time.Now().UnixMilli())}
		if err := c.play(ctx); err != nil {
			return report, fmt.Errorf("play call %s: %w", s.ID, err)
		}
		report.add(c)
	}
	return report, nil
}

// playing is one call while it is made, and what was measured of it.
type playing struct {
	cfg    Config
	script Script
	room   string

	caller  *caller.Caller
	greeted time.Duration // from dialling to the first sound of the greeting
	said    []said
	trouble []error // what went wrong, in words

	id       string
	entries  []turn.Entry
	heardRMS float64
}

// said is one turn of the caller as it went.
type said struct {
	turn     Turn
	began    time.Time
	ended    time.Time // end of speech: when the last word's frame had left
	answered time.Time // the first sound of the agent after it; zero when none came
}

// play dials, speaks, listens, hangs up and reads the log.
func (p *playing) play(ctx context.Context) error {
	slug, ok := p.cfg.Agents[p.script.Language]
	if !ok {
		return fmt.Errorf("no agent speaks %s", p.script.Language)
	}
	var err error
	p.caller, err = caller.Dial(ctx, caller.Config{
		URL: p.cfg.URL, APIKey: p.cfg.APIKey, APISecret: p.cfg.APISecret, Room: p.room,
		Kind: caller.Phone, Number: p.script.From, Trunk: p.script.To, Name: p.script.From,
		AgentName: p.cfg.AgentName, JobMetadata: fmt.Sprintf(`{"agent":%q}`, slug), Log: p.cfg.Log,
	})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	shown := make(chan struct{})
	go func() { ended <- p.caller.Run(context.WithoutCancel(ctx)) }() // Hangup ends it
	go func() { defer close(shown); p.show() }()

	if err := p.converse(ctx); err != nil {
		p.trouble = append(p.trouble, err)
	}
	p.heardRMS = audio.RMS(caller.PCM(p.caller.Heard(time.Time{}, time.Time{})))
	err = errors.Join(p.caller.Hangup(), <-ended)
	<-shown
	if err != nil {
		p.trouble = append(p.trouble, fmt.Errorf("hang up: %w", err))
	}
	sealing, cancel := context.WithTimeoutCause(ctx, sealWithin, fmt.Errorf("log not sealed %v after the hang-up", sealWithin))
	defer cancel()
	if p.id, p.entries, err = p.cfg.Logs.Sealed(sealing, p.room); err != nil {
		p.trouble = append(p.trouble, err)
	}
	return ctx.Err()
}

// converse says each turn when its moment has come.
func (p *playing) converse(ctx context.Context) error {
	greeting, err := p.sound(ctx, p.caller.Dialed(), greetingWithin)
	if err != nil {
		return fmt.Errorf("hear the greeting: %w", err)
	}
	p.greeted = greeting.Sub(p.caller.Dialed())
	for i, t := range p.script.Turns {
		if err := p.moment(ctx, t); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
		if err := p.say(ctx, t); err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
	}
	return p.silence(ctx)
}

// moment waits until the caller would say the turn.
func (p *playing) moment(ctx context.Context, t Turn) error {
	if t.After != "barge_in" {
		return p.silence(ctx)
	}
	timer := time.NewTimer(time.Duration(t.AfterMS)*time.Millisecond - time.Since(p.said[len(p.said)-1].answered))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

func (p *playing) silence(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longestAnswer, fmt.Errorf("the agent still speaks after %v", longestAnswer))
	defer cancel()
	return p.caller.WaitSilent(ctx, silenceEnds)
}

// say says a turn and waits for the first sound of the answer.
func (p *playing) say(ctx context.Context, t Turn) error {
	began, err := p.caller.Say(ctx, t.pcm, 16000)
	if err != nil {
		return fmt.Errorf("say it: %w", err)
	}
	s := said{turn: t, began: began, ended: began.Add(t.speechEnd())}
	after := s.ended
	if t.After == "barge_in" {
		after = after.Add(bargeTail) // what the network still held of the answer that was cut
	}
	s.answered, err = p.sound(ctx, after, answerWithin)
	p.said = append(p.said, s)
	if err != nil {
		return fmt.Errorf("no answer to %q: %w", t.Text, err)
	}
	return nil
}

// bargeTail is how long after the caller's own last word the answer that was
// cut may still be heard. It was cut seconds before, so this is generous.
const bargeTail = 100 * time.Millisecond

func (p *playing) sound(ctx context.Context, after time.Time, within time.Duration) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no sound within %v", within))
	defer cancel()
	return p.caller.WaitSound(ctx, after)
}

// show tells what is said as the caller's client shows it: the words of both
// sides, once they are final.
func (p *playing) show() {
	for ev := range p.caller.Events() {
		t, ok := ev.(caller.Transcript)
		if !ok || !t.Done || !t.Final || p.cfg.Show == nil {
			continue
		}
		who := "agent"
		if t.Identity == p.caller.Identity() {
			who = "caller"
		}
		p.cfg.Show(Line{Call: p.script.ID, Who: who, Text: strings.TrimSpace(t.Text)})
	}
}
