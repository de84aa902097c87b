package contacts

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const (
	keyFile    = "erasures.key"
	ledgerFile = "erasures"
	keyBytes   = 32
)

// Ledger remembers who was forgotten without saying who: a line holds the HMAC of
// an org and a contact's id, and the time. Its key and its file lie in a folder
// of their own, outside the database, which a restore of that does not touch.
// Several processes may share the folder. Keep both files: without the key nobody
// is found in it, and that is an error of OpenLedger.
type Ledger struct {
	path string
	key  []byte

	mu    sync.Mutex // guards marks
	marks map[string]time.Time
}

// OpenLedger opens the ledger of a folder, and makes both when there is none.
func OpenLedger(dir string) (*Ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of the erasures: %w", err)
	}
	l := &Ledger{path: filepath.Join(dir, ledgerFile)}
	var err error
	if l.key, err = readKey(filepath.Join(dir, keyFile), l.path); err != nil {
		return nil, err
	}
	if l.marks, err = l.read(); err != nil {
		return nil, err
	}
	return l, nil
}

// readKey reads the key, or makes one for a ledger that has no line yet.
func readKey(path, ledger string) ([]byte, error) {
	key, err := os.ReadFile(path)
	switch {
	case err == nil && len(key) != keyBytes:
		return nil, fmt.Errorf("read key of the erasures: %s has %d bytes, want %d", path, len(key), keyBytes)
	case err == nil:
		return key, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read key of the erasures: %w", err)
	}
	if lines, err := os.ReadFile(ledger); err == nil && len(bytes.TrimSpace(lines)) > 0 {
		return nil, fmt.Errorf("read key of the erasures: %s is gone, and without it %s forgets nobody; restore it", path, ledger)
	}
	return makeKey(path)
}

// makeKey writes a new key, unless another process has just done so.
func makeKey(path string) ([]byte, error) {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	fresh := path + "." + rand.Text()
	if err := os.WriteFile(fresh, key, 0o600); err != nil {
		return nil, fmt.Errorf("make key of the erasures: %w", err)
	}
	defer os.Remove(fresh)
	if err := os.Link(fresh, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make key of the erasures: %w", err)
	}
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read key of the erasures: %w", err)
	}
	return key, nil
}

// mark is the HMAC of whom a line is about.
func (l *Ledger) mark(org, contact string) string {
	h := hmac.New(sha256.New, l.key)
	fmt.Fprintf(h, "%d:%s%d:%s", len(org), org, len(contact), contact)
	return hex.EncodeToString(h.Sum(nil))
}

// Record writes that a contact was forgotten at a time, on the disk before it
// returns, and returns the line's mark.
func (l *Ledger) Record(org, contact string, at time.Time) (string, error) {
	mark := l.mark(org, contact)
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("write ledger of the erasures: %w", err)
	}
	// One write: the lines of several processes do not mix. It begins with the end
	// of a line that a crash may have torn.
	_, err = fmt.Fprintf(file, "\n%s %d\n", mark, at.UnixMicro())
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", fmt.Errorf("write ledger of the erasures: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks[mark] = at
	return mark, nil
}

// Erased tells when a contact was forgotten last.
func (l *Ledger) Erased(org, contact string) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, found := l.marks[l.mark(org, contact)]
	return at, found
}

// Empty tells that nobody was ever forgotten.
func (l *Ledger) Empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.marks) == 0
}

// read reads the lines. One that a crash tore is passed over: its erasure was not
// acknowledged.
func (l *Ledger) read() (map[string]time.Time, error) {
	marks := map[string]time.Time{}
	file, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return marks, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ledger of the erasures: %w", err)
	}
	defer file.Close() // it was only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		mark, micros, whole := bytes.Cut(lines.Bytes(), []byte{' '})
		at, err := strconv.ParseInt(string(micros), 10, 64)
		if whole && err == nil && len(mark) == 2*sha256.Size && time.UnixMicro(at).After(marks[string(mark)]) {
			marks[string(mark)] = time.UnixMicro(at)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read ledger of the erasures: %w", err)
	}
	return marks, nil
}
