// Package locomo owns the measure of recall on conversations in LoCoMo's format:
// reading the file, making each turn a fact, asking the questions, and counting
// whether a turn that holds the evidence came back.
//
// It keeps no data of its own and writes to no store. It fails by returning an
// error: ErrFormat when the file is not of that format, else what the embedder or
// the context gave.
package locomo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"headstart/memory"
)

// ErrFormat means that a file is not in LoCoMo's format.
var ErrFormat = errors.New("not in LoCoMo's format: an array of objects with conversation and qa")

// Adversarial is the category of questions that their conversation does not
// answer; a good answer to them is none.
const Adversarial = 5

// Conversation is one contact: what was said, each turn a fact, and what is asked.
type Conversation struct {
	Name      string
	Facts     []memory.Held // in the order of the conversation; ids are the turns'
	Questions []Question
}

// Question is asked of a conversation.
type Question struct {
	Text     string
	Category int
	Evidence []string // ids of the turns that answer it; perhaps none
}

// turnID is how evidence names a turn; some lines of the data name several.
var turnID = regexp.MustCompile(`D\d+:\d+`)

// Read reads a file of conversations, in its order.
func Read(r io.Reader) ([]Conversation, error) {
	var samples []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []struct {
			Question string   `json:"question"`
			Category int      `json:"category"`
			Evidence []string `json:"evidence"`
		} `json:"qa"`
	}
	if err := json.NewDecoder(r).Decode(&samples); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(samples) == 0 {
		return nil, ErrFormat
	}
	all := make([]Conversation, 0, len(samples))
	for i, s := range samples {
		facts, err := facts(s.Conversation)
		if err != nil {
			return nil, fmt.Errorf("conversation %d (%s): %w", i+1, s.ID, err)
		}
		c := Conversation{Name: s.ID, Facts: facts}
		for _, q := range s.QA {
			c.Questions = append(c.Questions, Question{q.Question, q.Category, turnID.FindAllString(strings.Join(q.Evidence, " "), -1)})
		}
		all = append(all, c)
	}
	return all, nil
}

// said is one turn as the format has it.
type said struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

const sessionPrefix = "session_"

// facts makes a fact of each turn, session by session.
func facts(conversation map[string]json.RawMessage) ([]memory.Held, error) {
	var numbers []int
	for key := range conversation {
		if n, err := strconv.Atoi(strings.TrimPrefix(key, sessionPrefix)); err == nil && strings.HasPrefix(key, sessionPrefix) {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("%w: no sessions", ErrFormat)
	}
	slices.Sort(numbers)
	var all []memory.Held
	for _, n := range numbers {
		key := sessionPrefix + strconv.Itoa(n)
		var turns []said
		var date string
		if err := json.Unmarshal(conversation[key], &turns); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrFormat, key, err)
		}
		if raw := conversation[key+"_date_time"]; raw != nil {
			if err := json.Unmarshal(raw, &date); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", ErrFormat, key, err)
			}
		}
		for _, t := range turns {
			all = append(all, t.fact(key, date))
		}
	}
	return all, nil
}

// fact is who spoke, the date of the session, the words, and what a picture shows.
func (s said) fact(session, date string) memory.Held {
	text := fmt.Sprintf("%s (%s): %s", s.Speaker, date, s.Text)
	if s.Caption != "" {
		text += " [" + s.Caption + "]"
	}
	since, _ := time.Parse("3:04 pm on 2 January, 2006", date) // zero where the date is written otherwise
	return memory.Held{Fact: memory.Fact{ID: s.ID, Text: text, Source: cmp.Or(session, "session"), Since: since}}
}
