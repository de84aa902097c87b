package retrieval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"headstart/retrieval/chunk"
	"headstart/retrieval/read"
)

// maxFile is the largest file that is read, in bytes.
const maxFile = read.MaxFile

// FileError is a file of a folder that was left out, and why. The others are in.
type FileError struct {
	Path string // relative to the folder, with slashes
	Err  error
}

// Error implements error.
func (e FileError) Error() string { return fmt.Sprintf("read %s: %v", e.Path, e.Err) }

// Unwrap returns why.
func (e FileError) Unwrap() error { return e.Err }

// Reasons to leave a file out.
var (
	ErrNotAFile     = errors.New("not a regular file")
	ErrLinkedFolder = errors.New("a linked folder is not followed")
	ErrTooLarge     = fmt.Errorf("larger than %d MiB", maxFile>>20)
)

// Progress is how far the loading of a folder has come.
type Progress struct {
	Files     int // read so far
	Embedded  int // chunks
	AllChunks int // 0 until all files are read
}

// LoadFolder builds the segment of a folder of documents: every file in it and
// below, in order of name, of the kinds that package read knows (Markdown, text,
// HTML, PDF, DOCX, CSV, TSV). It reads nothing outside the folder: a link that
// leaves it is refused. A file that cannot be read, of another kind too, is told
// by name and the others land; files and folders whose names begin with a dot are
// passed over. NUL bytes and what is not UTF-8 are cleaned out of Markdown. It
// fails when the folder cannot be opened, ctx ends, or the embedder fails.
// progress may be nil, and is called from the calling goroutine.
func LoadFolder(ctx context.Context, dir, base, language string, e Embedder, progress func(Progress)) (*Segment, []FileError, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open folder of base %s: %w", base, err)
	}
	defer root.Close() // opened to read: closing it loses nothing
	if progress == nil {
		progress = func(Progress) {}
	}
	f := folder{files: root.FS(), progress: progress}
	if err := errors.Join(f.read(ctx), f.reader.Close()); err != nil {
		return nil, f.bad, fmt.Errorf("read folder of base %s: %w", base, err)
	}
	segment, err := build(ctx, base, language, f.chunks, e, func(done, all int) {
		progress(Progress{Files: f.done, Embedded: done, AllChunks: all})
	})
	return segment, f.bad, err
}

// folder is one reading of a folder.
type folder struct {
	files    fs.FS
	progress func(Progress)
	reader   read.Reader
	chunks   []chunk.Chunk
	bad      []FileError
	done     int
}

func (f *folder) read(ctx context.Context) error {
	bad, err := Walk(ctx, f.files, func(name string) error {
		if err := f.file(ctx, name); err != nil {
			f.bad = append(f.bad, FileError{name, err})
		}
		return nil
	})
	f.bad = append(f.bad, bad...)
	slices.SortFunc(f.bad, func(a, b FileError) int { return strings.Compare(a.Path, b.Path) })
	return err
}

func (f *folder) file(ctx context.Context, name string) error {
	data, err := ReadFile(f.files, name)
	if err != nil {
		return err
	}
	document, err := f.reader.Read(ctx, name, data)
	if err != nil {
		return err
	}
	f.done++
	f.chunks = append(f.chunks, document.Chunks()...)
	f.progress(Progress{Files: f.done})
	return nil
}

// Walk names the files of a folder of documents and of those below it to visit,
// in order of name, hidden ones and those in hidden folders left out. What is
// there and cannot be looked into is told by name. It fails when the folder itself
// cannot be read, ctx ends, or visit fails.
func Walk(ctx context.Context, files fs.FS, visit func(name string) error) (bad []FileError, err error) {
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && name == ".":
			return err
		case err != nil:
			bad = append(bad, FileError{name, err})
			return nil
		case hidden(name) && d.IsDir():
			return fs.SkipDir
		case hidden(name) || d.IsDir():
			return nil
		}
		return visit(name)
	})
	return bad, err
}

// hidden holds for what programs leave beside documents: .DS_Store, .git.
func hidden(name string) bool {
	return name != "." && strings.HasPrefix(path.Base(name), ".")
}

// ReadFile reads one file of a folder of documents, whole: a regular one of at
// most read.MaxFile bytes. Links are followed as far as files follows them, which
// for an os.Root is not out of it.
func ReadFile(files fs.FS, name string) ([]byte, error) {
	stat, err := fs.Stat(files, name)
	switch {
	case err != nil:
		return nil, err
	case stat.IsDir():
		return nil, ErrLinkedFolder
	case !stat.Mode().IsRegular(): // opening a pipe would wait for ever
		return nil, ErrNotAFile
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // opened to read: closing it loses nothing
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, ErrTooLarge
	}
	return data, nil
}
