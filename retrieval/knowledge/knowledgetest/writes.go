package knowledgetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/knowledge"
)

// Make implements knowledge.Writer.
func (s *Store) Make(ctx context.Context, want knowledge.Base) (knowledge.Base, error) {
	err := s.enter(ctx, "Make")
	defer s.mu.Unlock()
	if err != nil {
		return knowledge.Base{}, err
	}
	b, err := s.find(want.Org, want.Name)
	if err != nil {
		return s.makeNew(want)
	}
	same := b.facts.Model == want.Model && b.facts.Dim == want.Dim
	switch {
	case !same && b.facts.Chunks > 0:
		return knowledge.Base{}, mismatch(b.facts, want.Model, want.Dim)
	case same && b.facts.Language == want.Language:
		return b.facts, nil
	case !same:
		b.facts.Calibration = nil
	}
	b.facts.Language, b.facts.Model, b.facts.Dim = want.Language, want.Model, want.Dim
	s.touch(b)
	return b.facts, nil
}

func (s *Store) makeNew(want knowledge.Base) (knowledge.Base, error) {
	if err := errors.Join(knowledge.CheckName(want.Org), knowledge.CheckName(want.Name)); err != nil {
		return knowledge.Base{}, err
	}
	b := &base{files: make(map[string]knowledge.Cut)}
	b.facts = knowledge.Base{Org: want.Org, Name: want.Name, Language: want.Language, Model: want.Model, Dim: want.Dim}
	if s.bases == nil {
		s.bases = make(map[key]*base)
	}
	s.bases[key{want.Org, want.Name}] = b
	s.touch(b)
	return b.facts, nil
}

// Replace implements knowledge.Writer.
func (s *Store) Replace(ctx context.Context, org, name string, c knowledge.Change) (knowledge.Base, error) {
	err := s.enter(ctx, "Replace")
	defer s.mu.Unlock()
	b, findErr := s.find(org, name)
	if err = cmp.Or(err, findErr); err != nil {
		return knowledge.Base{}, err
	}
	if err := s.check(b, c); err != nil {
		return knowledge.Base{}, err
	}
	before := len(b.files)
	for _, path := range c.Remove {
		delete(b.files, path)
	}
	if len(c.Put) == 0 && len(b.files) == before {
		return b.facts, nil
	}
	for _, cut := range c.Put {
		cut.Pieces = slices.Clone(cut.Pieces)
		for i := range cut.Pieces {
			cut.Pieces[i].Path, cut.Pieces[i].Seq = cut.Path, i
			if b.facts.Model != "" {
				s.keep(space(b), knowledge.DigestOf(cut.Pieces[i].Indexed()), cut.Pieces[i].Vector)
			}
		}
		cut.Chunks = len(cut.Pieces)
		b.files[cut.Path] = cut
	}
	s.touch(b)
	for _, cut := range c.Put {
		cut = b.files[cut.Path]
		cut.Updated = b.facts.Updated
		b.files[cut.Path] = cut
	}
	return b.facts, nil
}

// check refuses a change before anything is done.
func (s *Store) check(b *base, c knowledge.Change) error {
	if len(c.Put) > 0 && (c.Model != b.facts.Model || c.Dim != b.facts.Dim) {
		return mismatch(b.facts, c.Model, c.Dim)
	}
	growth, gone := 0, slices.Clone(c.Remove)
	for _, cut := range c.Put {
		growth, gone = growth+len(cut.Pieces), append(gone, cut.Path)
		if err := knowledge.CheckPath(cut.Path); err != nil {
			return err
		}
		for _, p := range cut.Pieces {
			if len(p.Vector) != c.Dim {
				return fmt.Errorf("vector of %d dimensions in %s", len(p.Vector), cut.Path)
			}
		}
	}
	slices.Sort(gone)
	for _, path := range slices.Compact(gone) {
		growth -= len(b.files[path].Pieces)
	}
	holds, quota := 0, s.quotas[b.facts.Org].KnowledgeChunks
	for _, other := range s.bases {
		if other.facts.Org == b.facts.Org {
			holds += other.facts.Chunks
		}
	}
	if quota != nil && growth > 0 && holds+growth > *quota {
		return knowledge.QuotaError{Org: b.facts.Org, Limit: *quota, Holds: holds, Needs: holds + growth}
	}
	return nil
}

// Remove implements knowledge.Writer.
func (s *Store) Remove(ctx context.Context, org, name string) error {
	err := s.enter(ctx, "Remove")
	defer s.mu.Unlock()
	_, findErr := s.find(org, name)
	if err = cmp.Or(err, findErr); err != nil {
		return err
	}
	delete(s.bases, key{org, name})
	s.tell(key{org, name})
	return nil
}

// Calibrate implements knowledge.Calibrations.
func (s *Store) Calibrate(ctx context.Context, org, name string, c *retrieval.Calibration) (knowledge.Base, error) {
	err := s.enter(ctx, "Calibrate")
	defer s.mu.Unlock()
	b, findErr := s.find(org, name)
	if err = cmp.Or(err, findErr); err != nil {
		return knowledge.Base{}, err
	}
	if c != nil && (c.Embedder != b.facts.Model || c.Dim != b.facts.Dim) {
		return knowledge.Base{}, mismatch(b.facts, c.Embedder, c.Dim)
	}
	b.facts.Calibration = c
	s.touch(b)
	return b.facts, nil
}

// Vectors implements knowledge.Vectors.
func (s *Store) Vectors(ctx context.Context, sp knowledge.Space, texts []knowledge.Digest) ([][]float32, error) {
	err := s.enter(ctx, "Vectors")
	defer s.mu.Unlock()
	vectors := make([][]float32, len(texts))
	for i, d := range texts {
		vectors[i] = slices.Clone(s.vectors[sp][d].vector)
	}
	return vectors, err
}

// Keep implements knowledge.Vectors.
func (s *Store) Keep(ctx context.Context, sp knowledge.Space, texts []knowledge.Digest, vectors [][]float32) error {
	err := s.enter(ctx, "Keep")
	defer s.mu.Unlock()
	if err != nil {
		return err
	}
	for _, v := range vectors {
		if len(v) != sp.Dim {
			return fmt.Errorf("vector of %d dimensions, want %d", len(v), sp.Dim)
		}
	}
	for i, d := range texts {
		s.keep(sp, d, vectors[i])
	}
	return nil
}

func (s *Store) keep(sp knowledge.Space, d knowledge.Digest, v []float32) {
	if s.vectors == nil {
		s.vectors = make(map[knowledge.Space]map[knowledge.Digest]kept)
	}
	if s.vectors[sp] == nil {
		s.vectors[sp] = make(map[knowledge.Digest]kept)
	}
	if _, ok := s.vectors[sp][d]; !ok {
		s.vectors[sp][d] = kept{slices.Clone(v), time.Now()}
	}
}

// Sweep implements knowledge.Vectors.
func (s *Store) Sweep(ctx context.Context, org string, before time.Time) (int, error) {
	err := s.enter(ctx, "Sweep")
	defer s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	needed := make(map[knowledge.Space]map[knowledge.Digest]bool)
	for _, b := range s.bases {
		if needed[space(b)] == nil {
			needed[space(b)] = make(map[knowledge.Digest]bool)
		}
		for _, d := range b.digests() {
			needed[space(b)][d] = true
		}
	}
	n := 0
	for sp, vectors := range s.vectors {
		for d, k := range vectors {
			if sp.Org == org && !needed[sp][d] && k.at.Before(before) {
				delete(vectors, d)
				n++
			}
		}
	}
	return n, nil
}

// digests are of the texts of a base, each once, in order.
func (b *base) digests() []knowledge.Digest {
	var all []knowledge.Digest
	for _, cut := range b.files {
		for _, p := range cut.Pieces {
			all = append(all, knowledge.DigestOf(p.Indexed()))
		}
	}
	slices.SortFunc(all, func(a, b knowledge.Digest) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(all)
}

// Missing implements knowledge.Reembedding.
func (s *Store) Missing(ctx context.Context, name string, sp knowledge.Space, after knowledge.Digest, limit int) ([]knowledge.Text, error) {
	err := s.enter(ctx, "Missing")
	defer s.mu.Unlock()
	b, findErr := s.find(sp.Org, name)
	if err != nil || findErr != nil {
		return nil, err
	}
	words := make(map[knowledge.Digest]string)
	for _, cut := range b.files {
		for _, p := range cut.Pieces {
			words[knowledge.DigestOf(p.Indexed())] = p.Indexed()
		}
	}
	var texts []knowledge.Text
	for _, d := range b.digests() {
		if _, ok := s.vectors[sp][d]; !ok && bytes.Compare(d[:], after[:]) > 0 && len(texts) < limit {
			texts = append(texts, knowledge.Text{Digest: d, Text: words[d]})
		}
	}
	return texts, nil
}

// Adopt implements knowledge.Reembedding.
func (s *Store) Adopt(ctx context.Context, name string, sp knowledge.Space) (knowledge.Base, error) {
	err := s.enter(ctx, "Adopt")
	defer s.mu.Unlock()
	b, findErr := s.find(sp.Org, name)
	if err = cmp.Or(err, findErr); err != nil {
		return knowledge.Base{}, err
	}
	if space(b) == sp {
		return b.facts, nil
	}
	for _, d := range b.digests() {
		if _, ok := s.vectors[sp][d]; !ok && sp.Model != "" {
			return knowledge.Base{}, knowledge.ErrUnstaged
		}
	}
	b.facts.Model, b.facts.Dim, b.facts.Calibration = sp.Model, sp.Dim, nil
	s.touch(b)
	return b.facts, nil
}
