package calllog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"headstart/turn"
)

// Spooled is what an erasure took out of this process's logs.
type Spooled struct {
	Logs    int // whose words are gone
	Entries int // of them that were changed, on the disk or in memory
}

// ErrElsewhere means that another living process writes the log of a call of
// this contact: its spool cannot be erased from here.
var ErrElsewhere = errors.New("another process is on a call with this contact")

// Erase takes the words of a contact out of the logs that this process holds, in
// memory and on the disk, and out of what is added to them later; the calls go on.
// It waits for the batch that is on its way to the store, so that an Eraser that
// is asked next finds it there. It fails with ErrElsewhere, before anything is
// changed, and when a spool cannot be written: its log stays as it was.
func (b *Book) Erase(e Erasure) (Spooled, error) {
	if err := b.elsewhere(e); err != nil {
		return Spooled{}, err
	}
	b.shipping.Lock()
	defer b.shipping.Unlock()
	var gone Spooled
	var errs []error
	for _, l := range b.snapshot() {
		changed, did, err := l.eraseWords(e)
		if err != nil {
			errs = append(errs, fmt.Errorf("erase log %s: %w", l.name, err))
		}
		if did {
			gone.Logs++
			gone.Entries += changed
		}
	}
	return gone, errors.Join(errs...)
}

// eraseWords erases the log when it is of the contact's.
func (l *Log) eraseWords(e Erasure) (changed int, did bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done || l.call == "" || l.org != e.Org || l.facts.contact != e.Contact || l.started.After(e.Until) {
		return 0, false, nil
	}
	if l.spool.file != nil {
		if changed, err = l.spool.rewrite(WithoutWords); err != nil {
			return 0, false, err
		}
	}
	l.recent, l.unspooled = wordless(l.recent), wordless(l.unspooled)
	l.erased, l.facts.contact = true, ""
	clear(l.writings)
	l.wake()
	return changed, true, nil
}

// wordless is a copy, for readers may hold the list that was given.
func wordless(entries []turn.Entry) []turn.Entry {
	list := make([]turn.Entry, len(entries))
	for i, entry := range entries {
		list[i] = WithoutWords(entry)
	}
	return list
}

// rewrite puts a changed copy in the spool's place, whole or not at all, and
// counts the lines that changed.
func (s *spool) rewrite(change func(turn.Entry) turn.Entry) (changed int, err error) {
	entries, err := s.all()
	if err != nil {
		return 0, err
	}
	file, err := os.OpenFile(s.path+freshSuffix, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("create spool: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(file.Name()))
		}
	}()
	if err := lock(file); err != nil {
		return 0, err
	}
	fresh := spool{path: s.path, file: file}
	for _, entry := range entries {
		was := string(entry.Data)
		if entry.Seq > 0 {
			entry = change(entry)
		}
		if string(entry.Data) != was {
			changed++
		}
		if err := fresh.write(entry); err != nil {
			return 0, err
		}
	}
	if err := file.Sync(); err != nil {
		return 0, fmt.Errorf("sync spool: %w", err)
	}
	if err := os.Rename(file.Name(), s.path); err != nil {
		return 0, fmt.Errorf("replace spool: %w", err)
	}
	old := s.file
	*s = fresh
	_ = old.Close() // nobody has its name any more
	return changed, nil
}

// all reads every line, the header first.
func (s *spool) all() (entries []turn.Entry, err error) {
	file, err := os.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	defer file.Close() // it was only read
	_, err = scanLines(file, func(entry turn.Entry, _ int64) bool {
		entries = append(entries, entry)
		return true
	})
	return entries, err
}

// elsewhere looks whether a living process other than this one writes a log of
// the contact's.
func (b *Book) elsewhere(e Erasure) error {
	files, err := filepath.Glob(filepath.Join(b.cfg.Dir, "*"+spoolSuffix))
	if err != nil {
		return fmt.Errorf("list spools: %w", err)
	}
	for _, path := range files {
		b.mu.Lock()
		ours := b.holds(path)
		b.mu.Unlock()
		if ours {
			continue
		}
		if of, err := contactOf(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		} else if of.org == e.Org && of.contact == e.Contact && !of.began.After(e.Until) {
			return fmt.Errorf("%w: %s", ErrElsewhere, strings.TrimSuffix(filepath.Base(path), spoolSuffix))
		}
	}
	return nil
}

// owner is whose log a spool is, and when it began.
type owner struct {
	org, contact string
	began        time.Time
}

// contactOf reads a spool that somebody else may be writing.
func contactOf(path string) (owner, error) {
	s := spool{path: path}
	entries, err := s.all()
	if err != nil || len(entries) == 0 {
		return owner{}, err
	}
	head, err := readHeader(entries[0])
	if err != nil {
		return owner{}, nil // it has just been made, or is damaged
	}
	var known facts
	for _, entry := range entries[1:] {
		if entry.Type == startedType {
			known.note(entry)
		}
	}
	return owner{head.Org, known.contact, entries[0].Time}, nil
}
