package calllog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"headstart/turn"
)

const (
	spoolSuffix = ".spool"
	freshSuffix = ".fresh" // a spool that has no header yet
	maxName     = 220      // bytes; file systems take 255, with the suffixes
	markEvery   = 256      // lines between two marks
)

// spoolName is the file of a log: percent escapes keep every id inside the folder.
func spoolName(org, log string) (string, error) {
	name := url.QueryEscape(org) + "," + url.QueryEscape(log) + spoolSuffix
	if len(name) > maxName {
		return "", fmt.Errorf("name spool: id of %d bytes is too long", len(log))
	}
	return name, nil
}

// spool is the file of one log. Its owner guards it.
type spool struct {
	path  string
	file  *os.File // nil until it could be created
	size  int64    // bytes in the file
	lines int
	marks []mark // one each markEvery lines, so that a reader need not begin at the start
	torn  bool   // the last write left a piece of a line, perhaps
	dirty bool   // something is written that is not synced
	buf   []byte // reused by write
}

// mark says that lines with a seq of at least seq lie at or behind offset.
type mark struct{ seq, offset int64 }

// create makes the file and locks it. It has its header before it has its
// name: whoever finds a spool finds a locked one, or one whose owner died.
func (s *spool) create(head turn.Entry) (err error) {
	fresh := fmt.Sprintf("%s.%016x%s", s.path, rand.Uint64(), freshSuffix)
	file, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("create spool: %w", err)
	}
	// A first name that stays behind is swept at a later start.
	defer os.Remove(fresh)
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := lock(file); err != nil {
		return err
	}
	line := appendLine(nil, head)
	if _, err := file.Write(line); err != nil {
		return fmt.Errorf("write spool header: %w", err)
	}
	// A link, unlike a rename, does not replace a spool that is there.
	if err := os.Link(fresh, s.path); errors.Is(err, fs.ErrExist) {
		return ErrOpen
	} else if err != nil {
		return fmt.Errorf("name spool: %w", err)
	}
	s.file, s.size, s.dirty = file, int64(len(line)), true
	return nil
}

// write adds the entries in one write(2).
func (s *spool) write(entries ...turn.Entry) error {
	if s.file == nil {
		return errors.New("write spool: it could not be created")
	}
	s.buf = s.buf[:0]
	if s.torn {
		s.buf = append(s.buf, '\n') // ends the piece, which readers then skip
	}
	at := s.size + int64(len(s.buf))
	for _, entry := range entries {
		s.buf = appendLine(s.buf, entry)
	}
	n, err := s.file.Write(s.buf)
	s.size += int64(n)
	s.dirty = true
	if err != nil {
		s.torn = true
		return fmt.Errorf("write spool: %w", err)
	}
	s.torn = false
	s.note(entries[0].Seq, at, len(entries))
	return nil
}

// note counts lines that begin with seq at offset, and marks the place now and then.
func (s *spool) note(seq, offset int64, lines int) {
	if len(s.marks) == 0 || s.lines >= len(s.marks)*markEvery {
		s.marks = append(s.marks, mark{seq, offset})
	}
	s.lines += lines
}

// reader is the part of the spool that is written now; it stays valid while
// the spool grows.
func (s *spool) reader() spoolReader {
	return spoolReader{file: s.file, size: s.size, marks: s.marks}
}

type spoolReader struct {
	file  *os.File
	size  int64
	marks []mark
}

// read returns at most limit entries with after < seq < before, in order, each
// once; ephemeral ones have left no data and are passed over.
func (r spoolReader) read(after, before int64, limit int) ([]turn.Entry, error) {
	if r.file == nil {
		return nil, nil
	}
	var from int64
	if i, found := slices.BinarySearchFunc(r.marks, after, func(m mark, seq int64) int { return cmp.Compare(m.seq, seq) }); found {
		from = r.marks[i].offset
	} else if i > 0 {
		from = r.marks[i-1].offset
	}
	var entries []turn.Entry
	last := after
	_, err := scanLines(io.NewSectionReader(r.file, from, r.size-from), func(entry turn.Entry, _ int64) bool {
		if entry.Seq >= before {
			return false
		}
		if entry.Seq > last && !entry.Ephemeral {
			entries = append(entries, entry)
			last = entry.Seq
		}
		return len(entries) < limit
	})
	return entries, err
}

// adopt opens and locks a spool that a dead process left, cuts a torn tail and
// calls found with each entry, the header first. ErrOwned means that its
// process lives; fs.ErrNotExist that its process has just finished with it.
func adopt(path string, found func(turn.Entry)) (s spool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return spool{}, fmt.Errorf("open spool: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := lock(file); err != nil {
		return spool{}, err
	}
	if err := stillNamed(file, path); err != nil {
		return spool{}, err
	}
	s = spool{path: path, file: file, dirty: true}
	last := int64(-1)
	s.size, err = scanLines(file, func(entry turn.Entry, at int64) bool {
		if entry.Seq > last {
			last = entry.Seq
			s.note(entry.Seq, at, 1)
			found(entry)
		}
		return true
	})
	if err != nil {
		return spool{}, err
	}
	if err := file.Truncate(s.size); err != nil {
		return spool{}, fmt.Errorf("cut spool: %w", err)
	}
	return s, nil
}

// stillNamed tells whether the locked file is the one at path: its owner may
// have removed it between our open and our lock.
func stillNamed(file *os.File, path string) error {
	mine, err := file.Stat()
	if err != nil {
		return fmt.Errorf("look at spool: %w", err)
	}
	named, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at spool: %w", err)
	}
	if !os.SameFile(mine, named) {
		return fmt.Errorf("look at spool %s: %w", filepath.Base(path), fs.ErrNotExist)
	}
	return nil
}

// remove takes the spool away, when the store has all that it held.
func (s *spool) remove() error {
	if s.file == nil {
		return nil
	}
	err := os.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, s.close())
}

// close lets the spool go and leaves the file for the next start.
func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
