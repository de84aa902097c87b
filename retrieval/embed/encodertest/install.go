package encodertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"headstart/worker/child"
)

// errMissing means that this machine lacks what the encoder runs on.
var errMissing = errors.New("missing")

const packageFile = "package.json"

// installed is an encoder with the modules that it needs.
type installed struct {
	folder  string
	command []string // that starts it, in the folder
	vectors string   // folder of those that it gave
}

// install puts the encoder of a folder into the user's cache, with its modules,
// unless one of the same files is there. Those who install at once each make one,
// and the first to be done is kept.
func install(ctx context.Context, from string, progress func(string, ...any)) (installed, error) {
	files, err := read(from)
	if err != nil {
		return installed{}, err
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return installed{}, fmt.Errorf("%w: %w", errMissing, err)
		}
	}
	command, err := startCommand(files[packageFile])
	if err != nil {
		return installed{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return installed{}, fmt.Errorf("find cache folder: %w", err)
	}
	folder := filepath.Join(cache, "headstart", "encoder-"+sum(files))
	at := installed{folder: folder, command: command, vectors: folder + "-vectors"}
	if isThere(folder) {
		return at, nil
	}
	return at, fetch(ctx, files, folder, progress)
}

// read takes what lies in a folder itself; modules of its own do not count.
func read(folder string) (map[string][]byte, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errMissing, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read encoder: %w", err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			return nil, fmt.Errorf("read encoder: %w", err)
		}
	}
	return files, nil
}

// startCommand is what npm start would run. It is run without npm, so that one
// process is all there is to end, and the kernel can end it with the test.
func startCommand(text []byte) ([]string, error) {
	var described struct {
		Scripts struct {
			Start string `json:"start"`
		} `json:"scripts"`
	}
	if err := json.Unmarshal(text, &described); err != nil {
		return nil, fmt.Errorf("read %s: %w", packageFile, err)
	}
	command := strings.Fields(described.Scripts.Start)
	if len(command) == 0 {
		return nil, fmt.Errorf("read %s: it has no start script", packageFile)
	}
	return command, nil
}

// sum names the files: other ones are another encoder.
func sum(files map[string][]byte) string {
	text, _ := json.Marshal(files) // names in order; bytes always marshal
	return fmt.Sprintf("%x", sha256.Sum256(text))[:12]
}

func isThere(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && info.IsDir()
}

// fetch installs beside the folder and renames the whole, so that half of an encoder
// is never found.
func fetch(ctx context.Context, files map[string][]byte, folder string, progress func(string, ...any)) (err error) {
	progress("installing the encoder's modules in %s: some 30 MB the first time", folder)
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("make cache folder: %w", err)
	}
	half, err := os.MkdirTemp(filepath.Dir(folder), "encoder-half-")
	if err != nil {
		return fmt.Errorf("make cache folder: %w", err)
	}
	defer os.RemoveAll(half) // nothing is there once it has its name
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(half, name), text, 0o644); err != nil {
			return fmt.Errorf("copy encoder: %w", err)
		}
	}
	if err := npmInstall(ctx, half); err != nil {
		return err
	}
	if err := os.Rename(half, folder); err != nil && !isThere(folder) { // another was done first
		return fmt.Errorf("keep encoder: %w", err)
	}
	return nil
}

func npmInstall(ctx context.Context, folder string) error {
	var out bytes.Buffer
	cmd := child.Bound(exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", errors.Join(err, context.Cause(ctx)), out.Bytes())
	}
	return nil
}
