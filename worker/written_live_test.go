package worker_test

import (
	"context"
	"testing"
	"time"

	"headstart/retrieval"
	"headstart/turn"
	"headstart/worker"
	"headstart/worker/caller"
)

// slowly searches as another does, but not before the spoken budget is spent.
type slowly struct{ turn.Searcher }

func (s slowly) Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error) {
	select {
	case <-time.After(400 * time.Millisecond):
	case <-ctx.Done():
		return retrieval.Result{}, context.Cause(ctx)
	}
	return s.Searcher.Search(ctx, q)
}

// Who came to write is waited for as one who reads, and the log says that it is a
// conversation in text.
func TestAWrittenConversationHasItsOwnBudget(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", func(_ *worker.Config, s *worker.Served) {
		s.Searcher, s.WrittenBudget = slowly{s.Searcher}, 30*time.Second // a slow machine may take its time
	})
	visitor := b.dial("web", func(c *caller.Config) { c.Written = true })
	hearTo(t, visitor, visitor.Dialed())
	typedAt := time.Now()
	if err := visitor.Chat(t.Context(), "¿A qué hora abren los sábados?"); err != nil {
		t.Fatalf("chat: %v", err)
	}
	hearTo(t, visitor, typedAt)
	if err := visitor.Hangup(); err != nil {
		t.Fatalf("hang up: %v", err)
	}
	entries := b.log("web")
	if started := first[turn.CallStarted](entries); started.Channel != "web" || started.Medium != "text" {
		t.Fatalf("started %+v", started)
	}
	if failures := all[turn.Failure](entries); len(failures) > 0 {
		t.Fatalf("failures %+v", failures)
	}
	docs := first[turn.DocsSources](entries)
	if len(docs.Sources) == 0 || docs.WaitedMS < 400 {
		t.Fatalf("the lookup %+v", docs)
	}
}
