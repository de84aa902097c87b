package embed_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/retrieval"
	"headstart/retrieval/embed"
	"headstart/retrieval/embed/modeltest"
)

// counted counts the requests that reach an embedder, and takes its time.
type counted struct {
	retrieval.Embedder
	asked, ended atomic.Int64
	takes        time.Duration
	err          error
}

func (c *counted) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	c.asked.Add(1)
	defer c.ended.Add(1)
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(c.takes):
	}
	if c.err != nil {
		return nil, c.err
	}
	return retrieval.EmbedQuery(ctx, c.Embedder, text)
}

func TestShared(t *testing.T) {
	t.Parallel()
	modeltest.Contract(t, embed.Shared(embed.Hashing(64)))
}

// A search and a recall of one turn cost one request, the one of another turn
// another, and the same words later one more.
func TestSharedAsksOnceForATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{Embedder: embed.Hashing(16), takes: 80 * time.Millisecond}
		e := embed.Shared(c)
		var group sync.WaitGroup
		for _, after := range []time.Duration{0, 0, 20 * time.Millisecond, 80 * time.Millisecond, 500 * time.Millisecond} {
			group.Go(func() {
				time.Sleep(after)
				v, err := retrieval.EmbedQuery(t.Context(), e, "alergia a la penicilina")
				if err != nil || len(v) != 16 {
					t.Errorf("after %v: %d, %v", after, len(v), err)
				}
			})
		}
		group.Wait()
		if got := c.asked.Load(); got != 1 {
			t.Fatalf("%d requests for one question", got)
		}
		time.Sleep(2 * time.Second)
		for _, text := range []string{"alergia a la penicilina", "otra"} {
			if _, err := retrieval.EmbedQuery(t.Context(), e, text); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.asked.Load(); got != 3 {
			t.Fatalf("%d requests, want 3", got)
		}
	})
}

// One that gives up leaves the request to the other; when both have, it ends.
func TestSharedOutlivesOneWhoLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{Embedder: embed.Hashing(16), takes: time.Second}
		e := embed.Shared(c)
		gone := errors.New("superseded")
		ask := func(patience time.Duration) error {
			ctx, cancel := context.WithTimeoutCause(t.Context(), patience, gone)
			defer cancel()
			_, err := retrieval.EmbedQuery(ctx, e, "q")
			return err
		}
		errs := make(chan error, 2)
		for _, patience := range []time.Duration{100 * time.Millisecond, time.Minute} {
			go func() { errs <- ask(patience) }()
		}
		if diff := cmp.Diff([]bool{true, true}, []bool{errors.Is(<-errs, gone), <-errs == nil}); diff != "" {
			t.Fatal(diff)
		}
		began := time.Now()
		time.Sleep(2 * time.Second)
		if err := ask(300 * time.Millisecond); !errors.Is(err, gone) {
			t.Fatal(err)
		}
		synctest.Wait()
		if took := time.Since(began); c.ended.Load() != 2 || took != 2300*time.Millisecond {
			t.Fatalf("%d requests ended after %v", c.ended.Load(), took)
		}
	})
}

// A failure is told to those who wait and is not kept.
func TestSharedForgetsFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	c := &counted{Embedder: embed.Hashing(16), err: broken}
	e := embed.Shared(c)
	for range 2 {
		if _, err := retrieval.EmbedQuery(t.Context(), e, "q"); !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
	if got := c.asked.Load(); got != 2 {
		t.Fatalf("%d requests", got)
	}
}
