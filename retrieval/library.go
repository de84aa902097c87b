package retrieval

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"headstart/retrieval/analyse"
)

// Library holds the bases that are in memory, by org and name. Readers never
// wait: a Put swaps a whole map in. A search keeps the segments that it began
// with. The zero value is an empty library.
type Library struct {
	shelves atomic.Pointer[map[key]*Segment] // read by anyone, never changed in place
	// writing is held by Put and Remove from reading the map to swapping it.
	writing sync.Mutex
	silent  sync.Map // of orgs that search nothing: string to true
}

// key is never a joined string: no org can be spelt so that it meets another's.
type key struct{ org, base string }

// Put makes a segment the one that searches of its org read, in one step.
func (l *Library) Put(org string, s *Segment) {
	l.swap(func(m map[key]*Segment) { m[key{org, s.base}] = s })
}

// LargeBase is a base that is too large to hold: see Large.
type LargeBase struct {
	Name, Language string
	Model          string // the embedder of its vectors, and their length; empty and 0 without
	Dim            int
	Calibration    *Calibration // dropped when it is of another embedder, or not valid
}

// PutLarge makes a base one that is searched where it is kept, in place of its
// segment if there is one.
func (l *Library) PutLarge(org string, b LargeBase) {
	s := &Segment{base: b.Name, analyser: analyse.New(b.Language), model: b.Model, dim: b.Dim, large: true}
	s = s.Calibrated(b.Calibration)
	l.swap(func(m map[key]*Segment) { m[key{org, b.Name}] = s })
}

// Remove takes a base away; searches of it find it not ready.
func (l *Library) Remove(org, base string) {
	l.swap(func(m map[key]*Segment) { delete(m, key{org, base}) })
}

// Get returns a base of an org, or false while it is not in memory.
func (l *Library) Get(org, base string) (*Segment, bool) {
	s, ok := l.all()[key{org, base}]
	if ok && s.large {
		return nil, false
	}
	return s, ok
}

// Model is the embedder of a base that can be searched, and the length of its
// vectors; empty and 0 when it has none. Not ok, there is no such base.
func (l *Library) Model(org, base string) (name string, dim int, ok bool) {
	s, ok := l.all()[key{org, base}]
	if !ok {
		return "", 0, false
	}
	return s.model, s.dim, true
}

// Bases returns the names of the bases of an org that can be searched, sorted.
func (l *Library) Bases(org string) []string {
	var names []string
	for k := range l.all() {
		if k.org == org {
			names = append(names, k.base)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// Silence makes an org search nothing, whatever bases it has, or takes that back:
// its searches are then ErrNoBase. A quota of zero chunks is such an org.
func (l *Library) Silence(org string, silent bool) {
	if silent {
		l.silent.Store(org, true)
	} else {
		l.silent.Delete(org)
	}
}

// Silent tells whether an org searches nothing.
func (l *Library) Silent(org string) bool {
	_, silent := l.silent.Load(org)
	return silent
}

func (l *Library) all() map[key]*Segment {
	if m := l.shelves.Load(); m != nil {
		return *m
	}
	return nil
}

func (l *Library) swap(change func(map[key]*Segment)) {
	l.writing.Lock()
	defer l.writing.Unlock()
	next := maps.Clone(l.all())
	if next == nil {
		next = make(map[key]*Segment)
	}
	change(next)
	l.shelves.Store(&next)
}
