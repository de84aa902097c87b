package worker_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/livekit/protocol/livekit"

	"headstart/retrieval"
	"headstart/turn"
	"headstart/turn/llm"
	"headstart/turn/stt"
	"headstart/turn/tts"
	"headstart/turn/vad"
	"headstart/worker"
	"headstart/worker/caller"
)

// bug is a part of an agent that panics when it is used.
type bug struct{}

func (bug) Write([]int16) []vad.Edge                                             { panic("bug") }
func (bug) LastVoiced() time.Duration                                            { panic("bug") }
func (bug) Recognise(context.Context, <-chan stt.Input, func(stt.Event)) error   { panic("bug") }
func (bug) Search(context.Context, retrieval.Query) (retrieval.Result, error)    { panic("bug") }
func (bug) Rate() int                                                            { return 24000 }
func (bug) Speak(context.Context, <-chan string, func(tts.Audio) error) error    { panic("bug") }
func (bug) Reply(context.Context, llm.Request, func(string)) (llm.Result, error) { panic("bug") }

// A panic of any part of an agent ends the call it is in, as an error, and is
// reported; the calls of the other agents in the process go on.
func TestAPanicEndsItsCallAlone(t *testing.T) {
	t.Parallel()
	broken := map[string]func(*worker.Served){
		"detector":   func(s *worker.Served) { s.Detector = func() turn.Detector { return bug{} } },
		"recogniser": func(s *worker.Served) { s.Recogniser = bug{} },
		"searcher":   func(s *worker.Served) { s.Searcher = bug{} },
		"model":      func(s *worker.Served) { s.Model = bug{} },
		"voice":      func(s *worker.Served) { s.Voice = bug{} },
		"making":     func(s *worker.Served) { s.Detector = func() turn.Detector { panic("bug") } },
		"observer":   func(*worker.Served) {}, // see observe
	}
	observe := func(ev turn.Event) {
		if user, ok := ev.(turn.TurnUser); ok && user.Text == observed {
			panic("bug")
		}
	}
	r := newReported(t, "broken", func(cfg *worker.Config, agents *[]worker.Served) {
		cfg.MaxCalls, cfg.Observe = 16, observe
		whole := (*agents)[0]
		for _, name := range slices.Sorted(maps.Keys(broken)) {
			s := whole
			s.Agent.Name = name
			broken[name](&s)
			*agents = append(*agents, s)
		}
	}, nil)
	other := r.dial("whole", phone)
	hearTo(t, other, other.Dialed())
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		t.Run(name, func(t *testing.T) {
			r := &reported{bench: r.in(t), tap: r.tap}
			c := r.dial(name, func(cfg *caller.Config) { phone(cfg); cfg.JobMetadata = `{"agent": "` + name + `"}` })
			if name != "detector" && name != "recogniser" && name != "making" { // which break at once
				hearTo(t, c, c.Dialed())
				if err := c.Chat(t.Context(), observed); err != nil {
					t.Fatalf("chat: %v", err)
				}
			}
			entries := r.ended(name, turn.End{Reason: "error", By: "platform"}, livekit.JobStatus_JS_FAILED)
			failures := all[turn.Failure](entries)
			if len(failures) == 0 || failures[len(failures)-1].Code != turn.CodePanic {
				t.Fatalf("errors %+v", failures)
			}
		})
	}
	asked := time.Now()
	if err := other.Chat(t.Context(), "¿Qué seguros aceptan para las consultas?"); err != nil {
		t.Fatalf("chat: %v", err)
	}
	hearTo(t, other, asked)
	if err := other.Hangup(); err != nil {
		t.Fatal(err)
	}
	r.ended("whole", turn.End{Reason: "caller_hung_up", By: "caller"}, livekit.JobStatus_JS_SUCCESS)
}

// observed is what the caller types to the agents that break later.
const observed = "¿A qué hora abren los sábados?"
