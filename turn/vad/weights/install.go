package weights

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
)

// Install copies a file that the operator brought into the folder of models,
// making the folder if need be, and returns where it lies. A file that is not
// the model's is refused with a *HashError and leaves nothing behind.
func Install(from string, m Model, dir string) (string, error) {
	if err := m.Validate(); err != nil {
		return "", fmt.Errorf("install %s: %w", m.Name, err)
	}
	path, err := install(from, m, dir)
	if err != nil {
		return "", fmt.Errorf("install %s: %w", m.Name, err)
	}
	return path, nil
}

func install(from string, m Model, dir string) (_ string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	out, err := os.CreateTemp(dir, m.File+".*.tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(out.Name()))
		}
	}()
	if err := copyWhole(out, in, from, m); err != nil {
		return "", errors.Join(err, out.Close())
	}
	if err := errors.Join(out.Chmod(0o644), out.Sync(), out.Close()); err != nil {
		return "", err
	}
	return Path(dir, m), os.Rename(out.Name(), Path(dir, m))
}

// copyWhole copies at most one byte more than the model has, so that a wrong
// path fills no disk, and checks what it copied.
func copyWhole(out io.Writer, in io.Reader, from string, m Model) error {
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, m.Size+1)); err != nil {
		return err
	}
	return m.match(from, sum.Sum(nil))
}
