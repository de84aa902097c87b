package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"
)

// wordPiece takes the longest beginning of a word that is in its vocabulary,
// then the longest of what is left, and so on. A word that it cannot cut whole
// is unknown.
type wordPiece struct {
	vocabulary map[string]int
	inner      map[string]int // those that do not begin a word, without their prefix
	unk        int
	known      bool // unk is in the vocabulary
	letters    int  // that a word may have at most
	longest    int  // token, in bytes
}

func readWordPiece(text json.RawMessage) (model, error) {
	o := struct {
		Unknown string         `json:"unk_token"`
		Prefix  *string        `json:"continuing_subword_prefix"`
		Letters int            `json:"max_input_chars_per_word"`
		Vocab   map[string]int `json:"vocab"`
	}{Unknown: "[UNK]", Letters: 100}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("read WordPiece: %w", err)
	}
	prefix := "##"
	if o.Prefix != nil {
		prefix = *o.Prefix
	}
	w := &wordPiece{vocabulary: o.Vocab, inner: map[string]int{}, letters: o.Letters}
	w.unk, w.known = o.Vocab[o.Unknown]
	for t, id := range o.Vocab {
		w.longest = max(w.longest, len(t))
		if rest, ok := strings.CutPrefix(t, prefix); ok {
			w.inner[rest] = id
		}
	}
	return w, nil
}

func (w *wordPiece) unknown() (int, bool) { return w.unk, w.known }

func (w *wordPiece) tokens() map[string]int { return maps.Clone(w.vocabulary) }

func (w *wordPiece) cut(ids []int, word string) []int {
	if word == "" {
		return ids
	}
	before := len(ids)
	if len(word) <= w.letters || utf8.RuneCountInString(word) <= w.letters {
		vocabulary := w.vocabulary
		rest := word
		for rest != "" {
			id, length := w.longestOf(vocabulary, rest)
			if length == 0 {
				break
			}
			ids, rest, vocabulary = append(ids, id), rest[length:], w.inner
		}
		if rest == "" {
			return ids
		}
	}
	if ids = ids[:before]; w.known {
		ids = append(ids, w.unk)
	}
	return ids
}

func (w *wordPiece) longestOf(vocabulary map[string]int, word string) (id, length int) {
	for n := min(len(word), w.longest); n > 0; n-- {
		if n < len(word) && !utf8.RuneStart(word[n]) {
			continue
		}
		if id, ok := vocabulary[word[:n]]; ok {
			return id, n
		}
	}
	return 0, 0
}
