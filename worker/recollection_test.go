package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/retrieval/embed"
	"headstart/turn"
	"headstart/worker"
	"headstart/worker/calllog/calllogtest"
)

// told answers each recall with all it was opened with.
type told []memory.Held

func (h told) Recall(context.Context, memory.Query) (memory.Recalled, error) {
	var facts []memory.Fact
	for _, f := range h {
		facts = append(facts, f.Fact)
	}
	return memory.Recalled{Facts: facts}, nil
}

func opens(_ context.Context, held []memory.Held) (turn.Recaller, error) { return told(held), nil }

// The facts are loaded while the telephone rings; a recall waits for them no
// longer than its turn does.
func TestRecallOfWhatIsLoaded(t *testing.T) {
	t.Parallel()
	held := map[string][]memory.Held{
		"+49301234567": {{Fact: memory.Fact{Text: "una"}}}, "+493012345678": {{Fact: memory.Fact{Text: "otra"}}},
	}
	for _, c := range []struct {
		name  string
		facts shelf
		asked time.Duration // after the call knew who is on the line
		want  string
		err   string
	}{
		{"loaded while it rang", shelf{held: held, delay: time.Second}, 2 * time.Second, "una", ""},
		{"loaded in the turn's budget", shelf{held: held, delay: time.Second}, 900 * time.Millisecond, "una", ""},
		{"not ready", shelf{held: held, delay: time.Second}, 500 * time.Millisecond, "", "facts are not loaded yet: " + retrieval.ErrBudgetSpent.Error()},
		{"never ready", shelf{held: held, delay: time.Hour}, 6 * time.Second, "", "facts not loaded within 5s"},
		{"broken", shelf{err: errors.New("away")}, time.Second, "", "away"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(cfg *worker.Config, served *worker.Served) {
					cfg.Facts, served.Recollect = c.facts, opens
				})
				recall, giveUp := worker.Recollection(t.Context(), s.worker, "+49301234567")
				time.Sleep(c.asked)
				ctx, cancel := context.WithTimeoutCause(t.Context(), 250*time.Millisecond, retrieval.ErrBudgetSpent)
				defer cancel()
				got, err := recall.Recall(ctx, memory.Query{Text: "¿qué sabes del contacto +493012345678?"})
				facts := got.Facts
				giveUp()
				switch {
				case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
					t.Fatalf("%v, want %q", err, c.err)
				case c.err == "" && (err != nil || len(facts) != 1 || facts[0].Text != c.want):
					t.Fatalf("%v, %v", facts, err)
				}
				s.shipAll()
			})
		})
	}
}

// Without a policy, an embedder or a store there is no recall at all.
func TestNoRecall(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*worker.Config, *worker.Served){
		"no policy": func(_ *worker.Config, s *worker.Served) { s.Agent.Memory = nil },
		"no store":  func(cfg *worker.Config, _ *worker.Served) { cfg.Facts = nil },
		"no ears":   func(_ *worker.Config, s *worker.Served) { s.Recollect = nil },
	} {
		s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(cfg *worker.Config, served *worker.Served) {
			served.Recollect = opens
			change(cfg, served)
		})
		if recall, _ := worker.Recollection(t.Context(), s.worker, "ana"); recall != nil {
			t.Errorf("%s: there is a recall", name)
		}
		s.shipAll()
	}
}

// metered counts the questions that reach an embedder, each of which takes 80 ms.
type metered struct {
	retrieval.Embedder
	asked atomic.Int64
}

func (m *metered) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	m.asked.Add(1)
	time.Sleep(80 * time.Millisecond)
	return retrieval.EmbedQuery(ctx, m.Embedder, text)
}

// A question that is searched and recalled is embedded once, and both have its
// vector when the embedder has answered.
func TestOneEmbeddingServesSearchAndRecall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &metered{Embedder: embed.Hashing(256)}
		shared := embed.Shared(e)
		held := memory.Held{Fact: memory.Fact{ID: "f", Text: "Tiene seguro de Sanitas."}}
		if err := memory.Embed(t.Context(), shared, []*memory.Held{&held}); err != nil {
			t.Fatal(err)
		}
		index, err := memory.NewIndex(memory.Reading{Language: "es", Embedder: shared, At: time.Now()}, []memory.Held{held})
		if err != nil {
			t.Fatal(err)
		}
		searcher := searcherOf(t, shared)
		for n, question := range []string{"¿aceptan mi seguro?", "¿y Sanitas?"} {
			began := time.Now()
			var both sync.WaitGroup
			both.Go(func() {
				r, err := searcher.Search(t.Context(), retrieval.Query{Org: "default", Text: question, Bases: []retrieval.Attachment{{Base: "clinica-norte"}}})
				if err != nil || r.Degraded != nil {
					t.Errorf("search: %v, %v", err, r.Degraded)
				}
			})
			both.Go(func() {
				if facts, err := index.Recall(t.Context(), memory.Query{Text: question}); err != nil || len(facts.Facts) != 1 {
					t.Errorf("recall: %v, %v", facts, err)
				}
			})
			both.Wait()
			if asked, took := e.asked.Load(), time.Since(began); asked != int64(n+1) || took != 80*time.Millisecond {
				t.Fatalf("%d requests after %d questions, the last took %v", asked, n+1, took)
			}
		}
	})
}

// A call that is on recalls nothing of a contact who is forgotten meanwhile.
func TestACallThatIsOnForgets(t *testing.T) {
	t.Parallel()
	held := map[string][]memory.Held{"user1": {{Fact: memory.Fact{Text: "una"}}}, "user11": {{Fact: memory.Fact{Text: "otra"}}}}
	s := newStage(t, t.TempDir(), &calllogtest.Store{}, func(cfg *worker.Config, served *worker.Served) {
		cfg.Facts, served.Recollect = shelf{held: held}, opens
	})
	hers, endHers := worker.Recollection(t.Context(), s.worker, "user1")
	his, endHis := worker.Recollection(t.Context(), s.worker, "user11")
	for i, want := range []int{1, 0} {
		facts, err := hers.Recall(t.Context(), memory.Query{Text: "x"})
		others, otherErr := his.Recall(t.Context(), memory.Query{Text: "x"})
		if err != nil || otherErr != nil || len(facts.Facts) != want || len(others.Facts) != 1 {
			t.Fatalf("%d: %v, %v; %v, %v", i, facts, err, others, otherErr)
		}
		if n := s.worker.Forget("user1"); n != 1 {
			t.Fatalf("%d calls are on", n)
		}
	}
	endHers()
	endHis()
	if n := s.worker.Forget("user1") + s.worker.Forget("user11"); n != 0 {
		t.Fatalf("%d calls are still on", n)
	}
	s.shipAll()
}
