package api

import (
	"slices"
	"sync"
)

// kept is how many events a reader who comes back can still be told.
const kept = 4096

// journal is what happened in a visit, for any number of readers.
type journal struct {
	lock    sync.Mutex // guards what follows
	events  []Event    // by Seq
	seq     int64      // of the last event
	ended   bool       // the last event is TypeEnd: nothing follows
	changed chan struct{}
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

// add writes an event down, and never waits for a reader. Words that replace
// those of the event before take its place.
func (j *journal) add(e Event) {
	j.lock.Lock()
	defer j.lock.Unlock()
	if j.ended {
		return
	}
	j.seq++
	e.Seq = j.seq
	if n := len(j.events); n > 0 && replaces(e, j.events[n-1]) {
		j.events = j.events[:n-1]
	}
	j.events = append(j.events, e)
	j.events = j.events[max(0, len(j.events)-kept):]
	j.ended = e.Type == TypeEnd
	close(j.changed)
	j.changed = make(chan struct{})
}

func replaces(next, last Event) bool {
	return next.Type == TypeTranscript && last.Type == TypeTranscript && !last.Final &&
		next.Segment == last.Segment && next.Who == last.Who
}

// after returns what came after an event, whether it is all that there will
// ever be, and what closes when there is more.
func (j *journal) after(seq int64) (events []Event, ended bool, more <-chan struct{}) {
	j.lock.Lock()
	defer j.lock.Unlock()
	i, _ := slices.BinarySearchFunc(j.events, seq+1, func(e Event, seq int64) int { return int(e.Seq - seq) })
	return slices.Clone(j.events[i:]), j.ended, j.changed
}
