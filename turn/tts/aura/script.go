package aura

import (
	"context"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"headstart/turn/tts"
)

// perSecond is how many characters a voice says in a second before it was
// heard: what the turn reckons with as well.
const perSecond = 14

// pace is how fast a voice speaks, learnt from whole turns.
type pace struct {
	mu  sync.Mutex // guards per
	per float64    // samples a character
}

func newPace(rate int) *pace { return &pace{per: float64(rate) / perSecond} }

func (p *pace) get() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.per
}

// learn takes a turn into account. A long one says more than a short one, which
// is mostly its pauses.
func (p *pace) learn(samples, characters int) {
	if samples == 0 || characters == 0 {
		return
	}
	const settled = 200 // characters that weigh as much as all that was known
	weight := float64(characters) / float64(characters+settled)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.per += weight * (float64(samples)/float64(characters) - p.per)
}

// script is the clauses of one turn, read once and kept for a connection that
// has to be told again, and how far their audio has come. One goroutine at a
// time reads clauses, another shares the audio out.
type script struct {
	from <-chan string
	pace *pace

	mu      sync.Mutex // guards what follows
	clauses []clause
	whole   bool // all clauses were read
	at      int  // the clause that sounds now
	given   int  // samples that it was given
	samples int  // in all
}

// clause is one clause; its text is empty when it has no sound.
type clause struct {
	text    string
	samples float64 // its share, by its length
	length  int     // characters
}

func newScript(from <-chan string, p *pace) *script { return &script{from: from, pace: p} }

// clause gives the n-th clause, once it is there; false when there is none, or
// when stop or ctx ended first.
func (s *script) clause(ctx context.Context, stop <-chan struct{}, n int) (string, bool) {
	if ctx.Err() != nil {
		return "", false
	}
	if text, known := s.known(n); known {
		return text, true
	}
	if s.read() {
		return "", false
	}
	select {
	case <-ctx.Done():
		return "", false
	case <-stop:
		return "", false
	case text, ok := <-s.from:
		return s.add(text, ok), ok
	}
}

func (s *script) known(n int) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < len(s.clauses) {
		return s.clauses[n].text, true
	}
	return "", false
}

// read tells whether all clauses were read.
func (s *script) read() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole
}

// add takes a clause, or the end of them, and gives what is to be said of it.
func (s *script) add(text string, more bool) string {
	text = strings.TrimSpace(text)
	if !sounds(text) {
		text = "" // voices make noises of bare punctuation
	}
	per := s.pace.get()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !more {
		s.whole = true
		return ""
	}
	length := utf8.RuneCountInString(text)
	s.clauses = append(s.clauses, clause{text: text, length: length, samples: float64(length) * per})
	return text
}

func sounds(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) })
}

// sounded tells whether any audio was shared out.
func (s *script) sounded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.samples > 0
}

// share gives audio to the clauses that it says. A clause ends when it has its
// share and another one follows; the last one known takes what comes.
func (s *script) share(pcm []int16) []tts.Audio {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples += len(pcm)
	var out []tts.Audio
	for len(pcm) > 0 {
		n := len(pcm)
		last := s.at >= len(s.clauses)-1
		if !last {
			n = min(n, max(0, int(s.clauses[s.at].samples)-s.given))
		}
		piece := tts.Audio{Clause: s.at, PCM: pcm[:n]}
		s.given, pcm = s.given+n, pcm[n:]
		if !last && s.given >= int(s.clauses[s.at].samples) {
			piece.Last = true
			s.at, s.given = s.at+1, 0
		}
		if n == 0 {
			piece.PCM = nil
		}
		out = append(out, piece)
	}
	return out
}

// finish ends the clauses that have not ended, and learns from the turn.
func (s *script) finish() []tts.Audio {
	s.mu.Lock()
	defer s.mu.Unlock()
	length := 0
	for _, c := range s.clauses {
		length += c.length
	}
	s.pace.learn(s.samples, length)
	var out []tts.Audio
	for ; s.at < len(s.clauses); s.at++ {
		out = append(out, tts.Audio{Clause: s.at, Last: true})
	}
	return out
}
