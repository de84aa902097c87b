package locomo

import "headstart/retrieval"

// Abstention is the picture of the questions that should find nothing, beside the
// same of those that have an answer: what a threshold could tell apart. Without
// vectors the cosines are 0 and the evidence is none; without words the BM25 is 0.
type Abstention struct {
	Questions              int `json:"questions"`
	FoundNothing           int `json:"found_nothing"`
	AnswerableFoundNothing int `json:"answerable_found_nothing"`

	Cosine           float64 `json:"cosine"`            // mean best cosine
	AnswerableCosine float64 `json:"answerable_cosine"` // the same of the others
	// Separation is the chance that an answerable question has the better cosine of
	// a pair: 0.5 tells nothing apart.
	Separation float64 `json:"separation"`

	BM25           float64 `json:"bm25"` // mean best BM25
	AnswerableBM25 float64 `json:"answerable_bm25"`
	BM25Separation float64 `json:"bm25_separation"`

	Evidence           Shares `json:"evidence"`
	AnswerableEvidence Shares `json:"answerable_evidence"`
}

// Shares are how many in one of the questions have evidence of each level, by the
// cut-offs of the embedder or of its calibration.
type Shares struct {
	Strong float64 `json:"strong"`
	Weak   float64 `json:"weak"`
	None   float64 `json:"none"`
}

// witness is what one question came to.
type witness struct {
	cosine, bm25 float64 // the best
	evidence     retrieval.Evidence
	nothing      bool // was found
}

func abstention(answerable, adverse []witness) Abstention {
	cosine, bm25 := func(w witness) float64 { return w.cosine }, func(w witness) float64 { return w.bm25 }
	nothing := func(w witness) float64 { return one(w.nothing) }
	return Abstention{
		Questions: len(adverse), FoundNothing: int(sum(adverse, nothing)), AnswerableFoundNothing: int(sum(answerable, nothing)),
		Cosine: mean(adverse, cosine), AnswerableCosine: mean(answerable, cosine), Separation: separation(answerable, adverse, cosine),
		BM25: mean(adverse, bm25), AnswerableBM25: mean(answerable, bm25), BM25Separation: separation(answerable, adverse, bm25),
		Evidence: shares(adverse), AnswerableEvidence: shares(answerable),
	}
}

func shares(list []witness) Shares {
	of := func(level retrieval.Evidence) float64 {
		return mean(list, func(w witness) float64 { return one(w.evidence == level) })
	}
	return Shares{Strong: of(retrieval.EvidenceStrong), Weak: of(retrieval.EvidenceWeak), None: of(retrieval.EvidenceNone)}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func sum(list []witness, of func(witness) float64) (sum float64) {
	for _, w := range list {
		sum += of(w)
	}
	return sum
}

func mean(list []witness, of func(witness) float64) float64 {
	return sum(list, of) / float64(max(1, len(list)))
}

// separation is the area under the ROC curve; a tie counts half.
func separation(above, below []witness, of func(witness) float64) float64 {
	if len(above) == 0 || len(below) == 0 {
		return 0
	}
	won := 0.0
	for _, a := range above {
		for _, b := range below {
			won += (1 + one(of(a) > of(b)) - one(of(a) < of(b))) / 2
		}
	}
	return won / float64(len(above)*len(below))
}
