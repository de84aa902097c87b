package knowledge

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"time"

	"headstart/retrieval"
)

// followEvery is how often a folder that is followed is looked at: by names,
// sizes and times, so that it works on every kind of disk.
const followEvery = time.Second

// Follow pushes a folder of this machine, and again whenever it has changed,
// until ctx ends; then it returns nil. A push that fails is told and tried again with
// the next change, and so is a folder that cannot be opened. told is called after
// each push, from the calling goroutine.
func (p Push) Follow(ctx context.Context, dir string, told func(Report, error)) error {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	var last [sha256.Size]byte
	for {
		if print := footprint(ctx, dir); print != last {
			last = print
			r, err := p.Dir(ctx, dir)
			if ctx.Err() == nil {
				told(r, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// footprint is of all that can be seen of a folder without reading its files,
// and of what goes wrong with that.
func footprint(ctx context.Context, dir string) [sha256.Size]byte {
	sum := sha256.New()
	note := func(format string, args ...any) { fmt.Fprintf(sum, format+"\n", args...) } // a hash takes everything
	root, err := os.OpenRoot(dir)
	if err != nil {
		note("%v", err)
		return [sha256.Size]byte(sum.Sum(nil))
	}
	defer root.Close() // opened to read: closing it loses nothing
	files := root.FS()
	bad, err := retrieval.Walk(ctx, files, func(name string) error {
		stat, err := fs.Stat(files, name)
		if err != nil {
			note("%q %v", name, err)
			return nil
		}
		note("%q %d %d %v", name, stat.Size(), stat.ModTime().UnixNano(), stat.Mode())
		return nil
	})
	note("%v %v", bad, err)
	return [sha256.Size]byte(sum.Sum(nil))
}
