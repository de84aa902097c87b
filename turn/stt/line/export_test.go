package line

import (
	"time"

	"headstart/turn/stt"
)

// Tape is the audio of a call, for tests of its clock.
type Tape struct{ tape *tape }

// NewTape makes one that keeps a minute.
func NewTape() Tape {
	t := newTape(time.Minute)
	t.rewind()
	return Tape{t}
}

// Add appends audio; Take sends all there is and tells how many samples that was.
func (t Tape) Add(n int) { t.tape.add(stt.Input{PCM: make([]int16, n)}) }

// Take sends what there is.
func (t Tape) Take() (n int64) {
	for {
		out := t.tape.take()
		if len(out.pcm) == 0 {
			return n
		}
		for _, pcm := range out.pcm {
			n += int64(len(pcm))
		}
	}
}

// Hush sends silence that is none of the call's.
func (t Tape) Hush(n int64) { t.tape.hush(n) }

// Settle says that the text is final up to a sample of the connection's audio.
func (t Tape) Settle(wire int64) { t.tape.settle(float64(wire) / stt.SampleRate) }

// Rewind begins another connection.
func (t Tape) Rewind() { t.tape.rewind() }

// At places a sample of the connection's audio in the call's.
func (t Tape) At(wire int64) int64 { return samples(t.tape.at(float64(wire) / stt.SampleRate)) }
