package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// penalty is what an unknown letter costs beyond the worst token.
const penalty = 10

// unigram cuts a word so that the sum of its tokens' scores is the largest.
type unigram struct {
	vocabulary []scored
	trie       *trie
	unk        int // -1 is none
	unkScore   float64
	bytes      []int // the tokens of the 256 bytes; nil when letters do not fall back to them
}

// scored is an entry of the vocabulary, ["▁casa", -9.1] in the file.
type scored struct {
	text  string
	score float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *scored) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&s.text, &s.score})
}

func readUnigram(text json.RawMessage) (model, error) {
	var o struct {
		Unknown  *int     `json:"unk_id"`
		Vocab    []scored `json:"vocab"`
		Fallback bool     `json:"byte_fallback"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("read Unigram: %w", err)
	}
	u := &unigram{vocabulary: o.Vocab, trie: newTrie(o.Vocab), unk: -1, unkScore: math.Inf(1)}
	if o.Unknown != nil {
		if u.unk = *o.Unknown; u.unk < 0 || u.unk >= len(o.Vocab) {
			return nil, errors.New("read Unigram: unk_id is not in the vocabulary")
		}
	}
	for _, s := range o.Vocab {
		u.unkScore = min(u.unkScore, s.score)
	}
	u.unkScore -= penalty
	if o.Fallback {
		u.bytes = byteTokens(u.trie)
	}
	return u, nil
}

// byteTokens are the ids of the tokens that stand for bytes, if all are there.
func byteTokens(t *trie) []int {
	ids := make([]int, 256)
	for b := range ids {
		id, ok := t.find(fmt.Sprintf("<0x%02X>", b))
		if !ok {
			return nil
		}
		ids[b] = id
	}
	return ids
}

func (u *unigram) unknown() (int, bool) { return u.unk, u.unk >= 0 }

func (u *unigram) tokens() map[string]int {
	all := make(map[string]int, len(u.vocabulary))
	for id, s := range u.vocabulary {
		all[s.text] = id
	}
	return all
}

// step is the best way to cut a word up to some place.
type step struct {
	score float64
	from  int // where its last token begins; -1 when there is no way yet
	id    int // of its last token; -1 is a letter that nothing stands for
}

func (u *unigram) cut(ids []int, word string) []int {
	steps := make([]step, len(word)+1)
	for i := range steps {
		steps[i].from = -1
	}
	for at := 0; at < len(word); {
		_, size := utf8.DecodeRuneInString(word[at:])
		single := false
		u.trie.prefixes(word[at:], func(length, id int) {
			single = single || length == size
			better(steps, at, at+length, id, u.vocabulary[id].score)
		})
		if !single {
			better(steps, at, at+size, u.unk, u.unkScore)
		}
		at += size
	}
	return u.walk(ids, word, steps)
}

// better takes the token from at to end if it makes the best way to end.
func better(steps []step, at, end, id int, score float64) {
	if score += steps[at].score; steps[end].from < 0 || score > steps[end].score {
		steps[end] = step{score: score, from: at, id: id}
	}
}

// walk follows the steps back from the word's end. Unknown letters that touch
// are one token.
func (u *unigram) walk(ids []int, word string, steps []step) []int {
	before := len(ids)
	for end := len(word); end > 0; {
		s := steps[end]
		if s.id != u.unk {
			ids, end = append(ids, s.id), s.from
			continue
		}
		from := s.from
		for from > 0 && steps[from].id == u.unk {
			from = steps[from].from
		}
		ids, end = u.strange(ids, word[from:end]), from
	}
	slices.Reverse(ids[before:])
	return ids
}

// strange appends what stands for a text out of the vocabulary, last first.
func (u *unigram) strange(ids []int, text string) []int {
	if id, ok := u.trie.find(text); ok {
		return append(ids, id)
	}
	if u.bytes != nil {
		for i := len(text) - 1; i >= 0; i-- {
			ids = append(ids, u.bytes[text[i]])
		}
		return ids
	}
	if u.unk >= 0 {
		ids = append(ids, u.unk)
	}
	return ids
}
