package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker"
	"headstart/worker/calllog/calllogtest"
)

// clerk is a model that says of the caller what a tool is for, once in each way.
type clerk struct{}

func (clerk) Extract(context.Context, memory.Request) (memory.Answer, error) {
	return memory.Answer{Text: `{"operations":[
		{"op":"add","text":"alérgica, cancel_booking","category":"alergias","turn":2},
		{"op":"add","text":"alérgica, find slot","category":"alergias","turn":2},
		{"op":"add","text":"alérgica a la penicilina","category":"alergias","turn":2}]}`}, nil
}

// No fact may name a tool: the platform's, or an app's that was declared for the
// call or called in it, also when the log of a dead worker is all that tells. What one
// returned, the search of documents too, is nobody's word.
func TestNoFactNamesATool(t *testing.T) {
	t.Parallel()
	started := ana
	started.Tools = []string{"cancel_booking", "book_slot"}
	events := []turn.Event{
		started,
		turn.TurnAgent{SpeechID: "speech-1", Text: "Buenos días.", Kind: turn.KindGreeting},
		turn.TurnUser{SpeechID: "speech-2", Text: "soy alérgica a la penicilina, cancel booking, find slot", Medium: "voice"},
		turn.ToolCalled{Name: "find_slot"}, turn.ToolCalled{Name: "end_call"}, turn.ToolCalled{Name: "book_slot"},
		turn.ToolCalled{Name: "search", Arguments: map[string]string{"query": "alergia"}},
		turn.DocsSources{Query: "alergia", Sources: []turn.DocSource{{Excerpt: "alergia al polen"}}},
		turn.ToolResulted{Name: "search", Output: map[string]string{"text": "alergia al polen"}},
	}
	for _, c := range []struct {
		name string
		play func(t *testing.T, dir string, s *stage)
	}{
		{"at the hang-up", func(t *testing.T, _ string, s *stage) {
			if err := worker.FinishCall(t.Context(), s.worker, "call-1", func() {}, events...); err != nil {
				t.Fatal(err)
			}
		}},
		{"by the next start", func(t *testing.T, dir string, s *stage) {
			dies(t, dir, "call-1", events...)
			if _, err := s.book.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			s.worker.RememberLeft(ctx)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var lesson memory.Lesson
				dir := t.TempDir()
				s := newStage(t, dir, &calllogtest.Store{}, func(_ *worker.Config, served *worker.Served) {
					served.Learner = learner(func(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
						lesson = l
						return memory.Learn(ctx, l, clerk{}, nil)
					})
				})
				c.play(t, dir, s)
				s.shipAll()
				if diff := cmp.Diff([]string{"search", "recall", "end_call", "cancel_booking", "book_slot", "find_slot"}, lesson.Tools); diff != "" {
					t.Fatalf("tools (-want +got):\n%s", diff)
				}
				if len(lesson.Turns) != 2 {
					t.Fatalf("said %+v", lesson.Turns)
				}
				ops := first[turn.MemoryOps](s.stored("call-1"))
				var reasons []memory.Reason
				for _, r := range ops.Refused {
					reasons = append(reasons, r.Reason)
				}
				if diff := cmp.Diff([]memory.Reason{memory.BecauseTool, memory.BecauseTool}, reasons); diff != "" || len(ops.Facts) != 1 {
					t.Fatalf("kept %+v, refused %+v\n%s", ops.Facts, ops.Refused, diff)
				}
			})
		})
	}
}
