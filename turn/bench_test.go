package turn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/turn"
	"headstart/turn/turntest"
)

// bench is a conversation with every fake in place; a test changes what it is about.
type bench struct {
	cfg        turn.Config
	log        *turntest.Log
	mouth      *turntest.Mouth
	voice      *turntest.Voice
	recogniser *turntest.Recogniser
	ports      turn.Ports
	messages   chan turn.Message
	began      time.Time
	end        turn.End
	abandoned  int64
}

func newBench(t *testing.T, caller *turntest.Caller, model turn.Model) *bench {
	b := &bench{
		log: turntest.NewLog(), mouth: &turntest.Mouth{}, voice: &turntest.Voice{},
		recogniser: caller.Recogniser(), messages: make(chan turn.Message, 16), began: time.Now(),
	}
	b.cfg = turn.Config{
		Language: "es", Prompt: "be brief", Org: "default",
		Bases: []retrieval.Attachment{{Base: "clinica"}},
	}
	b.ports = turn.Ports{
		Detector: caller.Detector(), Recogniser: b.recogniser, Model: model, Voice: b.voice, Mouth: b.mouth,
		Searcher: &turntest.Searcher{Result: onePassage}, Analyser: turntest.Analyser{}, Log: b.log,
	}
	return b
}

var onePassage = retrieval.Result{
	Passages: []retrieval.Passage{{ID: "c1", Base: "clinica", Path: "horarios.md", Heading: "Horarios", Text: "Abrimos a las nueve.", Score: 1}},
	Evidence: retrieval.EvidenceStrong, Cosine: 0.7, Branches: []retrieval.Branch{retrieval.Words, retrieval.Vectors},
}

// run holds the conversation for so long, in virtual time, then the caller hangs up.
func (b *bench) run(t *testing.T, length time.Duration) {
	t.Helper()
	conversation, err := turn.New(b.cfg, b.ports, zap.NewNop())
	if err != nil {
		t.Fatalf("new conversation: %v", err)
	}
	ctx, hangUp := context.WithCancelCause(t.Context())
	audio := make(chan []int16, 8)
	go turntest.Audio(ctx, audio)
	b.messages <- turn.Subscribed{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.end = conversation.Run(ctx, audio, b.messages)
	}()
	select {
	case <-time.After(length):
	case <-done:
	}
	hangUp(turn.End{Reason: "caller_hung_up", By: "caller"})
	<-done
	b.abandoned = conversation.Abandoned()
	synctest.Wait()
}

// sounds are the stretches of the agent's sound, on the clock of the call.
func (b *bench) sounds() [][2]time.Duration {
	var list [][2]time.Duration
	for _, s := range b.mouth.Sounds() {
		list = append(list, [2]time.Duration{s.From.Sub(b.began), s.To.Sub(b.began)})
	}
	return list
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
