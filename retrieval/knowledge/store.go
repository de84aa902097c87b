package knowledge

import (
	"context"
	"iter"
	"time"

	"headstart/retrieval"
)

// Store is all that a store does for bases. Who needs less says so.
type Store interface {
	Catalogue
	Reader
	Writer
	Vectors
	Reembedding
	Calibrations
	Watcher
	Orgs
}

// Catalogue tells which bases there are.
type Catalogue interface {
	// Bases are those of an org, by name.
	Bases(ctx context.Context, org string) ([]Base, error)
	// AllBases are those of every org, by org and name, for a worker that serves all.
	AllBases(ctx context.Context) ([]Base, error)
	// Files is a base and its files, by path, in one statement: it is all that a
	// push costs which changes nothing. It fails with ErrUnknownBase.
	Files(ctx context.Context, org, base string) (Base, []File, error)
}

// Reader reads the pieces of a base.
type Reader interface {
	// Read hands do a base and its pieces, by path and place in the file, of one
	// state, whatever is written meanwhile. The pieces are streamed and may be read
	// once, in do; after an error no piece follows. It fails with ErrUnknownBase,
	// and with what do returns.
	Read(ctx context.Context, org, base string, do func(Base, iter.Seq2[Piece, error]) error) error
}

// Writer changes bases. Each method is one transaction, and a change has a new
// Revision.
type Writer interface {
	// Make makes a base of the org, name, language, model and dim of b, and returns
	// it. One that is there is returned as it is, in the new language if that differs;
	// while it has no chunks it takes another model too, after that it refuses one
	// with retrieval.ErrMismatch.
	Make(ctx context.Context, b Base) (Base, error)
	// Replace changes files, and returns the base after it. It fails with
	// ErrUnknownBase; with retrieval.ErrMismatch when the change's vectors are of another
	// model; with QuotaError when the org would hold more chunks than its quota and
	// than it holds now. A change that removes nothing that is there and puts nothing
	// leaves the revision. The vectors of what was put are kept as by Keep.
	Replace(ctx context.Context, org, base string, c Change) (Base, error)
	// Remove takes a base away with its files and its calibration. It fails with
	// ErrUnknownBase.
	Remove(ctx context.Context, org, base string) error
}

// Vectors is the memory of what was embedded.
type Vectors interface {
	// Vectors are those that are kept, in the order of the digests; nil where there
	// is none.
	Vectors(ctx context.Context, s Space, texts []Digest) ([][]float32, error)
	// Keep keeps vectors. What is kept already stays.
	Keep(ctx context.Context, s Space, texts []Digest, vectors [][]float32) error
	// Sweep forgets the vectors of an org that no piece of its bases needs and that
	// were kept before a moment, and tells how many.
	Sweep(ctx context.Context, org string, before time.Time) (int, error)
}

// Reembedding gives a base other vectors while the old ones are searched.
type Reembedding interface {
	// Missing are texts of a base that have no vector kept in a space, by digest,
	// each once: those above after, at most limit. The zero Digest is below all.
	Missing(ctx context.Context, base string, s Space, after Digest, limit int) ([]Text, error)
	// Adopt makes the vectors kept in a space the base's, in one step, drops its
	// calibration, and returns the base. It fails with ErrUnknownBase, and with
	// ErrUnstaged while some text has none: a push may have landed since Missing.
	// The space of no model (Model empty, Dim 0) needs none. A base that is in that
	// space already stays as it is.
	Adopt(ctx context.Context, base string, s Space) (Base, error)
}

// Calibrations keeps what was fitted.
type Calibrations interface {
	// Calibrate keeps c with a base; nil drops it. It fails with ErrUnknownBase,
	// and with retrieval.ErrMismatch when c is of another embedder.
	Calibrate(ctx context.Context, org, base string, c *retrieval.Calibration) (Base, error)
}

// Watcher tells of changes, those of other processes too.
type Watcher interface {
	// Watch calls changed after every change of a base or of an org's quota, within
	// a second, from the calling goroutine, until ctx ends; then it returns nil.
	// Several changes may be told as one. Both names empty mean that anything may have
	// changed: so it begins, once it would notice changes, and so it goes on after it
	// was cut off. An empty base means the org's quota.
	Watch(ctx context.Context, changed func(org, base string)) error
}

// Orgs keeps what tenants may hold.
type Orgs interface {
	// Quota is an org's; of one that nobody set, without limits.
	Quota(ctx context.Context, org string) (Quota, error)
	SetQuota(ctx context.Context, org string, q Quota) error
	// Orgs are those with a quota or a base, by name.
	Orgs(ctx context.Context) ([]Org, error)
}
