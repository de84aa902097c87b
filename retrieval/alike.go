package retrieval

import (
	"math/bits"
	"slices"
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
	segment  *Segment
	doc      int32
	shingles []uint64
}

// take reports false, and takes nothing, for a chunk that is like one before.
func (h *hits) take(c candidate) bool {
	one := shingled{segment: h.segments[c.segment], doc: c.doc}
	for i := range h.taken {
		if one.like(&h.taken[i]) {
			return false
		}
	}
	h.taken = append(h.taken, one)
	return true
}

// like holds for the same numbers in the same order and nearly the same words:
// this year's price never hides next year's. Most pairs are told apart by their
// prints, without a shingle.
func (s *shingled) like(other *shingled) bool {
	a, b := &s.segment.prints[s.doc], &other.segment.prints[other.doc]
	return a.mayBeLike(b) && jaccardFrom(s.all(), other.all(), alikeFrom)
}

func (s *shingled) all() []uint64 {
	if s.shingles == nil {
		s.shingles = shinglesOf(s.segment.chunks[s.doc].Indexed())
	}
	return s.shingles
}

// print is what a segment keeps of each of its chunks, to tell two apart.
type print struct {
	numbers  uint64    // the words that hold a digit, in order, hashed
	shingles uint32    // how many there are
	bits     [4]uint64 // one set for each shingle, some for several
}

// printOf is the print of a text.
func printOf(text string) print {
	words, numbers := hashWords(text)
	p := print{numbers: numbers}
	list := shingle(words)
	p.shingles = uint32(len(list))
	for _, h := range list {
		h ^= h >> 32 // the last bits of FNV differ least
		p.bits[h>>6&3] |= 1 << (h & 63)
	}
	return p
}

// mayBeLike is false only for two that are not: whatever is in one set of shingles
// alone sets a bit at most, so where the sets differ in few the bits differ in few.
func (p *print) mayBeLike(other *print) bool {
	if p.numbers != other.numbers {
		return false
	}
	differ := 0
	for i, b := range p.bits {
		differ += bits.OnesCount64(b ^ other.bits[i])
	}
	// With a Jaccard index of j, (1-j)/(1+j) of both lists together is in one alone.
	return float64(differ) <= (1-alikeFrom)/(1+alikeFrom)*float64(p.shingles+other.shingles)+1e-9
}

// shinglesOf hashes each run of five words, sorted, each once. A shorter text is
// one run; the result is never empty.
func shinglesOf(text string) []uint64 {
	words, _ := hashWords(text)
	return shingle(words)
}

func shingle(words []uint64) []uint64 {
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

// hashWords hashes each word of a text, and those that hold a digit together, in
// order.
func hashWords(text string) (words []uint64, numbers uint64) {
	words, numbers = make([]uint64, 0, len(text)/5), hashStart
	eachWord(text, func(h uint64, digit bool) {
		words = append(words, h)
		if digit {
			numbers = (numbers ^ h) * hashPrime
		}
	})
	return words, numbers
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
