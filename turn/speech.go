package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headstart/turn/crew"
	"headstart/turn/llm"
	"headstart/turn/tts"
)

// speech makes one reply heard: the model's tokens become clauses, the clauses
// become audio, the audio plays. It runs on its own goroutines while the loop
// goes on, tells the loop what it reaches, and ends soon after its context does.
type speech struct {
	job    speak
	model  Model
	voice  Voice
	says   []tts.Pronunciation
	report func(stage stage, delta string)
	called func(calls []llm.ToolCall, said bool) // the model's answer ended with calls

	script *script // what is to be said, shared by the three
	player *player
}

func newSpeech(job speak, ports Ports, says []tts.Pronunciation) *speech {
	sp := &speech{job: job, model: ports.Model, voice: ports.Voice, says: says, script: newScript()}
	sp.player = newPlayer(sp.script, ports.Mouth, job.held)
	if job.clip != nil {
		sp.script.addClip(job.clip)
	}
	return sp
}

// errBurst is the cause that stops a speech of which a part panicked.
var errBurst = errors.New("panicked")

const (
	// watchEvery is how often playback is looked at until its first frame leaves, so
	// that this is noticed at once. From then on a look each 20 ms is the finest there
	// is to see: the mouth knows no more.
	watchEvery  = 5 * time.Millisecond
	listenEvery = 20 * time.Millisecond
	// showEvery is how often the words that were heard are told, at most: text on
	// a screen need not be finer.
	showEvery = 100 * time.Millisecond
)

// run speaks to the end, or until ctx ends, and tells what was heard.
func (sp *speech) run(ctx context.Context) outcome {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	workers := crew.Crew{Stop: func() { stop(errBurst) }}
	var use *modelUse
	var modelErr, voiceErr, playErr error
	workers.Do(func() {
		use, modelErr = sp.write(work)
		sp.script.endClauses()
	})
	workers.Do(func() {
		if voiceErr = sp.voiceOver(work); voiceErr != nil {
			sp.script.endClauses() // nobody would hear what the model still writes
		}
		sp.script.endAudio()
	})
	workers.Do(func() {
		if playErr = sp.player.run(work); playErr != nil {
			sp.script.breakOff()
		}
	})
	sp.watch(work)
	cancelled := ctx.Err() != nil
	stop(errSpoken) // a ctx that has ended keeps its own cause
	workers.Wait()
	out := sp.outcome(cancelled, use)
	if !cancelled {
		out.code, out.err = firstFailure(playErr, voiceErr, modelErr)
	}
	return out
}

func (sp *speech) outcome(cancelled bool, use *modelUse) outcome {
	out := outcome{heard: sp.player.heard(), model: use}
	if use != nil {
		out.calls = use.result.ToolCalls
	}
	out.text, out.whole = sp.script.heardText(out.heard)
	out.whole = out.whole && !cancelled
	return out
}

// firstFailure names what broke a speech: the end of the line first, since
// what is before it then fails in its wake.
func firstFailure(play, voice, model error) (code string, err error) {
	switch {
	case play != nil:
		return CodeRoom, play
	case voice != nil:
		return CodeTTS, voice
	case model != nil:
		return CodeLLM, model
	}
	return "", nil
}

// write puts what is to be said into the script, clause by clause.
func (sp *speech) write(ctx context.Context) (*modelUse, error) {
	split := tts.NewClauses(tts.Options{Says: sp.says, FirstClause: tts.TakesFragments(sp.voice)})
	switch {
	case sp.job.clip != nil:
		return nil, nil
	case sp.job.say != "":
		sp.addClauses(split.Write(sp.job.say))
		sp.addClauses(split.Flush())
		return nil, nil
	}
	use, err := sp.ask(ctx, split)
	sp.addClauses(split.Flush())
	if calls := use.result.ToolCalls; err == nil && len(calls) > 0 {
		sp.called(calls, sp.script.saysAnything())
	}
	if err == nil && !sp.script.saysAnything() && len(use.result.ToolCalls) == 0 {
		err = errors.New("ask model: the answer has nothing that can be spoken")
	}
	return use, err
}

// ask streams the model's answer into the script. A request that failed before
// its first token, and may be made again, is made once more.
func (sp *speech) ask(ctx context.Context, split *tts.Clauses) (*modelUse, error) {
	use := &modelUse{}
	began := time.Now()
	said := 0
	emit := func(text string) {
		if said == 0 {
			use.ttft = time.Since(began)
			sp.report(stageToken, "")
		}
		said += len(text)
		sp.addClauses(split.Write(text))
	}
	result, err := sp.model.Reply(ctx, sp.job.request, emit)
	if err != nil && said == 0 && mayRetry(ctx, err) {
		result, err = sp.model.Reply(ctx, sp.job.request, emit)
	}
	use.took, use.result = time.Since(began), result
	use.cancelled = ctx.Err() != nil
	use.count(sp.job.request, said)
	if err != nil {
		return use, fmt.Errorf("ask model: %w", err)
	}
	return use, nil
}

func (sp *speech) addClauses(clauses []tts.Clause) {
	for _, c := range clauses {
		if sp.script.add(c) {
			sp.report(stageClause, "")
		}
	}
}

// voiceOver has the clauses said. A voice that failed before it gave any sound
// of a clause, and may be asked again, is asked once more from that clause on.
func (sp *speech) voiceOver(ctx context.Context) error {
	if sp.job.clip != nil {
		return nil
	}
	err := sp.attempt(ctx, 0)
	if err != nil && mayRetry(ctx, err) {
		if next, clean := sp.script.firstSilent(); clean {
			err = sp.attempt(ctx, next)
		}
	}
	if err != nil {
		return fmt.Errorf("synthesise: %w", err)
	}
	return nil
}

// attempt runs the voice over the clauses from one on.
func (sp *speech) attempt(ctx context.Context, from int) error {
	ctx, stop := context.WithCancelCause(ctx)
	feed := make(chan string)
	feeder := crew.Crew{Stop: func() { stop(errBurst) }}
	feeder.Do(func() { sp.script.feed(ctx, from, feed) })
	err := sp.voice.Speak(ctx, feed, func(a tts.Audio) error {
		a.Clause += from
		if sp.script.addAudio(a, sp.voice.Rate()) {
			sp.report(stageByte, "")
		}
		return context.Cause(ctx)
	})
	stop(nil)
	feeder.Wait()
	return err
}

// watch follows playback until all of it was heard, or ctx ends. It looks when there may
// be something to see: a look wakes a process that sleeps.
func (sp *speech) watch(ctx context.Context) {
	if !sp.awaitPlayback(ctx) {
		return
	}
	look := time.NewTimer(0)
	defer look.Stop()
	told, shown, sounding := 0, time.Duration(0), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		heard := sp.player.heard()
		over := sp.script.over(heard)
		if heard > 0 && !sounding {
			sounding = true
			sp.report(stageSounding, "")
		}
		if heard-shown >= showEvery || told == 0 || over {
			if delta := sp.script.reached(heard, told); delta != "" {
				sp.report(stageWords, delta)
				told, shown = told+len(delta), heard
			}
		}
		if over {
			return
		}
		if !sounding {
			look.Reset(watchEvery)
			continue
		}
		look.Reset(max(min(sp.script.left(heard), shown+showEvery-heard), listenEvery))
	}
}

// awaitPlayback waits until there is something to hear, or there never will be.
func (sp *speech) awaitPlayback(ctx context.Context) bool {
	if !sp.script.awaitSound(ctx) {
		return false
	}
	return sp.script.over(0) || sp.player.awaitRelease(ctx)
}

// mayRetry asks an error whether doing the same again may help. One that ran
// into a deadline has cost the caller enough silence already.
func mayRetry(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var r interface{ Retryable() bool }
	return errors.As(err, &r) && r.Retryable()
}

// count estimates the tokens of an answer that told none.
func (u *modelUse) count(req llm.Request, said int) {
	if u.result.Usage == (llm.Usage{}) {
		u.estimated, u.result.Usage = true, estimate(req, said)
	}
}

// estimate counts tokens for a stream that told no usage: four bytes a token.
func estimate(req llm.Request, said int) llm.Usage {
	asked := 0
	for _, m := range req.Messages {
		asked += len(m.Content)
	}
	return llm.Usage{PromptTokens: (asked + 3) / 4, CompletionTokens: (said + 3) / 4}
}
