package tokenizer

import (
	"bytes"
	"slices"
	"strings"
)

// trie finds the tokens that a text begins with. Its nodes lie in breadth-first
// order, so that the children of one lie together: those of node i are
// first[i] to first[i+1].
type trie struct {
	labels []byte  // the byte that leads to a node
	first  []int32 // its first child; one more than there are nodes
	ids    []int32 // the token that ends at it; -1 is none
}

// span is the tokens below a node: those from lo to hi share depth bytes.
type span struct{ lo, hi, depth int }

func newTrie(vocabulary []scored) *trie {
	order := make([]int32, len(vocabulary))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		if c := strings.Compare(vocabulary[a].text, vocabulary[b].text); c != 0 {
			return c
		}
		return int(a - b)
	})
	text := func(i int) string { return vocabulary[order[i]].text }
	t := &trie{labels: []byte{0}, ids: []int32{-1}}
	queue := []span{{0, len(order), 0}}
	for node := 0; node < len(queue); node++ {
		s := queue[node]
		t.first = append(t.first, int32(len(t.labels)))
		for s.lo < s.hi && len(text(s.lo)) == s.depth {
			if s.depth > 0 {
				t.ids[node] = order[s.lo] // of the same text twice, the last counts
			}
			s.lo++
		}
		for lo := s.lo; lo < s.hi; {
			hi := lo + 1
			for hi < s.hi && text(hi)[s.depth] == text(lo)[s.depth] {
				hi++
			}
			t.labels, t.ids = append(t.labels, text(lo)[s.depth]), append(t.ids, -1)
			queue = append(queue, span{lo, hi, s.depth + 1})
			lo = hi
		}
	}
	t.first = append(t.first, int32(len(t.labels)))
	return t
}

// child is the node that c leads to from node; -1 is none.
func (t *trie) child(node int, c byte) int {
	from := int(t.first[node])
	i := bytes.IndexByte(t.labels[from:t.first[node+1]], c)
	if i < 0 {
		return -1
	}
	return from + i
}

// prefixes tells each token that text begins with, the shortest first.
func (t *trie) prefixes(text string, tell func(length, id int)) {
	node := 0
	for i := range len(text) {
		if node = t.child(node, text[i]); node < 0 {
			return
		}
		if id := t.ids[node]; id >= 0 {
			tell(i+1, int(id))
		}
	}
}

// find is the token that is text.
func (t *trie) find(text string) (id int, ok bool) {
	node := 0
	for i := range len(text) {
		if node = t.child(node, text[i]); node < 0 {
			return 0, false
		}
	}
	return int(t.ids[node]), t.ids[node] >= 0
}
