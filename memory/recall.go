package memory

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

const (
	// BestFacts is how many facts a recall hands to the model.
	BestFacts = 6
	// recallPool is how deep a recall looks before it hands out.
	recallPool = retrieval.Pool
	// nudge is the most that recency and confidence add to a fused score, together.
	nudge = 0.015
	// freshFor is the age at which a fact's recency has halved.
	freshFor = 90 * 24 * time.Hour
)

// Index is what one contact's current facts are recalled from: immutable, built
// when a call is admitted, and safe for concurrent use.
type Index struct {
	facts    map[string]Held
	searcher *retrieval.Searcher
	at       time.Time
}

// Reading says how facts are read.
type Reading struct {
	// Language is the agent's, as a BCP 47 tag: its analyser reads facts and
	// questions alike.
	Language string
	// Embedder answers questions; nil leaves the words alone. A fact that another
	// model embedded, or none, is found by its words. One that is asked by the search
	// of the same turn too should be shared by both, so that it is asked once.
	Embedder retrieval.Embedder
	// Calibration replaces what the embedder declares of itself, where it is of its
	// vectors; nil keeps that.
	Calibration *retrieval.Calibration
	// At is the moment from which a fact's age counts.
	At time.Time
}

// oneOrg keys the only base of an index; it never leaves it.
const oneOrg = "contact"

// NewIndex indexes the facts that are current among those given; they are of one
// contact, and which one is the caller's to know. It asks no embedder and fails
// only when a vector is not finite.
func NewIndex(r Reading, facts []Held) (*Index, error) {
	x := &Index{facts: make(map[string]Held, len(facts)), at: r.At}
	var chunks []chunk.Chunk
	var vectors []float32
	model, dim := "", 0
	if retrieval.Weight(r.Embedder) > 0 {
		model, dim = r.Embedder.Name(), r.Embedder.Dim()
	}
	embedded := false
	for _, f := range facts {
		if _, again := x.facts[f.ID]; again || !f.Current() {
			continue
		}
		x.facts[f.ID] = f
		chunks = append(chunks, chunk.Chunk{ID: f.ID, Path: f.ID, Heading: f.Category, Text: f.Text})
		v := make([]float32, dim) // near to nothing
		if f.Model == model && len(f.Vector) == dim && dim > 0 {
			copy(v, f.Vector)
			embedded = true
		}
		vectors = append(vectors, v...)
	}
	if !embedded {
		model, dim, vectors = "", 0, nil
	}
	segment, err := retrieval.Restore(oneOrg, r.Language, model, dim, chunks, vectors)
	if err != nil {
		return nil, fmt.Errorf("index facts: %w", err)
	}
	library := new(retrieval.Library)
	library.Put(oneOrg, segment.Calibrated(r.Calibration))
	x.searcher = retrieval.NewSearcher(library, r.Embedder)
	return x, nil
}

// Len is the number of facts that may be recalled.
func (x *Index) Len() int { return len(x.facts) }

// Query is what a caller said.
type Query struct {
	Text string
	// Before are the caller's last turns, oldest first. A question that leans on them
	// is asked together with them, as in a search: see retrieval.Query.Before.
	Before []string
}

// Recalled is what came back for a query.
type Recalled struct {
	Facts    []Fact // best first
	Followed bool   // the query was asked together with the turns before it
}

// Recall returns the best six facts for what a caller said, best first; none when
// none holds a word of it and none is near it. When the embedder is late or fails
// the words answer alone. It fails with the cause of ctx, unless that is
// retrieval.ErrBudgetSpent and the words are in.
func (x *Index) Recall(ctx context.Context, q Query) (Recalled, error) {
	r, err := x.Rank(ctx, q, retrieval.Fused, recallPool)
	if err != nil {
		return Recalled{}, err
	}
	return Recalled{r.Facts[:min(len(r.Facts), BestFacts)], r.Followed}, nil
}

// RankedFacts is a ranking with its times.
type RankedFacts struct {
	Recalled
	// Cosine is the best of all facts with the question, Evidence what it says, and BM25
	// the best of those ranked; Degraded is why vectors are missing, nil when all took part.
	Cosine   float64
	Evidence retrieval.Evidence
	BM25     float64
	Degraded error
	// Took is the time of the ranking without EmbedTook, that of the embedder.
	Took, EmbedTook time.Duration
}

// Rank is Recall down to any depth and of any arm, for evaluation: the first six
// are what Recall hands out.
func (x *Index) Rank(ctx context.Context, q Query, arm retrieval.Arm, depth int) (RankedFacts, error) {
	if len(x.facts) == 0 {
		return RankedFacts{}, nil
	}
	began := time.Now()
	ranked, err := x.searcher.Rank(ctx, retrieval.Ranking{
		Query: retrieval.Query{Org: oneOrg, Text: q.Text, Before: q.Before, Bases: []retrieval.Attachment{{Base: oneOrg}}},
		Depth: depth, Arm: arm,
	})
	if err != nil {
		return RankedFacts{}, fmt.Errorf("recall: %w", err)
	}
	facts, bm25 := make([]Fact, len(ranked.Chunks)), 0.0
	for i, c := range ranked.Chunks {
		bm25 = max(bm25, c.Hit.BM25)
		facts[i] = x.facts[c.Chunk.ID].Fact
		facts[i].Score = c.Hit.Score
	}
	x.nudge(facts[:min(len(facts), BestFacts)])
	return RankedFacts{
		Recalled: Recalled{facts, ranked.Followed}, Cosine: ranked.Cosine, Evidence: ranked.Evidence, BM25: bm25, Degraded: ranked.Degraded,
		Took: time.Since(began) - ranked.EmbedTook, EmbedTook: ranked.EmbedTook,
	}, nil
}

// nudge lets recency and confidence decide between neighbours that the fusion
// holds for nearly equal. A fact moves one place at most, and only among those that
// are handed out anyway: what is fresh pushes nothing out.
func (x *Index) nudge(best []Fact) {
	for i := 0; i+1 < len(best); i++ {
		if x.nudged(best[i+1]) > x.nudged(best[i]) {
			best[i], best[i+1] = best[i+1], best[i]
			i++ // neither moves again
		}
	}
}

// nudged is a score with what recency and confidence add, each half of the most.
func (x *Index) nudged(f Fact) float64 {
	recency := 0.0
	if !f.Since.IsZero() {
		age := max(0, x.at.Sub(f.Since))
		recency = math.Exp2(-float64(age) / float64(freshFor))
	}
	return f.Score * (1 + nudge*(recency+min(1, max(0, f.Confidence)))/2)
}

// String tells how many facts there are, and never what they say.
func (x *Index) String() string { return strconv.Itoa(len(x.facts)) + " facts" }
