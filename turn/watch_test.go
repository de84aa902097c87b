package turn_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headstart/turn"
	"headstart/turn/turntest"
)

// watched counts the looks at playback.
type watched struct {
	*turntest.Mouth
	looks atomic.Int64
}

func (m *watched) Played() time.Duration {
	m.looks.Add(1)
	return m.Mouth.Played()
}

// TestAReplyIsLookedAtWhenItMayHaveGotOn: not while the model thinks, then about as
// often as its words are told, and in the frame in which it ends.
func TestAReplyIsLookedAtWhenItMayHaveGotOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := turntest.Answer{Text: strings.Repeat("Los sábados abrimos de nueve a dos. ", 8), First: 4 * time.Second}
		b := newBench(t, turntest.Speaks(same()), turntest.Answers(t, answer))
		mouth := &watched{Mouth: b.mouth}
		b.ports.Mouth = mouth
		b.run(t, 15*time.Second)
		said := turntest.One[turn.TurnAgent](t, b.log)
		if said.Text != strings.TrimSpace(answer.Text) || said.Interrupted {
			t.Fatalf("the caller heard %q, interrupted: %v", said.Text, said.Interrupted)
		}
		sound := b.mouth.Sounds()[0]
		tells := int64(sound.To.Sub(sound.From) / (100 * time.Millisecond))
		if looks := mouth.looks.Load(); looks < tells || looks > 2*tells {
			t.Fatalf("%d looks at %v of speech", looks, sound.To.Sub(sound.From))
		}
		if end := b.began.Add(turntest.When[turn.TurnAgent](t, b.log)); end.Sub(sound.To).Abs() > 20*time.Millisecond {
			t.Fatalf("the end was seen %v after the sound ended", end.Sub(sound.To))
		}
	})
}
