package knowledge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"io/fs"
	"slices"
	"strings"

	"headstart/retrieval"
	"headstart/retrieval/chunk"
	"headstart/retrieval/read"
)

// look walks a folder and finds what has changed and what is gone. A file that
// was looked at is not kept in memory: it is read again when it is written.
func (r *run) look(ctx context.Context, files fs.FS) error {
	r.source = func(path string) ([]byte, error) { return retrieval.ReadFile(files, path) }
	var paths []string
	bad, err := retrieval.Walk(ctx, files, func(path string) error {
		paths = append(paths, path)
		return nil
	})
	if err != nil {
		return err
	}
	r.report.Refused = append(r.report.Refused, bad...)
	r.report.Files = len(paths)
	r.tell(Progress{Stage: Reading, Files: len(paths)})
	for i, path := range paths {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.compare(path)
		r.tell(Progress{Stage: Reading, Files: len(paths), Done: i + 1})
	}
	r.gone = r.missing(paths, bad)
	return nil
}

// compare sorts one file of the folder into what is kept, changed or refused.
func (r *run) compare(path string) {
	data, err := r.source(path)
	if err == nil {
		err = CheckPath(path)
	}
	switch {
	case err != nil:
		r.refuse(path, err)
	case r.same(path, sha256.Sum256(data)):
		r.report.Kept++
	default:
		r.changed = append(r.changed, path)
	}
}

// missing are the files of the base that are not in the folder. What stands below
// a folder that could not be looked into may be there.
func (r *run) missing(paths []string, bad []retrieval.FileError) []string {
	there := make(map[string]bool, len(paths))
	for _, path := range paths {
		there[path] = true
	}
	var gone []string
	for path := range r.held {
		hidden := slices.ContainsFunc(bad, func(b retrieval.FileError) bool {
			return path == b.Path || strings.HasPrefix(path, b.Path+"/")
		})
		if !there[path] && !hidden {
			gone = append(gone, path)
		}
	}
	slices.Sort(gone)
	return gone
}

// lookAt finds whether one file has changed.
func (r *run) lookAt(path string, data []byte) error {
	r.source = func(string) ([]byte, error) { return data, nil }
	r.report.Files = 1
	r.compare(path)
	return nil
}

// size refuses a push that the org's quota does not cover, before anything is
// written: what has changed is cut once to be counted. It puts the files that
// shrink first, so that the org is never over its quota on the way. An org
// without a quota is not sized.
func (r *run) size(ctx context.Context) (limited bool, err error) {
	quota, err := r.Store.Quota(ctx, r.Org)
	if err != nil || quota.KnowledgeChunks == nil {
		return false, err
	}
	bases, err := r.Store.Bases(ctx, r.Org)
	if err != nil {
		return true, err
	}
	growth := make(map[string]int, len(r.changed))
	needs := 0
	for i, path := range r.changed {
		cut, err := r.cut(ctx, path)
		if ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		if err == nil { // what is refused stays as it was
			growth[path] = len(cut.Pieces) - r.held[path].Chunks
			needs += growth[path]
		}
		r.tell(Progress{Stage: Sizing, Done: i + 1, Files: len(r.changed)})
	}
	for _, path := range r.gone {
		needs -= r.held[path].Chunks
	}
	slices.SortFunc(r.changed, func(a, b string) int {
		return cmp.Or(cmp.Compare(growth[a], growth[b]), strings.Compare(a, b))
	})
	holds := 0
	for _, b := range bases {
		holds += b.Chunks
	}
	if limit := *quota.KnowledgeChunks; needs > 0 && holds+needs > limit {
		return true, QuotaError{Org: r.Org, Limit: limit, Holds: holds, Needs: holds + needs}
	}
	return true, nil
}

// cutter makes pieces of files.
type cutter struct{ reader read.Reader }

func (c *cutter) close() error { return c.reader.Close() }

// cut reads a file and cuts it.
func (r *run) cut(ctx context.Context, path string) (Cut, error) {
	data, err := r.source(path)
	if err != nil {
		return Cut{}, err
	}
	document, err := r.cutter.reader.Read(ctx, path, data)
	if err != nil {
		return Cut{}, err
	}
	chunks := document.Chunks()
	if len(chunks) > MaxPieces {
		return Cut{}, ErrTooManyPieces
	}
	cut := Cut{File: File{Path: path, SHA256: sha256.Sum256(data), Format: chunk.Format, Bytes: int64(len(data)), Chunks: len(chunks)}}
	for _, c := range chunks {
		cut.Pieces = append(cut.Pieces, Piece{Chunk: c})
	}
	return cut, nil
}
