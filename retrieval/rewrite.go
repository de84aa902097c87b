package retrieval

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// Rewriter says a question that leans on what was said before it in its own words
// alone: "¿y los sábados?" after the opening hours becomes "horario de los sábados".
type Rewriter interface {
	// Rewrite returns one question. It returns when ctx ends.
	Rewrite(ctx context.Context, question string, before []string) (string, error)
}

// rewriteWithin is how long a rewriting may take when nothing is said of it.
const rewriteWithin = 800 * time.Millisecond

// WithRewriter returns a searcher that has follow-ups rewritten on written channels:
// side by side with the search of the question as it is, whose answer stands when the
// rewriting is late, fails or says nothing new. within is its deadline, 0 for 800 ms;
// nobody waits past it.
func (s *Searcher) WithRewriter(r Rewriter, within time.Duration) *Searcher {
	next := *s
	next.rewriter, next.rewriteWithin = r, cmp.Or(within, rewriteWithin)
	return &next
}

// rewrite begins to have a follow-up rewritten; nil where that is not for it.
func (s *Searcher) rewrite(ctx context.Context, q Query, r *reading) *pendingAnswer[string] {
	if s.rewriter == nil || !q.Written {
		return nil
	}
	before := leansOn(q, r.segments)
	if len(before) == 0 {
		return nil
	}
	return within(ctx, s.rewriteWithin, "rewriting", func(ctx context.Context) (string, error) {
		return s.rewriter.Rewrite(ctx, q.Text, before)
	})
}

// instead is the answer to a rewritten question, or the one that there is: a
// rewriting that has no vectors is no better than what has them.
func (s *Searcher) instead(ctx context.Context, p *pendingAnswer[string], q Query, a *answer) (*answer, Query) {
	text, err := p.wait()
	text = strings.TrimSpace(text)
	if err != nil || text == "" || text == q.Text {
		a.Unrewritten = err
		return a, q
	}
	again := q
	again.Text, again.Before = text, nil
	b, err := s.answer(ctx, again, a.reading, Pool, Fused)
	if err != nil || b.Degraded != nil && a.Degraded == nil {
		b.close()
		a.Unrewritten = firstOf(err, b.Degraded)
		return a, q
	}
	b.Followed, b.Rewritten, b.EmbedTook = true, text, a.EmbedTook+b.EmbedTook
	a.close()
	return b, again
}
