package api

import (
	"io/fs"
	"strings"

	"go.uber.org/zap"
)

// NewUnbuilt makes the page as it is before livekit-client was built into it.
func NewUnbuilt(config Config, log *zap.Logger) (*Pages, error) {
	return newFrom(withoutClient{web}, config, log)
}

// withoutClient hides the library, from listings too.
type withoutClient struct{ embedded fs.ReadDirFS }

func (w withoutClient) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, client) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return w.embedded.Open(name)
}

func (w withoutClient) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := w.embedded.ReadDir(name)
	var kept []fs.DirEntry
	for _, e := range entries {
		if !strings.HasSuffix(client, "/"+e.Name()) {
			kept = append(kept, e)
		}
	}
	return kept, err
}

// NewDoor is the way in through LiveKit.
func NewDoor(config Config, log *zap.Logger) Door { return door{config: config, log: log} }
