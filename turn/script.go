package turn

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"headstart/turn/tts"
)

// script is what one reply says and how far it has got: the clauses as they
// are written, their audio as it is synthesised. The model's goroutine adds
// clauses, the voice's adds audio, the player and the watcher read.
type script struct {
	mu      sync.Mutex
	changed chan struct{} // closed and made anew at every change
	lines   []line
	pieces  []piece
	total   time.Duration // of all audio
	// written and voiced tell that no clauses, or no audio, will follow.
	written, voiced bool
	broken          bool // nothing more of it will be heard
}

// line is one clause.
type line struct {
	tts.Clause
	starts time.Duration // on the reply's own clock, valid once it sounds
	length time.Duration
	sounds bool // some audio of it is here
	whole  bool // all audio of it is here
}

// piece is a stretch of audio on its way to the mouth.
type piece struct {
	pcm  []int16
	rate int
}

func (p piece) length() time.Duration {
	return time.Duration(len(p.pcm)) * time.Second / time.Duration(p.rate)
}

func newScript() *script { return &script{changed: make(chan struct{})} }

// tell wakes whoever waits. mu is held.
func (s *script) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// add appends a clause, and reports whether it is the first that is spoken.
func (s *script) add(c tts.Clause) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = strings.TrimSpace(c.Spoken) != ""
	for _, l := range s.lines {
		first = first && strings.TrimSpace(l.Spoken) == ""
	}
	s.lines = append(s.lines, line{Clause: c})
	s.tell()
	return first
}

func (s *script) addClip(c *Clip) {
	s.add(tts.Clause{Text: c.Text, Spoken: c.Text})
	s.addAudio(tts.Audio{PCM: c.PCM, Last: true}, c.Rate)
}

// addAudio appends audio of a clause, and reports whether it is the first of the reply.
func (s *script) addAudio(a tts.Audio, rate int) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Clause >= len(s.lines) {
		return false
	}
	l := &s.lines[a.Clause]
	l.whole = l.whole || a.Last
	if len(a.PCM) > 0 {
		if !l.sounds {
			l.sounds, l.starts = true, s.total
		}
		next := piece{a.PCM, rate}
		l.length += next.length()
		first = s.total == 0
		s.total += next.length()
		s.pieces = append(s.pieces, next)
	}
	s.tell()
	return first
}

func (s *script) endClauses() { s.end(&s.written) }
func (s *script) endAudio()   { s.end(&s.voiced) }
func (s *script) breakOff()   { s.end(&s.broken) }

func (s *script) end(flag *bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*flag = true
	s.tell()
}

func (s *script) saysAnything() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		if strings.TrimSpace(l.Spoken) != "" {
			return true
		}
	}
	return false
}

// wait waits until ready says so, holding mu while it asks, or ctx ends.
func (s *script) wait(ctx context.Context, ready func() bool) bool {
	for {
		s.mu.Lock()
		ok, changed := ready(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// feed sends the clauses from one on, as they are written, then closes to.
func (s *script) feed(ctx context.Context, from int, to chan<- string) {
	defer close(to)
	for n := from; ; n++ {
		var text string
		var more bool
		ready := func() bool {
			more = n < len(s.lines)
			if more {
				text = s.lines[n].Spoken
			}
			return more || s.written
		}
		if !s.wait(ctx, ready) || !more {
			return
		}
		select {
		case to <- text:
		case <-ctx.Done():
			return
		}
	}
}

// firstSilent is the first clause without audio; clean tells that the one
// before it is whole, so that going on there repeats and drops nothing.
func (s *script) firstSilent() (n int, clean bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n < len(s.lines) && (s.lines[n].sounds || s.lines[n].whole) {
		n++
	}
	return n, n == 0 || s.lines[n-1].whole
}

// piece waits for the n-th stretch of audio; false when there is none to come.
func (s *script) piece(ctx context.Context, n int) (p piece, ok bool) {
	ready := func() bool {
		ok = n < len(s.pieces)
		if ok {
			p = s.pieces[n]
		}
		return ok || s.voiced
	}
	return p, s.wait(ctx, ready) && ok
}

// reached returns what playback has come to since told bytes of the text were
// told: whole words, so that a reader sees what the caller hears.
func (s *script) reached(heard time.Duration, told int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := s.heardLocked(heard)
	if n <= told {
		return ""
	}
	return s.textLocked(n)[told:]
}

// playedSlack is how exactly the mouth knows what has left: one frame.
const playedSlack = 20 * time.Millisecond

// awaitSound waits until there is audio, or none will come.
func (s *script) awaitSound(ctx context.Context) bool {
	return s.wait(ctx, func() bool { return s.total > 0 || s.broken || s.written && s.voiced })
}

// left is how much of the audio that is here has still to be heard.
func (s *script) left(heard time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total - playedSlack - heard
}

// over tells whether everything was written, synthesised and heard.
func (s *script) over(heard time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken || s.written && s.voiced && (s.total == 0 || heard > s.total-playedSlack)
}

// heardText is what a listener heard by a moment of playback: whole clauses,
// and of the one that was cut the words whose share of it had sounded.
func (s *script) heardText(heard time.Duration) (text string, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, whole := s.heardLocked(heard)
	return strings.TrimSpace(s.textLocked(n)), whole
}

// heardLocked is how many bytes of the text were heard. The watcher asks at
// every look, so it builds no text.
func (s *script) heardLocked(heard time.Duration) (n int, whole bool) {
	for _, l := range s.lines {
		switch {
		case !l.sounds && l.whole: // nothing of it can be spoken
			n += len(l.Text)
		case l.sounds && l.whole && heard > l.starts+l.length-playedSlack:
			n += len(l.Text)
		case l.sounds && heard > l.starts:
			return n + spokenPart(l, heard-l.starts), false
		default:
			return n, false
		}
	}
	return n, true
}

// textLocked is the beginning of the text, n bytes of it.
func (s *script) textLocked(n int) string {
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(l.Text[:min(len(l.Text), n-b.Len())])
	}
	return b.String()
}

// secondsPerRune is how long a character sounds while the audio of its clause
// is still coming: 14 a second, an ordinary pace in Spanish and English.
const secondsPerRune = time.Second / 14

// spokenPart is how many bytes of a clause were spoken, to the end of the last
// word that was.
func spokenPart(l line, heard time.Duration) int {
	runes := utf8.RuneCountInString(l.Text)
	length := l.length
	if !l.whole {
		length = max(length, time.Duration(runes)*secondsPerRune)
	}
	if length <= 0 {
		return 0
	}
	end := int(int64(runes) * int64(heard) / int64(length))
	if end >= runes {
		return len(l.Text)
	}
	n, space := 0, 0
	for i, r := range l.Text { // to the rune at end, which may be the space after a word
		if r == ' ' {
			space = i
		}
		if n++; n > end {
			break
		}
	}
	return space
}
