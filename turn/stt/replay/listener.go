package replay

import (
	"time"

	"headstart/turn/stt"
)

const (
	frame     = 20 * time.Millisecond
	frameSize = stt.SampleRate / 50

	pauseAfter   = 15   // frames without speech, 300 ms: the next speech is another utterance
	openingUntil = 75   // frames, 1.5 s: so long may it take to tell which recording began
	elsewhere    = 25   // frames, 500 ms: as much must be heard to find a recording in its middle
	lostBelow    = 0.45 // a score: what is heard is not the recording followed any more
	lostAfter    = 10   // frames of that
	mutedAfter   = 15   // frames of silence in place of speech: the recording was cut off
	realign      = 0.03 // by so much must a place nearby be better
)

// sureness is what it takes to name a recording.
type sureness struct {
	score, margin, weight float32
	frames                int // in a row
}

// From the recordings of testdata/calls, each heard while it was not among those
// looked for. The same voice saying something else reaches this about once in a
// hundred times, in noise; it is then followed for a few words at most.
var (
	fromStart = sureness{score: 0.66, margin: 0.14, weight: 10, frames: 2}
	partway   = sureness{score: 0.72, margin: 0.2, weight: 25, frames: 5}
)

// listener hears one call, frame by frame.
type listener struct {
	config Config
	match  *matcher
	tell   func(stt.Event)
	room   room

	part  []int16 // less than a frame, left over
	last  [window]int16
	heard time.Duration // audio heard

	speaking bool
	age      int // frames since speech began
	quiet    int // frames since speech was last heard
	sure     [2]int
	follow   *following // nil while nothing is recognised
}

func newListener(config Config, match *matcher, tell func(stt.Event)) *listener {
	return &listener{config: config, match: match, tell: tell}
}

// hear takes audio.
func (l *listener) hear(pcm []int16) {
	l.part = append(l.part, pcm...)
	for len(l.part) >= frameSize {
		l.frame(l.part[:frameSize])
		l.part = l.part[frameSize:]
	}
}

func (l *listener) frame(pcm []int16) {
	copy(l.last[:], l.last[frameSize:])
	copy(l.last[window-frameSize:], pcm)
	l.heard += frame
	sound, weight := l.room.clear(heardIn(&l.last), silent(pcm))
	l.match.hear(sound.fingerprint(), weight)
	l.notice(weight)
	if l.follow == nil {
		l.look()
	} else if l.follow.next(weight) {
		l.leave()
	}
}

// silent tells digital silence, such as stands in for a lost frame.
func silent(pcm []int16) bool {
	for _, sample := range pcm {
		if sample < -1 || sample > 1 {
			return false
		}
	}
	return true
}

// notice follows when speech begins and pauses.
func (l *listener) notice(weight float32) {
	if weight > 0 {
		if !l.speaking {
			l.speaking, l.age, l.sure = true, 0, [2]int{}
		}
		l.quiet = 0
	} else if l.quiet++; l.quiet >= pauseAfter {
		l.speaking = false
	}
	if l.speaking {
		l.age++
	}
}

// look names the recording that is being spoken, once it is clear.
func (l *listener) look() {
	if !l.speaking || l.quiet > 0 {
		return // silence makes nothing clearer
	}
	if l.age <= openingUntil {
		best := l.match.opening(2 * l.age)
		if l.counts(0, best, fromStart) && l.match.anywhere().score <= best.score+realign {
			l.begin(best, 0)
			return
		}
	}
	if l.age >= elsewhere {
		if best := l.match.anywhere(); l.counts(1, best, partway) {
			l.begin(best, l.missed(best))
		}
	}
}

// counts counts how often in a row a place was good enough.
func (l *listener) counts(way int, best found, need sureness) bool {
	if best.score < need.score || best.score-best.rival < need.margin || l.match.weight(best.place) < need.weight {
		l.sure[way] = 0
		return false
	}
	l.sure[way]++
	return l.sure[way] >= need.frames
}

// missed counts the words of a recording that were over before speech began
// here, or had begun.
func (l *listener) missed(at found) int {
	from := reached(at.step) - time.Duration(l.age+1)*frame - 2*step
	words := l.match.recordings[at.recording].words
	for n, w := range words {
		if w.start >= from {
			return n
		}
	}
	return len(words)
}

func (l *listener) begin(at found, missed int) {
	r := &l.match.recordings[at.recording]
	if missed == len(r.words) {
		return
	}
	l.follow = &following{listener: l, place: at.place, recording: r, told: missed, known: missed, interimAt: l.heard, score: at.score}
	start := l.follow.live(r.words[missed].start)
	l.tell(stt.Event{Kind: stt.SpeechStarted, Start: start, End: start})
	if l.follow.speak() {
		l.leave()
	}
}

// leave ends the utterance; what comes next is another one.
func (l *listener) leave() {
	l.follow, l.speaking, l.sure = nil, false, [2]int{}
	l.match.forget()
}

// flush makes final what was heard, to the last word's end.
func (l *listener) flush() {
	if l.follow != nil && l.follow.flush() {
		l.leave()
	}
}

// stop is the end of the audio.
func (l *listener) stop() {
	if l.follow != nil {
		l.follow.end()
	}
}
