package turn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn"
	"headstart/turn/turntest"
)

// clip is a phrase of half a second.
func clip(text string) *turn.Clip {
	return &turn.Clip{Text: text, PCM: make([]int16, 8000), Rate: 16000}
}

// passed makes the bench pass its caller on at a moment, and take them back at
// another, when that is not zero. It returns when the caller had been told.
func (b *bench) passed(at, back time.Duration) (told *time.Duration) {
	said := make(chan struct{})
	told = new(time.Duration)
	go func() {
		time.Sleep(at)
		b.messages <- turn.HandOver{Said: said}
		<-said
		*told = time.Since(b.began)
	}()
	go func() {
		if back != 0 {
			time.Sleep(back)
			b.messages <- turn.Keep{}
		}
	}()
	return told
}

func TestACallerIsPassedOn(t *testing.T) {
	t.Parallel()
	const handover, kept, answer = "Le paso.", "No he podido.", "A las nueve."
	for _, tt := range []struct {
		name     string
		at, back time.Duration
		clips    turn.Clips
		answers  []turntest.Answer
		told     time.Duration // when the phrase was over
		said     []string
		refused  string // why the question got no answer
	}{
		{
			name: "and is told so before anything else is heard", at: seconds(0.5), clips: turn.Clips{Handover: clip(handover)},
			told: seconds(1), said: []string{handover}, refused: "call ended: caller_hung_up by caller",
		},
		{
			name: "by an agent that has nothing to say", at: seconds(0.5),
			told: seconds(0.5), refused: "call ended: caller_hung_up by caller",
		},
		{
			name: "in the middle of its answer", at: seconds(3), clips: turn.Clips{Handover: clip(handover)},
			answers: []turntest.Answer{{Text: long}}, told: seconds(3.5), said: []string{"Primera frase", handover},
		},
		{
			name: "while the model still thinks", at: seconds(3), clips: turn.Clips{Handover: clip(handover)},
			answers: []turntest.Answer{{Text: answer, First: 2 * time.Second}}, told: seconds(3.5), said: []string{handover}, refused: turn.ErrPassedOn.Error(),
		},
		{
			name: "and nobody takes them: what they asked is answered then", at: seconds(0.5), back: seconds(5),
			clips: turn.Clips{Handover: clip(handover), Kept: clip(kept)}, answers: []turntest.Answer{{Text: answer}},
			told: seconds(1), said: []string{handover, kept, answer},
		},
		{
			name: "and nobody takes them before the phrase is over", at: seconds(0.5), back: seconds(0.7),
			clips: turn.Clips{Handover: clip(handover), Kept: clip(kept)}, answers: []turntest.Answer{{Text: answer}},
			told: seconds(1), said: []string{handover, kept, answer},
		},
		{
			name: "and nobody takes them, about which the agent has nothing to say", at: seconds(0.5), back: seconds(5),
			answers: []turntest.Answer{{Text: answer}}, told: seconds(0.5), said: []string{answer},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, tt.answers...))
				b.cfg.Clips = tt.clips
				told := b.passed(tt.at, tt.back)
				b.run(t, 20*time.Second)
				if near(*told, tt.told) {
					t.Fatalf("told at %v, want %v\n%s", *told, tt.told, b.log)
				}
				var said []string
				for _, a := range turntest.All[turn.TurnAgent](b.log) {
					said = append(said, a.Text)
				}
				if diff := cmp.Diff(tt.said, said); diff != "" {
					t.Fatalf("said (-want +got):\n%s\n%s", diff, b.log)
				}
				var reasons []string
				for _, r := range turntest.All[turn.TurnRefused](b.log) {
					reasons = append(reasons, r.Reason)
				}
				if want := nonEmpty(tt.refused); !cmp.Equal(want, reasons) {
					t.Fatalf("refused %q, want %q\n%s", reasons, want, b.log)
				}
			})
		})
	}
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// The ceiling of the call does not cut off who waits for somebody else to answer,
// and comes at once when nobody does; a drain says goodbye all the same.
func TestACallThatEndsWhileItsCallerIsPassedOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		back    time.Duration
		dismiss bool
		want    turn.End
	}{
		{"the ceiling waits", 0, false, turn.End{Reason: "caller_hung_up", By: "caller"}},
		{"and comes when they are kept", seconds(8), false, turn.End{Reason: "timeout", By: "platform"}},
		{"the process ends", 0, true, turn.End{Reason: "drained", By: "platform"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, turntest.Speaks(), turntest.Answers(t))
				b.cfg.Timing.MaxDuration = seconds(5)
				b.cfg.Clips = turn.Clips{Handover: clip("Le paso."), Goodbye: clip("Adiós.")}
				b.passed(seconds(1), tt.back)
				if tt.dismiss {
					go func() {
						time.Sleep(seconds(3))
						b.messages <- turn.Dismissed{End: turn.End{Reason: "drained", By: "platform"}}
					}()
				}
				b.run(t, 20*time.Second)
				if diff := cmp.Diff(tt.want, b.end); diff != "" {
					t.Fatalf("ended (-want +got):\n%s\n%s", diff, b.log)
				}
			})
		})
	}
}
