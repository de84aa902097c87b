package calllog

import (
	"context"
	"os"
)

// BreakDisk makes the log's spool refuse writes, as a full disk does; mend
// makes it take them again.
func (l *Log) BreakDisk() (mend func() error, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole := l.spool.file
	if l.spool.file, err = os.Open(l.spool.path); err != nil {
		return nil, err
	}
	return func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		broken := l.spool.file
		l.spool.file = whole
		return broken.Close()
	}, nil
}

// Round ships one batch.
func (b *Book) Round(ctx context.Context) error {
	_, err := b.round(ctx)
	return err
}

// ParseLine reads a line of a spool, and AppendLine writes one.
var (
	ParseLine  = parseLine
	AppendLine = appendLine
)
