package worker_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker"
	"headstart/worker/calllog/calllogtest"
)

// No fact may name a tool: neither the platform's nor an app's that was called. What one
// returned, the search of documents too, is nobody's word.
func TestALessonNamesTheToolsThatWereCalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lesson memory.Lesson
		s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(_ *worker.Config, served *worker.Served) {
			served.Learner = learner(func(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
				lesson = l
				return teaches(ctx, l)
			})
		})
		called := []turn.Event{
			turn.ToolCalled{Name: "book_slot"}, turn.ToolCalled{Name: "end_call"}, turn.ToolCalled{Name: "book_slot"},
			turn.ToolCalled{Name: "search", Arguments: map[string]string{"query": "alergia"}},
			turn.DocsSources{Query: "alergia", Sources: []turn.DocSource{{Excerpt: "alergia al polen"}}},
			turn.ToolResulted{Name: "search", Output: map[string]string{"text": "alergia al polen"}},
		}
		if err := worker.FinishCall(t.Context(), s.worker, "call-1", func() {}, append(called, talked...)...); err != nil {
			t.Fatal(err)
		}
		s.shipAll()
		if diff := cmp.Diff([]string{"search", "recall", "end_call", "book_slot"}, lesson.Tools); diff != "" {
			t.Fatalf("tools (-want +got):\n%s", diff)
		}
		for _, said := range lesson.Turns {
			if strings.Contains(said.Text, "polen") {
				t.Fatalf("%+v is taken for what somebody said", said)
			}
		}
	})
}
