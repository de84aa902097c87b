// Package extractive is a model without a model: it answers with the sentence
// of the passages that shares most words with the question, or says that it does
// not know. It is for demos and tests that must run with no key and no network,
// and for showing what retrieval alone is worth. It never writes a sentence of
// its own about the world, calls no tool, and fails only when its context ends.
package extractive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"headstart/turn/llm"
)

// What it says when no sentence qualifies.
const (
	NoAnswerES = "No tengo esa información."
	NoAnswerEN = "I don't have that information."
)

// What it says to a turn that is only a number; %s is the number.
const (
	NotedES = "Gracias, tomo nota de %s."
	NotedEN = "Thank you, I have noted %s."
)

// Config says in which language it speaks and how it reads words.
type Config struct {
	// Language is the BCP 47 tag of its own phrases. Spanish is spoken for "es"
	// and its regions, English for all else, and when it is empty.
	Language string
	// Content gives the content words of a text, folded and stemmed, so that
	// two texts about one thing share them. Required.
	Content func(text string) []string
	// Number tells a text that is only a number, in digits or in words: it is
	// noted, not answered. Nil knows digits alone.
	Number func(text string) bool
}

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate() error {
	if c.Content == nil {
		return errors.New("content is nil: it needs a word analysis")
	}
	return nil
}

// Model answers with sentences that it found. It holds no state.
type Model struct{ cfg Config }

// New makes a Model.
func New(cfg Config) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure extractive model: %w", err)
	}
	return &Model{cfg: cfg}, nil
}

// Name tells what answers.
func (m *Model) Name() string { return "extractive" }

// NoAnswer is what is said in a language when no sentence qualifies.
func NoAnswer(language string) string { return phrase(language, NoAnswerES, NoAnswerEN) }

func phrase(language, es, en string) string {
	base, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(language), "_", "-"), "-")
	if base == "es" {
		return es
	}
	return en
}

// Reply implements turn.Model. It counts no tokens: nobody bills them.
func (m *Model) Reply(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	result := llm.Result{Finish: "stop", Model: m.Name()}
	for _, piece := range pieces(m.answer(req)) {
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		emit(piece)
	}
	return result, nil
}

func (m *Model) answer(req llm.Request) string {
	asked := question(req.Messages)
	if m.isNumber(asked) {
		return fmt.Sprintf(phrase(m.cfg.Language, NotedES, NotedEN), strings.Trim(asked, " .,;"))
	}
	words := set(m.cfg.Content(asked))
	sentences, rows := candidates(req.Messages)
	for _, from := range [][]string{sentences, rows} {
		if best := m.best(words, from); best != "" {
			return best
		}
	}
	return NoAnswer(m.cfg.Language)
}

// best is the first of those that share most of the words, if they share half.
func (m *Model) best(words map[string]bool, from []string) string {
	most, best := 0, ""
	for _, sentence := range from {
		shared := 0
		for word := range set(m.cfg.Content(sentence)) {
			if words[word] {
				shared++
			}
		}
		if shared > most && 2*shared >= len(words) {
			most, best = shared, sentence
		}
	}
	return best
}

// question is what the user said last.
func question(messages []llm.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.User {
			return strings.TrimSpace(messages[i].Content)
		}
	}
	return ""
}

// isNumber tells a turn of a number alone, grouped as people say it.
func (m *Model) isNumber(text string) bool {
	digits, letters := strings.ContainsFunc(text, unicode.IsDigit), strings.ContainsFunc(text, unicode.IsLetter)
	if letters && m.cfg.Number != nil {
		return m.cfg.Number(text)
	}
	return digits && !letters
}

func set(words []string) map[string]bool {
	out := make(map[string]bool, len(words))
	for _, word := range words {
		out[word] = true
	}
	return out
}

// piece is how many words are streamed at a time.
const piece = 4

// pieces cuts a text as a stream would; joined they are the text.
func pieces(text string) []string {
	var out []string
	words := strings.SplitAfter(text, " ")
	for len(words) > piece {
		out = append(out, strings.Join(words[:piece], ""))
		words = words[piece:]
	}
	return append(out, strings.Join(words, ""))
}
