package audio

import (
	"fmt"
	"time"
)

// Queue holds speech that waits to be said, as 48 kHz mono, and knows how much
// of what it was given has left. Not safe for concurrent use.
type Queue struct {
	pcm       []int16
	head      int // what of pcm has left
	rate      int
	resampler *Resampler

	given time.Duration // in all, less what was cut
	base  time.Duration // of it, what had left when out was last 0
	out   int64         // samples that have left since
}

// Put appends mono speech of any rate that a Resampler takes.
func (q *Queue) Put(pcm []int16, rate int) error {
	if rate != q.rate {
		if err := q.retune(rate); err != nil {
			return err
		}
	}
	q.compact()
	q.pcm = q.resampler.Resample(q.pcm, pcm)
	q.given += Duration(int64(len(pcm)), rate)
	return nil
}

// retune ends the stream at one rate and begins one at another.
func (q *Queue) retune(rate int) error {
	next, err := NewResampler(rate, SaidRate)
	if err != nil {
		return fmt.Errorf("queue speech: %w", err)
	}
	q.flush()
	q.resampler, q.rate = next, rate
	return nil
}

func (q *Queue) flush() {
	if q.resampler != nil {
		q.pcm = q.resampler.Flush(q.pcm)
	}
}

// compact moves what waits to the front, so that the slice stops growing.
func (q *Queue) compact() {
	kept := copy(q.pcm, q.pcm[q.head:])
	q.pcm, q.head = q.pcm[:kept], 0
}

// Next writes the next samples to frame, silence after the last, and tells how
// many of them are speech.
func (q *Queue) Next(frame []int16) int {
	if len(q.pcm)-q.head < len(frame) {
		q.flush() // nothing followed in time: the end of the filter is due now
	}
	n := copy(frame, q.pcm[q.head:])
	clear(frame[n:])
	q.head += n
	q.out += int64(n)
	if q.head == len(q.pcm) {
		q.pcm, q.head = q.pcm[:0], 0
		q.base, q.out = q.given, 0
	}
	return n
}

// Queued is how much speech waits.
func (q *Queue) Queued() time.Duration { return Duration(int64(len(q.pcm)-q.head), SaidRate) }

// Cut drops what waits.
func (q *Queue) Cut() {
	played := q.Played()
	if q.resampler != nil {
		q.resampler.restart()
	}
	q.pcm, q.head = q.pcm[:0], 0
	q.given, q.base, q.out = played, played, 0
}

// Played is how much of the speech has left, in all. Once everything has, it is
// exactly what was given and not cut.
func (q *Queue) Played() time.Duration {
	return min(q.base+Duration(q.out, SaidRate), q.given)
}
