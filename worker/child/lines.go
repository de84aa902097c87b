package child

import (
	"bytes"
	"io"
	"sync"
)

// maxLine is where a longer line is cut.
const maxLine = 64 << 10

// Lines keeps the last lines written to it and passes everything on.
type Lines struct {
	mu      sync.Mutex // guards all below: the child's pipe writes, others read
	keep    int
	kept    [][]byte
	count   int
	partial []byte
	onward  io.Writer // may be nil
}

// NewLines keeps so many lines.
func NewLines(keep int, onward io.Writer) *Lines { return &Lines{keep: keep, onward: onward} }

// Write implements io.Writer. What onward refuses is lost: the child's pipe
// must drain, or the child stalls.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onward != nil {
		_, _ = l.onward.Write(p)
	}
	l.partial = append(l.partial, p...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found && len(l.partial) < maxLine {
			return len(p), nil
		}
		l.add(bytes.Clone(line))
		l.partial = rest
	}
}

func (l *Lines) add(line []byte) {
	l.count++
	l.kept = append(l.kept, line)
	if len(l.kept) > l.keep {
		l.kept = l.kept[1:]
	}
}

// Last is how many lines there were, and the last of them.
func (l *Lines) Last() (count int, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == 0 {
		return 0, ""
	}
	return l.count, string(l.kept[len(l.kept)-1])
}

// String is what was kept.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.Join(append(l.kept[:len(l.kept):len(l.kept)], l.partial), []byte("\n")))
}
