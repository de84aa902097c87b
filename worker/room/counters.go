package room

import "sync/atomic"

// Counters tells what a room has heard and said, in frames of 20 ms.
type Counters struct {
	FramesHeard  int64 // given to Audio
	FramesSaid   int64 // of speech, sent
	FramesSent   int64 // of speech and of silence, sent
	FramesLate   int64 // of those, the ones that left more than 10 ms after their time, and those that a stall left out
	FramesLost   int64 // packets of the caller that never came
	Concealed    int64 // frames made up for them
	Silence      int64 // frames filled in because nothing was sent
	Trimmed      int64 // frames dropped to keep the samples on the clock
	Late         int64 // packets that came after their place had passed, or twice
	Reordered    int64 // packets that were put back in their place
	Broken       int64 // packets, and recordings, that did not decode
	StaleAudio   int64 // recordings of before the call that came too late to be heard
	DroppedAudio int64 // frames and packets that nobody took in time
	Unsent       int64 // frames that could not be encoded or written
	Abandoned    int64 // things that had to be left behind, because they did not end in time
}

// counts is written by the loops.
type counts struct {
	heard, said, sent, tardy, lost, concealed, silence, trimmed, late, reordered, undecoded, broken, overflow, stale, dropped, unsent, abandoned atomic.Int64
}

// Counters tells what the room has done so far.
func (r *Room) Counters() Counters {
	c := &r.count
	return Counters{
		FramesHeard: c.heard.Load(), FramesSaid: c.said.Load(), FramesSent: c.sent.Load(), FramesLate: c.tardy.Load(), FramesLost: c.lost.Load(), Concealed: c.concealed.Load(),
		Silence: c.silence.Load(), Trimmed: c.trimmed.Load(), Late: c.late.Load(), Broken: c.undecoded.Load() + c.broken.Load(),
		DroppedAudio: c.dropped.Load() + c.overflow.Load(), StaleAudio: c.stale.Load(), Unsent: c.unsent.Load(), Abandoned: c.abandoned.Load() + r.outbox.Abandoned(), Reordered: c.reordered.Load(),
	}
}
