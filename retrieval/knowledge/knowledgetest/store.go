// Package knowledgetest is a store of bases in memory, for tests. It keeps the
// contract of package knowledge, which storetest holds it to, counts what it is
// asked, and fails where a test tells it to.
package knowledgetest

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

// Store is a store in memory. The zero value is an empty one.
type Store struct {
	// mu guards all below. Nothing is called under it but what Fail does.
	mu       sync.Mutex
	fail     func(method string) error
	asked    map[string]int
	revision int64
	bases    map[key]*base
	quotas   map[string]knowledge.Quota
	vectors  map[knowledge.Space]map[knowledge.Digest]kept
	watchers []chan key
}

type key struct{ org, base string }

type base struct {
	facts knowledge.Base
	files map[string]knowledge.Cut
}

type kept struct {
	vector []float32
	at     time.Time
}

var _ knowledge.Store = (*Store)(nil)

// Fail makes methods fail with what f says of their names, before they do
// anything. nil makes them well again.
func (s *Store) Fail(f func(method string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
}

// Asked is how often each method was called so far, and forgets it.
func (s *Store) Asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// enter locks the store for a method. The caller unlocks it, whatever comes.
func (s *Store) enter(ctx context.Context, method string) error {
	s.mu.Lock()
	if s.asked == nil {
		s.asked = make(map[string]int)
	}
	s.asked[method]++
	if s.fail != nil {
		if err := s.fail(method); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (s *Store) find(org, name string) (*base, error) {
	if b, ok := s.bases[key{org, name}]; ok {
		return b, nil
	}
	return nil, knowledge.ErrUnknownBase
}

// touch gives a base that changed its revision, and tells watchers.
func (s *Store) touch(b *base) {
	s.revision++
	b.facts.Revision, b.facts.Updated = s.revision, time.UnixMicro(time.Now().UnixMicro())
	b.facts.Files, b.facts.Chunks = len(b.files), 0
	for _, c := range b.files {
		b.facts.Chunks += len(c.Pieces)
	}
	s.tell(key{b.facts.Org, b.facts.Name})
}

func (s *Store) tell(k key) {
	for _, w := range s.watchers {
		select {
		case w <- k:
		default: // it holds more changes than any test makes
		}
	}
}

// Bases implements knowledge.Catalogue.
func (s *Store) Bases(ctx context.Context, org string) ([]knowledge.Base, error) {
	err := s.enter(ctx, "Bases")
	defer s.mu.Unlock()
	return s.list(func(b *base) bool { return b.facts.Org == org }), err
}

// AllBases implements knowledge.Catalogue.
func (s *Store) AllBases(ctx context.Context) ([]knowledge.Base, error) {
	err := s.enter(ctx, "AllBases")
	defer s.mu.Unlock()
	return s.list(func(*base) bool { return true }), err
}

func (s *Store) list(want func(*base) bool) []knowledge.Base {
	var list []knowledge.Base
	for _, b := range s.bases {
		if want(b) {
			list = append(list, b.facts)
		}
	}
	slices.SortFunc(list, func(a, b knowledge.Base) int {
		return cmp.Or(strings.Compare(a.Org, b.Org), strings.Compare(a.Name, b.Name))
	})
	return list
}

// Files implements knowledge.Catalogue.
func (s *Store) Files(ctx context.Context, org, name string) (knowledge.Base, []knowledge.File, error) {
	err := s.enter(ctx, "Files")
	defer s.mu.Unlock()
	b, findErr := s.find(org, name)
	if err = cmp.Or(err, findErr); err != nil {
		return knowledge.Base{}, nil, err
	}
	var files []knowledge.File
	for _, path := range slices.Sorted(maps.Keys(b.files)) {
		files = append(files, b.files[path].File)
	}
	return b.facts, files, nil
}

// Read implements knowledge.Reader.
func (s *Store) Read(ctx context.Context, org, name string, do func(knowledge.Base, iter.Seq2[knowledge.Piece, error]) error) error {
	facts, pieces, err := s.pieces(ctx, org, name)
	if err != nil {
		return err
	}
	return do(facts, func(yield func(knowledge.Piece, error) bool) {
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
	})
}

func (s *Store) pieces(ctx context.Context, org, name string) (knowledge.Base, []knowledge.Piece, error) {
	err := s.enter(ctx, "Read")
	defer s.mu.Unlock()
	b, findErr := s.find(org, name)
	if err = cmp.Or(err, findErr); err != nil {
		return knowledge.Base{}, nil, err
	}
	var all []knowledge.Piece
	for _, path := range slices.Sorted(maps.Keys(b.files)) {
		for _, p := range b.files[path].Pieces {
			p.Vector = nil
			if b.facts.Model != "" {
				p.Vector = s.vectors[space(b)][knowledge.DigestOf(p.Indexed())].vector
			}
			all = append(all, p)
		}
	}
	return b.facts, all, nil
}

func space(b *base) knowledge.Space {
	return knowledge.Space{Org: b.facts.Org, Model: b.facts.Model, Dim: b.facts.Dim}
}

// Watch implements knowledge.Watcher.
func (s *Store) Watch(ctx context.Context, changed func(org, base string)) error {
	changes := make(chan key, 1000)
	err := s.enter(ctx, "Watch")
	if err == nil {
		s.watchers = append(s.watchers, changes)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	defer s.leave(changes)
	changed("", "")
	for {
		select {
		case <-ctx.Done():
			return nil
		case k := <-changes:
			changed(k.org, k.base)
		}
	}
}

func (s *Store) leave(changes chan key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = slices.DeleteFunc(s.watchers, func(w chan key) bool { return w == changes })
}

// Quota implements knowledge.Orgs.
func (s *Store) Quota(ctx context.Context, org string) (knowledge.Quota, error) {
	err := s.enter(ctx, "Quota")
	defer s.mu.Unlock()
	return s.quotas[org], err
}

// SetQuota implements knowledge.Orgs.
func (s *Store) SetQuota(ctx context.Context, org string, q knowledge.Quota) error {
	err := errors.Join(s.enter(ctx, "SetQuota"), knowledge.CheckName(org))
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	if s.quotas == nil {
		s.quotas = make(map[string]knowledge.Quota)
	}
	s.quotas[org] = q
	s.tell(key{org, ""})
	return nil
}

// Orgs implements knowledge.Orgs.
func (s *Store) Orgs(ctx context.Context) ([]knowledge.Org, error) {
	err := s.enter(ctx, "Orgs")
	defer s.mu.Unlock()
	orgs := make(map[string]knowledge.Org)
	for name, q := range s.quotas {
		orgs[name] = knowledge.Org{Name: name, Quota: q}
	}
	for k, b := range s.bases {
		o := orgs[k.org]
		o.Name, o.Bases, o.Chunks = k.org, o.Bases+1, o.Chunks+b.facts.Chunks
		orgs[k.org] = o
	}
	return slices.SortedFunc(maps.Values(orgs), func(a, b knowledge.Org) int { return strings.Compare(a.Name, b.Name) }), err
}

func mismatch(b knowledge.Base, model string, dim int) error {
	return retrieval.ErrMismatch{Base: b.Name, Holds: b.Model, HoldsDim: b.Dim, Got: model, GotDim: dim}
}
