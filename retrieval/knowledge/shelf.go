package knowledge

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

const (
	// settleLeast and settleMost bound how long a shelf lets changes come in before
	// it reads a base again: as long as the last reading took, so that a push of many
	// files costs a worker at most half a core.
	settleLeast = 100 * time.Millisecond
	settleMost  = 5 * time.Second
	// againAfter is when what failed is tried again.
	againAfter = time.Second
)

// Kept is what a shelf needs of a store.
type Kept interface {
	Catalogue
	Reader
	Watcher
	Orgs
}

// ShelfConfig says what a shelf holds. The zero value holds everything.
type ShelfConfig struct {
	// MaxChunks is the size above which a base is not brought into memory but handed
	// to Large; 0 is no limit. Without Large everything is brought into memory.
	MaxChunks int
	// Large is told of a base above MaxChunks, each time that it has changed, and of
	// one that is not any more: then Chunks is 0. It is called by the shelf alone.
	Large func(Base)
	// Changed is told, by the shelf while it runs, that the library is in step with a
	// change of the store, as far as that could be read; nil tells nobody.
	Changed func()
}

// Shelf keeps the library that is searched in step with a store: each base whole,
// as it was at one moment, and an org whose quota is zero silent. A base that
// cannot be read stays as it was. Its methods are called by one goroutine at a
// time; Searchers may read the library meanwhile.
type Shelf struct {
	store   Kept
	library *retrieval.Library
	cfg     ShelfConfig
	log     *zap.Logger
	held    map[place]int64 // revisions, of large bases too
	large   map[place]bool
	silent  map[string]bool
	took    time.Duration // the last reading that changed something
}

// place is where a base stands.
type place struct{ org, base string }

// NewShelf makes a shelf that fills a library.
func NewShelf(store Kept, library *retrieval.Library, cfg ShelfConfig, log *zap.Logger) *Shelf {
	return &Shelf{
		store: store, library: library, cfg: cfg, log: log.Named("shelf"),
		held: make(map[place]int64), large: make(map[place]bool), silent: make(map[string]bool),
	}
}

// Load brings the library in step with the store once. What can be read is
// there when it returns; the error joins what cannot.
func (s *Shelf) Load(ctx context.Context) error {
	began := time.Now()
	orgs, err := s.store.Orgs(ctx)
	if err != nil {
		return fmt.Errorf("load bases: %w", err)
	}
	bases, err := s.store.AllBases(ctx)
	if err != nil {
		return fmt.Errorf("load bases: %w", err)
	}
	s.hush(orgs)
	there := make(map[place]bool, len(bases))
	var errs []error
	for _, b := range bases {
		at := place{b.Org, b.Name}
		there[at] = true
		if revision, ok := s.held[at]; ok && revision == b.Revision {
			continue
		}
		err := s.bring(ctx, b)
		if errors.Is(err, ErrUnknownBase) { // it went meanwhile
			delete(there, at)
			continue
		}
		errs = append(errs, err)
		s.took = time.Since(began)
	}
	for at := range s.held {
		if !there[at] {
			s.drop(at)
		}
	}
	return errors.Join(errs...)
}

// hush silences the orgs that may hold nothing, and no others.
func (s *Shelf) hush(orgs []Org) {
	silent := make(map[string]bool)
	for _, o := range orgs {
		if q := o.Quota.KnowledgeChunks; q != nil && *q == 0 {
			silent[o.Name] = true
			s.library.Silence(o.Name, true)
		}
	}
	for org := range s.silent {
		if !silent[org] {
			s.library.Silence(org, false)
		}
	}
	s.silent = silent
}

// bring reads a base that is not held as it is now.
func (s *Shelf) bring(ctx context.Context, b Base) error {
	at := place{b.Org, b.Name}
	if s.cfg.MaxChunks > 0 && b.Chunks > s.cfg.MaxChunks && s.cfg.Large != nil {
		s.library.Remove(b.Org, b.Name)
		s.cfg.Large(b)
		s.held[at], s.large[at] = b.Revision, true
		return nil
	}
	began := time.Now()
	read, segment, err := Load(ctx, s.store, b.Org, b.Name)
	if err != nil {
		return err
	}
	s.library.Put(b.Org, segment)
	s.smallAgain(at)
	s.held[at] = read.Revision
	s.log.Info("base loaded", zap.String("org", b.Org), zap.String("base", b.Name), zap.Int("files", read.Files),
		zap.Int("chunks", segment.Len()), zap.Int64("revision", read.Revision), zap.Duration("took", time.Since(began)))
	return nil
}

// Load makes the segment of a base as it is at one moment, calibrated as it is. The
// store is let go before the segment is built.
func Load(ctx context.Context, store Reader, org, name string) (base Base, segment *retrieval.Segment, err error) {
	var chunks []chunk.Chunk
	var vectors []float32
	err = store.Read(ctx, org, name, func(b Base, pieces iter.Seq2[Piece, error]) error {
		base = b
		chunks, vectors = make([]chunk.Chunk, 0, b.Chunks), make([]float32, 0, b.Chunks*b.Dim)
		for p, err := range pieces {
			if err != nil {
				return err
			}
			chunks, vectors = append(chunks, p.Chunk), append(vectors, p.Vector...)
		}
		return nil
	})
	if err == nil {
		segment, err = retrieval.Restore(name, base.Language, base.Model, base.Dim, chunks, vectors)
	}
	if err != nil {
		return Base{}, nil, fmt.Errorf("load base %s of %s: %w", name, org, err)
	}
	return base, segment.Calibrated(base.Calibration), nil
}

func (s *Shelf) drop(at place) {
	s.library.Remove(at.org, at.base)
	s.smallAgain(at)
	delete(s.held, at)
	s.log.Info("base removed", zap.String("org", at.org), zap.String("base", at.base))
}

func (s *Shelf) smallAgain(at place) {
	if s.large[at] {
		delete(s.large, at)
		s.cfg.Large(Base{Org: at.org, Name: at.base})
	}
}

// Run keeps the library in step until ctx ends. A store that is away is asked
// again; the library stays as it is meanwhile.
func (s *Shelf) Run(ctx context.Context) error {
	changes := make(chan struct{}, 1) // what came while one waits is one change
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { s.watch(ctx, changes) })
	for wait(ctx, changes) {
		if !pause(ctx, min(max(s.took, settleLeast), settleMost)) {
			return nil
		}
		select { // what came meanwhile is read now
		case <-changes:
		default:
		}
		err := s.Load(ctx)
		if s.cfg.Changed != nil {
			s.cfg.Changed()
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("bases are as they were", zap.Error(err))
			if !pause(ctx, againAfter) {
				return nil
			}
			signal(changes)
		}
	}
	return nil
}

// watch tells of changes, and begins anew when the store breaks it off.
func (s *Shelf) watch(ctx context.Context, changes chan<- struct{}) {
	for {
		err := s.store.Watch(ctx, func(string, string) { signal(changes) })
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("changes of bases are not told", zap.Error(err))
		if !pause(ctx, againAfter) {
			return
		}
	}
}

func signal(changes chan<- struct{}) {
	select {
	case changes <- struct{}{}:
	default:
	}
}

// wait is false when ctx has ended.
func wait(ctx context.Context, changes <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-changes:
		return true
	}
}

// pause is false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
