package turntest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/turn/llm"
	"headstart/turn/tts"
)

// Answer is what a Model says to one request.
type Answer struct {
	Text    string        // streamed a word at a time
	First   time.Duration // to the first word
	Between time.Duration // to each next one
	Err     error         // after the text
	Hang    bool          // says nothing more after the text, until cancelled
	Calls   []llm.ToolCall
	Panic   bool // instead of all that
}

// Model answers its script, a request an answer.
type Model struct {
	t testing.TB

	mu       sync.Mutex
	answers  []Answer
	requests []llm.Request
}

// Answers makes a model that gives these answers in order. The test fails when
// it is asked more often, or when an answer is left at its end.
func Answers(t testing.TB, answers ...Answer) *Model {
	m := &Model{t: t, answers: answers}
	t.Cleanup(func() {
		if len(m.answers) > 0 {
			t.Errorf("the model was not asked for %d of its answers", len(m.answers))
		}
	})
	return m
}

// Requests are those that were made.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]llm.Request(nil), m.requests...)
}

func (m *Model) next(req llm.Request) (Answer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	if len(m.answers) == 0 {
		m.t.Errorf("the model was asked once more than it has answers, with %q last", req.Messages[len(req.Messages)-1].Content)
		return Answer{}, false
	}
	a := m.answers[0]
	m.answers = m.answers[1:]
	return a, true
}

// Reply implements turn.Model.
func (m *Model) Reply(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	a, ok := m.next(req)
	if !ok {
		return llm.Result{}, errors.New("no answer left")
	}
	if a.Panic {
		panic("a bug in an adapter")
	}
	wait := a.First
	for _, word := range strings.SplitAfter(a.Text, " ") {
		if word == "" {
			break
		}
		if err := sleep(ctx, wait); err != nil {
			return llm.Result{}, err
		}
		emit(word)
		wait = a.Between
	}
	if a.Hang {
		<-ctx.Done()
		return llm.Result{}, context.Cause(ctx)
	}
	if a.Text == "" {
		if err := sleep(ctx, wait); err != nil {
			return llm.Result{}, err
		}
	}
	return llm.Result{Finish: "stop", ToolCalls: a.Calls, Usage: llm.Usage{PromptTokens: 100, CompletionTokens: len(a.Text) / 4}}, a.Err
}

// VoiceRate is the sample rate of Voice.
const VoiceRate = 16000

// Voice gives 12 ms of audio a character.
type Voice struct {
	First time.Duration // to the first audio of each clause
	// Fail, at a clause counted over all calls from 0, makes the voice err
	// before that clause's audio.
	Fail map[int]error

	mu   sync.Mutex
	said []string
}

// Said are the clauses that were spoken, as the voice was given them.
func (v *Voice) Said() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.said...)
}

// Rate implements turn.Voice.
func (v *Voice) Rate() int { return VoiceRate }

// Speak implements turn.Voice.
func (v *Voice) Speak(ctx context.Context, clauses <-chan string, play func(tts.Audio) error) error {
	return tts.PerClause(ctx, clauses, play, func(ctx context.Context, text string, emit func([]int16) error) error {
		v.mu.Lock()
		n := len(v.said)
		v.said = append(v.said, text)
		v.mu.Unlock()
		if err := sleep(ctx, v.First); err != nil {
			return err
		}
		if err := v.Fail[n]; err != nil {
			return err
		}
		return emit(make([]int16, len([]rune(text))*12*VoiceRate/1000))
	})
}

// Mouth plays in virtual time.
type Mouth struct {
	mu     sync.Mutex
	given  time.Duration // in all
	until  time.Time     // when what was given has been heard
	sounds []Sound
}

// Sound is a stretch during which the mouth made sound.
type Sound struct{ From, To time.Time }

const mouthHolds = 200 * time.Millisecond

// Play implements turn.Mouth.
func (m *Mouth) Play(ctx context.Context, pcm []int16, rate int) error {
	for len(pcm) > 0 {
		n := min(len(pcm), rate/50)
		if err := m.frame(ctx, time.Duration(n)*time.Second/time.Duration(rate)); err != nil {
			return err
		}
		pcm = pcm[n:]
	}
	return nil
}

func (m *Mouth) frame(ctx context.Context, length time.Duration) error {
	m.mu.Lock()
	if m.until.Before(time.Now()) {
		m.until = time.Now()
		m.sounds = append(m.sounds, Sound{From: m.until})
	}
	m.until = m.until.Add(length)
	m.given += length
	m.sounds[len(m.sounds)-1].To = m.until
	over := time.Until(m.until) - mouthHolds
	m.mu.Unlock()
	return sleep(ctx, over)
}

// Cut implements turn.Mouth.
func (m *Mouth) Cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := time.Until(m.until); left > 0 {
		m.given -= left
		m.until = time.Now()
		m.sounds[len(m.sounds)-1].To = m.until
	}
}

// Played implements turn.Mouth, to 20 ms.
func (m *Mouth) Played() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	played := m.given - max(0, time.Until(m.until))
	if played < m.given {
		played = played.Truncate(20 * time.Millisecond)
	}
	return played
}

// Sounds are the stretches of sound so far.
func (m *Mouth) Sounds() []Sound {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Sound(nil), m.sounds...)
}

// Searcher answers every query with the same result, after a while.
type Searcher struct {
	Took   time.Duration
	Result retrieval.Result
	Err    error
	// Deaf ignores its context for so long after it ended.
	Deaf time.Duration
	// Words is what it has at once, given back when its budget is spent.
	Words *retrieval.Result

	mu      sync.Mutex
	queries []retrieval.Query
	ends    []error
}

// Queries are the texts that were searched, in order.
func (s *Searcher) Queries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := make([]string, len(s.queries))
	for i, q := range s.queries {
		texts[i] = q.Text
	}
	return texts
}

// Asked are the searches, in order.
func (s *Searcher) Asked() []retrieval.Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]retrieval.Query(nil), s.queries...)
}

// Cancelled are the causes of the searches that were cancelled.
func (s *Searcher) Cancelled() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.ends...)
}

// Search implements turn.Searcher.
func (s *Searcher) Search(ctx context.Context, q retrieval.Query) (retrieval.Result, error) {
	s.mu.Lock()
	s.queries = append(s.queries, q)
	s.mu.Unlock()
	if err := sleep(ctx, s.Took); err != nil {
		s.mu.Lock()
		s.ends = append(s.ends, err)
		s.mu.Unlock()
		time.Sleep(s.Deaf)
		if s.Words != nil && errors.Is(err, retrieval.ErrBudgetSpent) {
			return *s.Words, nil
		}
		return retrieval.Result{}, err
	}
	return s.Result, s.Err
}

// Recaller recalls the same facts, after a while.
type Recaller struct {
	Took     time.Duration
	Facts    []memory.Fact
	Followed bool
	Err      error

	mu    sync.Mutex // guards asked
	asked []memory.Query
}

// Recall implements turn.Recaller.
func (r *Recaller) Recall(ctx context.Context, q memory.Query) (memory.Recalled, error) {
	r.mu.Lock()
	r.asked = append(r.asked, q)
	r.mu.Unlock()
	if err := sleep(ctx, r.Took); err != nil {
		return memory.Recalled{}, err
	}
	return memory.Recalled{Facts: r.Facts, Followed: r.Followed}, r.Err
}

// Asked returns all queries so far.
func (r *Recaller) Asked() []memory.Query {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// Analyser takes every word of more than three letters for a content word.
type Analyser struct{}

// Content implements turn.Analyser.
func (Analyser) Content(text string) []string {
	var words []string
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		w = strings.Trim(w, "¿?¡!.,")
		if len(w) > 3 && strings.ContainsAny(w, "abcdefghijklmnopqrstuvwxyz") {
			words = append(words, w)
		}
	}
	return words
}

// WorthEarly implements turn.Analyser.
func (a Analyser) WorthEarly(text string) bool { return len(a.Content(text)) >= 2 }

// Worth implements turn.Analyser.
func (a Analyser) Worth(text string) bool { return len(a.Content(text)) >= 1 }

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
