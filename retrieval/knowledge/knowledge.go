// Package knowledge owns bases of documents that outlive a process: what a base
// is made of, the push that brings a folder into one, and the shelf that keeps
// what is searched in step with what is stored. It declares what a store must
// do for that; store/sqlite and store/postgres do it, and store/storetest holds
// both to it.
//
// It never ranks, never opens a database, and never asks an embedder for a text
// whose vector it has.
//
// # What is stored
//
//   - base: (org, name), its language, the embedder of its vectors (Model and Dim;
//     empty and 0 for a base of words alone), a Revision, its calibration.
//   - file: (org, base, path), the SHA-256 of its bytes and the format of its cut.
//   - piece: the chunks of a file, in its order, each with its vector.
//   - vector: (org, model, dim, SHA-256 of the text as it is indexed). What was
//     embedded once in an org is not embedded again, whatever base it is in.
//   - org: its quotas.
//
// The org is part of every key and of every query.
//
// # States of a base
//
//	          Make             Replace, one transaction a file
//	(none) ─────────> empty ───────────────────────────────────> filled ─┐
//	  ^                                                          ^       │ Adopt: other vectors
//	  └──────────────────── Remove ──────────────────────────────┴───────┘ for the same pieces
//
// Each arrow that changes something gives the base a Revision that no base had
// before it, and is told to those who Watch. A reader sees the base before an
// arrow or after it, never between.
//
// # How it fails
//
// A base that is not there is ErrUnknownBase. Vectors of another model than the
// base's are a retrieval.ErrMismatch, before anything is written. What an org may
// not hold is a QuotaError, likewise. A push that would empty a base is a
// PruneError and changes nothing; a file that cannot be read is named in the
// push's report and the others land. A push that breaks off leaves whole files,
// old ones and new ones; pushing again goes on where it broke.
package knowledge

import (
	"crypto/sha256"
	"time"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
)

// Base is what is known of one base without reading it.
type Base struct {
	Org, Name string
	Language  string // of its words, "es"; see analyse.New
	Model     string // the embedder of its vectors; empty for words alone
	Dim       int    // their length
	// Revision grows with every change, and is never used twice: not by another
	// base, nor by one of the same name that was removed and made again.
	Revision int64
	Files    int
	Chunks   int
	Updated  time.Time // of the last change, to the microsecond
	// Calibration is what was fitted for this base and its embedder; nil when nothing
	// was. Another embedder drops it.
	Calibration *retrieval.Calibration
}

// File is what is known of one file of a base.
type File struct {
	Path    string            // as it was pushed, with slashes: "faq/horarios.md"
	SHA256  [sha256.Size]byte // of its bytes
	Format  int               // chunk.Format when it was cut
	Bytes   int64
	Chunks  int
	Updated time.Time // when it was written, to the microsecond
}

// Piece is a chunk with its vector: of unit length, and nil in a base without an
// embedder. A store may keep it as 16-bit floats.
type Piece struct {
	chunk.Chunk
	Vector []float32
}

// Cut is a file with all its pieces, in its order. A file without any is stored
// too: it waits for words.
type Cut struct {
	File
	Pieces []Piece
}

// Change is what Replace does to a base, all of it or nothing.
type Change struct {
	// Model and Dim are of the vectors in Put. They must be the base's.
	Model  string
	Dim    int
	Put    []Cut    // each takes the place of the file of its path. Chunks and Updated are the store's to fill in
	Remove []string // paths; one that is not there is no error
}

// Digest names a text by its SHA-256, as a piece's vector is found again.
type Digest [sha256.Size]byte

// DigestOf is the digest of a text as it is indexed: chunk.Chunk.Indexed.
func DigestOf(text string) Digest { return sha256.Sum256([]byte(text)) }

// Space is where vectors may be compared: those of one model and one length. An
// org's are its own.
type Space struct {
	Org, Model string
	Dim        int
}

// Text is a text that wants a vector.
type Text struct {
	Digest Digest
	Text   string
}

// Quota is what an org may hold; nil is without limit.
type Quota struct {
	KnowledgeChunks *int
	MemoryFacts     *int
}

// Org is a tenant: one that has a quota or a base.
type Org struct {
	Name   string
	Quota  Quota
	Bases  int
	Chunks int // in all its bases
}
