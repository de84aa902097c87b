package knowledge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

// DefaultLanguage is that of a base which nobody said the language of.
const DefaultLanguage = "es"

const (
	// MaxPieces is how many pieces one file may have: its vectors are in memory at
	// once. A file of more is refused by name.
	MaxPieces = 25_000
	// maxPending is how many pieces wait before they are embedded together, so that
	// small files do not cost an embedder a call each.
	maxPending = 256
	// sweepAfter is how long a vector is kept that no base needs.
	sweepAfter = 30 * 24 * time.Hour
)

// ErrTooManyPieces refuses a file that would take too much memory.
var ErrTooManyPieces = fmt.Errorf("cut into more than %d pieces: split it", MaxPieces)

// ErrUnknownFile means that a base has no file of that path.
var ErrUnknownFile = errors.New("no such file in the base")

// Target is what a push needs of a store.
type Target interface {
	Catalogue
	Writer
	Vectors
	Orgs
}

// Push brings documents into a base of a store, and makes the base when it is not
// there. What is in the base already is neither read twice nor embedded again: a
// push that changes nothing costs one statement. It is used by one goroutine.
type Push struct {
	Store     Target
	Org, Base string
	// Embedder makes the vectors; nil makes a base of words alone. It must be the
	// base's, or nothing is written: retrieval.ErrMismatch.
	Embedder retrieval.Embedder
	// Language of the words; empty leaves the base's, and is DefaultLanguage for a
	// new one.
	Language string
	// Prune lets a push remove more than half of a base's files.
	Prune bool
	// Progress is told how far it is, from the calling goroutine; it may be nil.
	Progress func(Progress)
}

// Progress is how far a push has come.
type Progress struct {
	Stage       Stage
	Done, Files int // of the files that the stage goes through
	Embedded    int // texts that the embedder was asked for so far
	Chunks      int // that were written so far
}

// Stage is what a push is at.
type Stage string

// The stages of a push, in their order. Sizing is only where the org has a quota.
const (
	Reading Stage = "reading" // and looking what has changed
	Sizing  Stage = "sizing"
	Writing Stage = "writing" // cutting and embedding too
)

// Report is what a push did.
type Report struct {
	Base    Base // after it
	Files   int  // that were found
	Put     int  // written, new or anew
	Kept    int  // that had not changed
	Removed int
	// Embedded are the texts that the embedder was asked for, Reused those whose
	// vectors were kept from before.
	Embedded, Reused int
	// Refused are the files that are not in the base, or are there as an earlier
	// push left them, and why.
	Refused []retrieval.FileError
	// Oversize are pieces over chunk.MaxTokens that may not be cut.
	Oversize int
}

// Changed tells whether the base is another than before.
func (r Report) Changed() bool { return r.Put+r.Removed > 0 }

// Dir pushes a folder of this machine: Folder, confined to it, links included.
func (p Push) Dir(ctx context.Context, dir string) (Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Report{}, fmt.Errorf("open folder of base %s: %w", p.Base, err)
	}
	defer root.Close() // opened to read: closing it loses nothing
	return p.Folder(ctx, root.FS())
}

// Folder pushes a whole folder: afterwards the base holds its files and no
// others. A file that cannot be read is told in the report, and stays in the base
// as it was. Each file is written in one transaction, in order of path; then those
// that are gone from the folder are removed.
//
// It fails before it writes anything with retrieval.ErrMismatch, QuotaError and
// PruneError. When it fails later, what is written stays, and the same push again
// goes on from there.
func (p Push) Folder(ctx context.Context, files fs.FS) (Report, error) {
	r, err := p.run(ctx, func(r *run) error { return r.look(ctx, files) })
	if err != nil {
		return r, fmt.Errorf("push to base %s: %w", p.Base, err)
	}
	return r, nil
}

// File pushes one file and leaves the others. A file that cannot be read is the
// error, a retrieval.FileError.
func (p Push) File(ctx context.Context, path string, data []byte) (Report, error) {
	err := CheckPath(path)
	var r Report
	if err == nil {
		r, err = p.run(ctx, func(r *run) error { return r.lookAt(path, data) })
	}
	if err == nil && len(r.Refused) > 0 {
		err = r.Refused[0]
	}
	if err != nil {
		return r, fmt.Errorf("push to base %s: %w", p.Base, err)
	}
	return r, nil
}

// Delete takes one file out of the base. It fails with ErrUnknownBase and
// ErrUnknownFile.
func (p Push) Delete(ctx context.Context, path string) (Base, error) {
	_, files, err := p.Store.Files(ctx, p.Org, p.Base)
	if err != nil {
		return Base{}, fmt.Errorf("remove from base %s: %w", p.Base, err)
	}
	if !slices.ContainsFunc(files, func(f File) bool { return f.Path == path }) {
		return Base{}, fmt.Errorf("remove %s from base %s: %w", path, p.Base, ErrUnknownFile)
	}
	b, err := p.Store.Replace(ctx, p.Org, p.Base, Change{Remove: []string{path}})
	if err != nil {
		return Base{}, fmt.Errorf("remove from base %s: %w", p.Base, err)
	}
	return b, nil
}

// space is where the vectors of the push are.
func (p Push) space() Space {
	if p.Embedder == nil {
		return Space{Org: p.Org}
	}
	return Space{Org: p.Org, Model: p.Embedder.Name(), Dim: p.Embedder.Dim()}
}

// run is one push.
type run struct {
	Push
	report  Report
	there   bool            // the base was made before
	held    map[string]File // by path
	source  func(path string) ([]byte, error)
	changed []string // paths to write, in order
	gone    []string // paths to remove, in order
	pending []Cut    // read and cut, not embedded yet
	waiting int      // pieces in pending
	told    Progress
	cutter  cutter
}

func (p Push) run(ctx context.Context, look func(*run) error) (report Report, err error) {
	r := &run{Push: p}
	defer func() { err = errors.Join(err, r.cutter.close()) }()
	for _, step := range []func() error{
		func() error { return r.open(ctx) },
		func() error { return look(r) },
		r.guard,
	} {
		if err := step(); err != nil {
			return r.report, err
		}
	}
	if len(r.changed)+len(r.gone) == 0 && r.there && r.languageOf() == r.report.Base.Language {
		return r.report, nil
	}
	err = r.write(ctx)
	slices.SortFunc(r.report.Refused, func(a, b retrieval.FileError) int { return strings.Compare(a.Path, b.Path) })
	return r.report, err
}

// open looks what the base holds, and refuses another embedder.
func (r *run) open(ctx context.Context) error {
	base, files, err := r.Store.Files(ctx, r.Org, r.Base)
	switch {
	case errors.Is(err, ErrUnknownBase):
		return nil
	case err != nil:
		return err
	}
	if s := r.space(); base.Chunks > 0 && (base.Model != s.Model || base.Dim != s.Dim) {
		return retrieval.ErrMismatch{Base: base.Name, Holds: base.Model, HoldsDim: base.Dim, Got: s.Model, GotDim: s.Dim}
	}
	r.there, r.report.Base = true, base
	r.held = make(map[string]File, len(files))
	for _, f := range files {
		r.held[f.Path] = f
	}
	return nil
}

func (r *run) languageOf() string {
	switch {
	case r.Language != "":
		return r.Language
	case r.there:
		return r.report.Base.Language
	}
	return DefaultLanguage
}

// guard refuses to empty a base by mistake: a wrong folder, a mount that is not
// there.
func (r *run) guard() error {
	if 2*len(r.gone) > len(r.held) && !r.Prune {
		return PruneError{Base: r.Base, Gone: len(r.gone), Files: len(r.held)}
	}
	return nil
}

// write brings the base to what was looked at.
func (r *run) write(ctx context.Context) error {
	limited, err := r.size(ctx)
	if err != nil {
		return err
	}
	s := r.space()
	r.report.Base, err = r.Store.Make(ctx, Base{Org: r.Org, Name: r.Base, Language: r.languageOf(), Model: s.Model, Dim: s.Dim})
	if err != nil {
		return err
	}
	steps := []func(context.Context) error{r.put, r.remove}
	if limited { // what goes makes room for what comes
		slices.Reverse(steps)
	}
	for _, step := range append(steps, r.sweep) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// put writes the files that have changed. Those that wait are embedded together,
// and written one by one.
func (r *run) put(ctx context.Context) error {
	r.tell(Progress{Stage: Writing, Files: len(r.changed)})
	for _, path := range r.changed {
		cut, err := r.cut(ctx, path)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			r.refuse(path, err)
			r.told.Done++
			r.tell(r.told)
			continue
		}
		r.pending, r.waiting = append(r.pending, cut), r.waiting+len(cut.Pieces)
		if r.waiting >= maxPending {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
	}
	return r.flush(ctx)
}

func (r *run) flush(ctx context.Context) error {
	if err := r.embed(ctx); err != nil {
		return err
	}
	s := r.space()
	for _, cut := range r.pending {
		base, err := r.Store.Replace(ctx, r.Org, r.Base, Change{Model: s.Model, Dim: s.Dim, Put: []Cut{cut}})
		if err != nil {
			return fmt.Errorf("write %s: %w", cut.Path, err)
		}
		r.report.Base = base
		r.report.Put++
		r.told.Done, r.told.Chunks = r.told.Done+1, r.told.Chunks+len(cut.Pieces)
		for _, piece := range cut.Pieces {
			if piece.Oversize {
				r.report.Oversize++
			}
		}
		r.tell(r.told)
	}
	r.pending, r.waiting = nil, 0
	return nil
}

func (r *run) remove(ctx context.Context) error {
	if len(r.gone) == 0 {
		return nil
	}
	base, err := r.Store.Replace(ctx, r.Org, r.Base, Change{Remove: r.gone})
	if err != nil {
		return fmt.Errorf("remove files: %w", err)
	}
	r.report.Base, r.report.Removed = base, len(r.gone)
	return nil
}

func (r *run) sweep(ctx context.Context) error {
	_, err := r.Store.Sweep(ctx, r.Org, time.Now().Add(-sweepAfter))
	return err
}

func (r *run) refuse(path string, err error) {
	var file retrieval.FileError
	if !errors.As(err, &file) {
		file = retrieval.FileError{Path: path, Err: err}
	}
	r.report.Refused = append(r.report.Refused, file)
}

func (r *run) tell(p Progress) {
	r.told = p
	if r.Progress != nil {
		r.Progress(p)
	}
}

// same tells whether the base holds a file as it is.
func (r *run) same(path string, sum [32]byte) bool {
	held, ok := r.held[path]
	return ok && held.SHA256 == sum && held.Format == chunk.Format
}
