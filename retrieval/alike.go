package retrieval

import (
	"slices"
	"strings"
	"unicode"

	"headstart/retrieval/analyse"
)

const (
	// shingleWords are the words of a shingle: a run long enough to be of one text.
	shingleWords = 5
	// alikeFrom is the Jaccard index of two chunks' shingles from which they say the
	// same: in 100 words one may differ.
	alikeFrom = 0.9
)

// hits are the chunks that were taken so far. It takes no chunk that says what one
// of them says. Offered best first it keeps the best of each kind, so what it
// keeps depends on the ranking alone and never says anything twice.
type hits struct {
	segments []*Segment
	taken    []shingled
}

// shingled is a chunk whose shingles are made when they are first asked for.
type shingled struct {
	text     string
	numbers  uint64
	shingles []uint64
}

// take reports false, and takes nothing, for a chunk that is like one before.
func (h *hits) take(c candidate) bool {
	seg := h.segments[c.segment]
	one := shingled{text: seg.chunks[c.doc].Indexed(), numbers: seg.numbers[c.doc]}
	for i := range h.taken {
		if one.like(&h.taken[i]) {
			return false
		}
	}
	h.taken = append(h.taken, one)
	return true
}

// like holds for the same numbers in the same order and nearly the same words:
// this year's price never hides next year's.
func (s *shingled) like(other *shingled) bool {
	if s.numbers != other.numbers {
		return false
	}
	a, b := s.all(), other.all()
	return jaccardFrom(a, b, alikeFrom)
}

func (s *shingled) all() []uint64 {
	if s.shingles == nil {
		s.shingles = shinglesOf(s.text)
	}
	return s.shingles
}

// shinglesOf hashes each run of five words, sorted, each once. A shorter text is
// one run; the result is never empty.
func shinglesOf(text string) []uint64 {
	words := make([]uint64, 0, len(text)/5)
	eachWord(text, func(h uint64, _ bool) { words = append(words, h) })
	list := make([]uint64, 0, len(words)+1)
	for from := 0; from == 0 || from+shingleWords <= len(words); from++ {
		sum := uint64(hashStart)
		for _, h := range words[from:min(from+shingleWords, len(words))] {
			sum = (sum ^ h) * hashPrime
		}
		list = append(list, sum)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// numbersOf hashes the words of a text that hold a digit, in order.
func numbersOf(text string) uint64 {
	sum := uint64(hashStart)
	if strings.IndexFunc(text, unicode.IsDigit) < 0 {
		return sum
	}
	eachWord(text, func(h uint64, digit bool) {
		if digit {
			sum = (sum ^ h) * hashPrime
		}
	})
	return sum
}

// eachWord visits the hash of each run of letters and digits, folded, and tells
// whether it holds a digit.
func eachWord(text string, visit func(hash uint64, digit bool)) {
	sum, in, digit := uint64(hashStart), false, false
	for _, r := range analyse.Fold(text) {
		isDigit := unicode.IsDigit(r)
		switch {
		case isDigit || unicode.IsLetter(r):
			sum = (sum ^ uint64(r)) * hashPrime
			in, digit = true, digit || isDigit
		case in:
			visit(sum, digit)
			sum, in, digit = hashStart, false, false
		}
	}
	if in {
		visit(sum, digit)
	}
}

// jaccardFrom reports whether two sorted lists share at least the part least of
// all that is in either. It stops as soon as they cannot.
func jaccardFrom(a, b []uint64, least float64) bool {
	// With s shared, the union is len(a)+len(b)-s: so s must be least/(1+least) of the sum.
	need := least / (1 + least) * float64(len(a)+len(b))
	shared := 0
	for len(a) > 0 && len(b) > 0 && float64(shared+min(len(a), len(b)))+1e-9 >= need {
		switch {
		case a[0] == b[0]:
			shared++
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return float64(shared)+1e-9 >= need
}

// FNV-1a of 64 bits, over runes.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)
