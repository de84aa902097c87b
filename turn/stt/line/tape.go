package line

import (
	"math"
	"slices"
	"sync"
	"time"

	"headstart/turn/stt"
)

// tape keeps the caller's audio until its text is final, so that a new
// connection hears again what the lost one had not settled. It knows which
// audio the current connection was sent and where that stands in the call.
//
// The intake appends (add, finish), the connection's sender takes (take), the
// reader settles; rewind is called between connections.
type tape struct {
	limit int64         // samples kept at most
	wake  chan struct{} // holds a token when there may be something to take

	mu       sync.Mutex // guards what follows
	pieces   []piece
	sent     int      // pieces that this connection was sent
	end      int64    // samples appended in all
	next     int64    // the sample that the connection should be sent next
	settled  int64    // samples whose text is final
	wire     int64    // samples that this connection was sent
	splices  []splice // where the connection's audio stands in the call's
	dropped  int64    // samples that were neither sent nor settled in time
	finished bool
}

// piece is a stretch of audio, or a flush when it has none.
type piece struct {
	start int64
	pcm   []int16
}

func (p piece) stop() int64 { return p.start + int64(len(p.pcm)) }

// splice says that the connection's sample wire is the call's sample call. Up
// to the next splice both count on alike, but for a hush, which takes none of
// the call's time.
type splice struct {
	wire, call int64
	hush       bool
}

// portion is what the sender has to send next: audio, a flush, the end, or
// nothing yet.
type portion struct {
	pcm   [][]int16
	flush bool
	end   bool
}

// maxPortion bounds one message of audio, 200 ms: what was kept goes out in
// few messages, and each is short enough for the write deadline.
const maxPortion = stt.SampleRate / 5

func newTape(keep time.Duration) *tape {
	return &tape{limit: samples(keep), wake: make(chan struct{}, 1)}
}

func (t *tape) add(in stt.Input) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(in.PCM) > 0 {
		t.pieces = append(t.pieces, piece{start: t.end, pcm: in.PCM})
		t.end += int64(len(in.PCM))
	}
	if in.Flush && !t.flushing() {
		t.pieces = append(t.pieces, piece{start: t.end})
	}
	t.forget()
	t.signal()
}

// flushing tells whether a flush stands at the end already.
func (t *tape) flushing() bool {
	n := len(t.pieces)
	return n > t.sent && len(t.pieces[n-1].pcm) == 0
}

// forget lets go of the oldest audio beyond the limit.
func (t *tape) forget() {
	for len(t.pieces) > 0 && t.end-t.pieces[0].start > t.limit {
		t.shift()
	}
}

func (t *tape) shift() {
	t.pieces[0] = piece{} // let the audio go before the array does
	t.pieces = t.pieces[1:]
	t.sent = max(0, t.sent-1)
}

func (t *tape) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finished = true
	t.signal()
}

func (t *tape) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// rewind begins a connection at the first audio without a final text.
func (t *tape) rewind() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent, t.wire, t.next = 0, 0, t.settled
	t.splices = append(t.splices[:0], splice{wire: 0, call: t.settled})
}

// take gives the sender its next portion.
func (t *tape) take() portion {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out portion
	for size := 0; t.sent < len(t.pieces); {
		p := t.pieces[t.sent]
		if len(p.pcm) == 0 && len(out.pcm) > 0 || size > 0 && (size+len(p.pcm) > maxPortion || p.start > t.next) {
			return out
		}
		t.sent++
		if len(p.pcm) == 0 {
			out.flush = true
			return out
		}
		if pcm := t.unsettled(p); len(pcm) > 0 {
			out.pcm = append(out.pcm, pcm)
			size += len(pcm)
		}
	}
	out.end = t.finished && len(out.pcm) == 0
	return out
}

// unsettled is the part of p that the connection has to hear, now sent.
func (t *tape) unsettled(p piece) []int16 {
	if p.stop() <= t.next {
		return nil
	}
	if p.start > t.next {
		t.dropped += p.start - t.next
		t.next, t.settled = p.start, p.start
		t.splices = append(t.splices, splice{wire: t.wire, call: p.start})
	}
	pcm := p.pcm[t.next-p.start:]
	t.next += int64(len(pcm))
	t.wire += int64(len(pcm))
	return pcm
}

// at places a time of the connection's audio in the call's.
func (t *tape) at(seconds float64) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return duration(t.call(seconds))
}

func (t *tape) call(seconds float64) int64 {
	// Past what was sent is a vendor's rounding, or its mistake.
	wire := int64(math.Round(min(max(seconds, 0)*stt.SampleRate, float64(t.wire))))
	for _, s := range slices.Backward(t.splices) {
		switch {
		case wire < s.wire:
		case s.hush:
			return s.call
		default:
			return s.call + wire - s.wire
		}
	}
	return wire
}

// hush notes that the connection was sent silence that is none of the call's.
func (t *tape) hush(samples int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.splices)
	if n > 0 && t.splices[n-1].call == t.next {
		n-- // no audio followed it
	}
	t.splices = t.splices[:n]
	if n == 0 || !t.splices[n-1].hush {
		t.splices = append(t.splices, splice{wire: t.wire, call: t.next, hush: true})
	}
	t.wire += samples
	t.splices = append(t.splices, splice{wire: t.wire, call: t.next})
}

// settle says that the text is final up to a time of the connection's audio.
func (t *tape) settle(seconds float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settled = max(t.settled, min(t.call(seconds), t.next))
	for t.sent > 0 && t.pieces[0].stop() <= t.settled {
		t.shift()
	}
}

func (t *tape) lost() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return duration(t.dropped)
}

func samples(d time.Duration) int64 { return int64(d) * stt.SampleRate / int64(time.Second) }

func duration(samples int64) time.Duration {
	return time.Duration(samples) * time.Second / stt.SampleRate
}
