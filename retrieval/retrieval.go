// Package retrieval owns looking things up in documents: bases as immutable
// segments in memory, the two branches of a search and their fusion, the
// evidence, and the shape in which passages reach a model.
//
// A search asks the words first, which takes microseconds, then the embedder.
// When the embedder is late or fails, the words answer alone and Degraded says
// why. It fails whole only when no base is attached (ErrNoBase), a base is not
// in memory (ErrNotReady), or its context ended before the words were in or for
// another cause than ErrBudgetSpent. Finding nothing is no failure.
//
// It never opens a database, never decides whether to look, and never lets a
// base that was not asked into the statistics of one that was.
package retrieval

import (
	"context"
	"time"
)

// Passage is one section of a document that a search found: a chunk that was hit
// and its neighbours under the same heading, two either side, joined in the order
// of the file. No chunk is in two passages of one search.
type Passage struct {
	// ID is made of the ids of its chunks: a chunk's own id when it is one. A passage
	// with the same id has the same text.
	ID      string
	Base    string  // the base that it came from
	Path    string  // the file, as it was pushed: "faq/horarios.md"
	Heading string  // its heading path, "Tarifas › Revisión"; empty above the first heading
	Text    string  // what the model reads: the text under the heading
	Score   float64 // of its best hit; the order follows it but where a reranker decides
	Hits    []Hit   // the chunks in it that were found, best first; at least one
}

// Hit is one chunk that a search found, and why it ranks where it does.
type Hit struct {
	ID    string  // the chunk's id
	Score float64 // fused, relative to the best of this search: 1.0 is the top
	Marks         // of the question as it was asked, or rewritten
	// Fused is its place once the branches were fused, from 1, copies counted; only a
	// search whose Query.Ranks asks for places tells it.
	Fused int
	// Reranked is its place in the reranker's order, from 1, and Relevance what that
	// made of it; 0 when it was not asked.
	Reranked  int
	Relevance float64
	// Together are those of the question with the turns before it; zero when that
	// was not searched. See Query.Before.
	Together Marks
}

// Marks are what both branches make of a chunk, whichever of them found it.
type Marks struct {
	BM25   float64 // 0 when it holds none of the words
	Cosine float64 // with the question, -1 to 1; 0 without the vector branch
	// WordRank and VectorRank are its places in each branch, from 1; 0 when the
	// branch gives it nothing. A place past the candidates that the branch offered to
	// the fusion is counted only when Query.Ranks asks for it, and is 0 else; there,
	// copies in several bases count each.
	WordRank, VectorRank int
}

// Evidence says how near the best passage is to the question, by the cosine of
// their vectors. It is told to readers of the log and gates nothing. Of several
// bases each is judged by its own cut-offs, and the strongest counts.
type Evidence string

// The levels of Evidence; the cut-offs belong to the embedder, or to a base that was
// calibrated.
const (
	EvidenceStrong Evidence = "strong"
	EvidenceWeak   Evidence = "weak"
	EvidenceNone   Evidence = "none"
)

// Attachment is one base that an agent reads.
type Attachment struct {
	Base     string
	K        int     // passages a turn at most, as they are handed out; 0 is 8
	MinScore float64 // floor for this base's fused score, 0 to 1
	Late     Late    // what the search does when the vectors are late or fail
}

// Late says what a search does whose vectors are late or fail.
type Late string

const (
	// LateWords lets the words answer alone, and the result is degraded.
	LateWords Late = ""
	// LateSkip gives up the whole search: ErrLate. One base that says so decides.
	LateSkip Late = "skip"
)

// Query is one question to the bases of an agent.
type Query struct {
	Org   string
	Text  string
	Bases []Attachment
	// K is how many passages at most, in place of what the attachments say; 0 leaves it
	// to them.
	K int
	// Written tells that the answer is read, not heard: there is time for what a spoken
	// turn is spared.
	Written bool
	// Ranks asks for the place of each hit in both branches, however far down it is:
	// to look at, for it costs another look at every chunk.
	Ranks bool
	// Before are the caller's last turns, oldest first; the last two count. A
	// question of at most FollowUp content words, or one that points back, is searched
	// together with them as well. Empty asks the plain question.
	Before []string
}

// Branch names one of the two searches that are fused.
type Branch string

// The branches.
const (
	Words   Branch = "words"
	Vectors Branch = "vectors"
)

// Result is what a search found, best first.
type Result struct {
	Passages []Passage
	Evidence Evidence
	// Cosine is the best of the whole search, below the cut-off and of the question
	// with the turns before it too; 0 without the vector branch.
	Cosine float64
	// Branches that took part. Only Words when the embedder was late or failed.
	Branches []Branch
	// Degraded is why vectors are missing, nil when all took part.
	Degraded error
	// Followed tells that the turns before the question were searched with it.
	Followed bool
	// Rewritten is the question that was searched in place of the one that was asked,
	// empty for most; Unrewritten is why there is none, nil when none was wanted.
	Rewritten   string
	Unrewritten error
	// Unranked is why the fused order stands although a reranker was to judge it.
	Unranked error
	// EmbedTook is the time that the embedder took, or was given.
	EmbedTook time.Duration
}

// Embedder turns texts into vectors of one length. It may also declare what its
// vectors are worth, and treat questions in a way of their own: see Weight,
// CutOffs and EmbedQuery.
type Embedder interface {
	// Name identifies the model; vectors of two names never mix.
	Name() string
	// Dim is the length of each vector.
	Dim() int
	// Embed returns one unit vector a text, in order. It returns when ctx ends.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
