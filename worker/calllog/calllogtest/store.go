// Package calllogtest owns a store for tests of whatever writes or reads logs:
// in memory, and slow, failing or gone on demand. It keeps the contract of
// store/storetest. It never outlives its test.
package calllogtest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/calllog"
)

// Store keeps logs in memory. The zero value is ready and does as it is asked.
type Store struct {
	mu      sync.Mutex // guards all below; not held while an operation is slow
	delay   time.Duration
	err     error
	batches int
	entries map[key][]turn.Entry // in order of seq
	calls   map[key]calllog.Call
	taught  map[key]memory.Writing
}

type key struct{ org, name string }

// Slow makes each operation take that long.
func (s *Store) Slow(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = delay
}

// Fail makes each operation return err, until it is told nil.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Batches is how many batches it took.
func (s *Store) Batches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches
}

// trouble waits and fails as told.
func (s *Store) trouble(ctx context.Context) error {
	s.mu.Lock()
	delay, err := s.delay, s.err
	s.mu.Unlock()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return err
	}
}

// Append implements calllog.Store.
func (s *Store) Append(ctx context.Context, batch calllog.Batch) error {
	if err := s.trouble(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(batch); err != nil {
		return err
	}
	if s.entries == nil {
		s.entries, s.calls, s.taught = map[key][]turn.Entry{}, map[key]calllog.Call{}, map[key]memory.Writing{}
	}
	for _, entry := range batch.Entries {
		s.insert(batch.Org, entry)
	}
	for _, call := range batch.Calls {
		s.put(batch.Org, call)
	}
	for _, w := range batch.Memories {
		if _, found := s.taught[key{w.Org, w.Call}]; !found {
			s.taught[key{w.Org, w.Call}] = w
		}
	}
	s.batches++
	return nil
}

// Taught is what a call taught, once the store was told.
func (s *Store) Taught(org, call string) (memory.Writing, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, found := s.taught[key{org, call}]
	return w, found
}

// check looks the batch over before anything of it is taken.
func (s *Store) check(batch calllog.Batch) error {
	for _, entry := range batch.Entries {
		log := key{batch.Org, calllog.LogName(entry.Call, entry.Agent)}
		i, found := s.place(log, entry.Seq)
		switch {
		case entry.Ephemeral:
		case !found && s.calls[log].Sealed:
			return calllog.ErrSealed
		case found && (s.entries[log][i].Type != entry.Type || !s.entries[log][i].Time.Equal(entry.Time)):
			return calllog.ErrConflict
		}
	}
	return nil
}

func (s *Store) insert(org string, entry turn.Entry) {
	log := key{org, calllog.LogName(entry.Call, entry.Agent)}
	if i, found := s.place(log, entry.Seq); !found && !entry.Ephemeral {
		s.entries[log] = slices.Insert(s.entries[log], i, entry)
	}
}

func (s *Store) put(org string, call calllog.Call) {
	call.Org = org
	if old, found := s.calls[key{org, call.ID}]; found {
		old.Sealed = old.Sealed || call.Sealed
		if old.Contact == "" {
			old.Contact = call.Contact
		}
		if old.Ended.IsZero() {
			old.Ended, old.Reason = call.Ended, call.Reason
		}
		call = old
	}
	s.calls[key{org, call.ID}] = call
}

func (s *Store) place(log key, seq int64) (int, bool) {
	return slices.BinarySearchFunc(s.entries[log], seq, func(e turn.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
}

// Entries implements calllog.Store.
func (s *Store) Entries(ctx context.Context, org, log string, after int64, limit int) (calllog.Page, error) {
	if err := s.trouble(ctx); err != nil {
		return calllog.Page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.entries[key{org, log}]
	page := calllog.Page{Sealed: s.calls[key{org, log}].Sealed}
	if len(all) > 0 {
		page.Highest = all[len(all)-1].Seq
	}
	i, _ := s.place(key{org, log}, after+1)
	if end := min(len(all), i+limit); end > i {
		page.Entries = slices.Clone(all[i:end])
	}
	return page, nil
}

// Call implements calllog.Calls.
func (s *Store) Call(ctx context.Context, org, id string) (calllog.Call, error) {
	if err := s.trouble(ctx); err != nil {
		return calllog.Call{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	call, found := s.calls[key{org, id}]
	if !found {
		return calllog.Call{}, calllog.ErrUnknownCall
	}
	return call, nil
}

// Calls implements calllog.Calls.
func (s *Store) Calls(ctx context.Context, org string, limit int) ([]calllog.Call, error) {
	if err := s.trouble(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []calllog.Call
	for k, call := range s.calls {
		if k.org == org {
			calls = append(calls, call)
		}
	}
	slices.SortFunc(calls, func(a, b calllog.Call) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID))
	})
	return calls[:min(limit, len(calls))], nil
}
