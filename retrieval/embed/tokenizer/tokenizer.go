// Package tokenizer cuts texts into the tokens of a model, as its
// tokenizer.json says: added tokens are taken out, the rest is normalised, split
// into words and cut by WordPiece or Unigram. It exists because the libraries
// for Go that read this file either need a C library, or normalise otherwise
// than the model was trained with.
//
// It owns the file's format and never knows what a token is worth. What it does
// not know of a file is refused by name when the file is read; once it is read,
// no text fails. A Tokenizer never changes, so any number of goroutines may use
// one.
package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxID bounds the ids of tokens: no vocabulary comes near, and a table of that
// many rows is refused before it is made.
const maxID = 1 << 26

// Tokenizer cuts texts.
type Tokenizer struct {
	raw, normal added // tokens found before and after the text is normalised
	normalise   normaliser
	split       splitter
	model       model
	frame       frame
	limit       int
	lengths     int // median of the tokens' lengths
	largest     int
}

// model cuts a word into ids, which it appends.
type model interface {
	cut(ids []int, word string) []int
	// unknown is the id of what the vocabulary has not; false is none.
	unknown() (int, bool)
	// tokens are the vocabulary.
	tokens() map[string]int
}

// file is what a tokenizer.json holds.
type file struct {
	Truncation *struct {
		MaxLength int `json:"max_length"`
	} `json:"truncation"`
	AddedTokens   []token         `json:"added_tokens"`
	Normaliser    json.RawMessage `json:"normalizer"`
	PreTokeniser  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         json.RawMessage `json:"model"`
}

// Read reads a tokenizer.json.
func Read(text []byte) (*Tokenizer, error) {
	t, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("read tokenizer: %w", err)
	}
	return t, nil
}

func read(text []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	t := &Tokenizer{}
	var errs [4]error
	t.normalise, errs[0] = readNormaliser(f.Normaliser)
	t.split, errs[1] = readSplitter(f.PreTokeniser)
	t.model, errs[2] = readModel(f.Model)
	t.frame, errs[3] = readFrame(f.PostProcessor)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if f.Truncation != nil {
		t.limit = max(0, f.Truncation.MaxLength)
	}
	return t, t.add(f.AddedTokens)
}

// add takes the added tokens in, and measures the vocabulary with them.
func (t *Tokenizer) add(tokens []token) error {
	all := t.model.tokens()
	tokens = slices.DeleteFunc(tokens, func(a token) bool { return a.Content == "" })
	for i, a := range tokens {
		if id, ok := all[a.Content]; ok {
			tokens[i].ID = id // the vocabulary's own wins, as where the file was made
		}
		all[a.Content] = tokens[i].ID
	}
	lengths := make([]int, 0, len(all))
	for content, id := range all {
		if id < 0 || id >= maxID {
			return fmt.Errorf("token %q has the id %d, out of bounds", content, id)
		}
		t.largest = max(t.largest, id)
		lengths = append(lengths, utf8.RuneCountInString(content))
	}
	t.lengths = median(lengths)
	t.raw, t.normal = split(tokens, t.normalise)
	return t.frame.check(t.largest)
}

func median(lengths []int) int {
	if len(lengths) == 0 {
		return 0
	}
	slices.Sort(lengths)
	n := len(lengths)
	return (lengths[(n-1)/2] + lengths[n/2]) / 2
}

// Encode gives the ids of a text, without those that Frame puts around.
func (t *Tokenizer) Encode(text string) []int {
	text = strings.ToValidUTF8(text, "\ufffd")
	var ids []int
	start := true
	t.raw.each(text, func(id int, rest string) {
		if id >= 0 {
			ids = append(ids, id)
		} else {
			ids = t.encode(ids, rest, start)
		}
		start = false
	})
	return ids
}

// encode appends the ids of what no added token was found in. start says that
// the text begins here.
func (t *Tokenizer) encode(ids []int, text string, start bool) []int {
	t.normal.each(t.normalise(text), func(id int, rest string) {
		if id >= 0 {
			ids = append(ids, id)
		} else {
			for _, p := range t.split([]piece{{rest, start}}) {
				ids = t.model.cut(ids, p.text)
			}
		}
		start = false
	})
	return ids
}

// Frame puts the tokens around ids that the model expects at the ends of one
// text, such as [CLS] and [SEP]; with those it has limit ids at most, if limit
// is above 0.
func (t *Tokenizer) Frame(ids []int, limit int) []int {
	return t.frame.around(ids, limit)
}

// Limit is how many ids the file lets a text have; 0 is any number.
func (t *Tokenizer) Limit() int { return t.limit }

// Unknown is the id that stands for what the vocabulary has not, if there is one.
func (t *Tokenizer) Unknown() (id int, ok bool) { return t.model.unknown() }

// Largest is the largest id that any text can have.
func (t *Tokenizer) Largest() int { return t.largest }

// MedianLength is the median of the tokens' lengths, in letters.
func (t *Tokenizer) MedianLength() int { return t.lengths }

// kind is the type that a part of the file says it is.
func kind(text json.RawMessage) (string, error) {
	var k struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(text, &k)
	return k.Type, err
}

// absent tells that a part of the file is not there.
func absent(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }

func readModel(text json.RawMessage) (model, error) {
	if absent(text) {
		return nil, errors.New("the file has no model")
	}
	k, err := kind(text)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	switch k {
	case "WordPiece":
		return readWordPiece(text)
	case "Unigram":
		return readUnigram(text)
	}
	return nil, fmt.Errorf("model %q is not known; WordPiece and Unigram are", k)
}
