// Package weights brings the files of trained numbers that an engine needs to
// the operator's disk: from their publisher (Pull), or from a file that was
// carried into a closed network (Install). It owns the catalogue: what each
// file is called, where it is published, and the SHA-256 that it must have.
//
// It never reads what is inside a file and never leaves one in its place that
// is not the catalogue's: bytes go to a temporary name first and are renamed
// when their hash fits.
//
// A download that fails keeps what it has, and the next Pull resumes there. A
// file with a wrong hash is removed and refused with both hashes (*HashError).
// A server that sends nothing for 30 s is given up (*StallError).
package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Model is one published file of weights.
type Model struct {
	Name    string // what the operator calls it
	Engine  string // what it is for, in a few words
	URL     string // where its publisher has it
	SHA256  string // in hexadecimal
	File    string // its name on disk, no folder
	Size    int64  // in bytes
	Licence string // SPDX
}

// Silero is the name of Silero VAD's 16 kHz network in the catalogue.
const Silero = "silero-vad"

// Catalogue lists the models that can be pulled, in a fixed order. The
// addresses name a commit, so that what stands behind them does not change.
func Catalogue() []Model {
	return []Model{{
		Name:    Silero,
		Engine:  "voice activity detection, 16 kHz",
		URL:     "https://raw.githubusercontent.com/snakers4/silero-vad/806dcba3f0b5d95282d0889a074954a2f8c6397b/src/silero_vad/data/silero_vad_16k.safetensors",
		SHA256:  "c59271c284ae9c8335d795d60e0bfdb71aaaceec578d9bd9ffc1b8153c319ea1",
		File:    "silero_vad_16k.safetensors",
		Size:    1239748,
		Licence: "MIT",
	}}
}

// Find gives the catalogue's model of this name.
func Find(name string) (Model, bool) {
	for _, m := range Catalogue() {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}

// Validate reports everything that keeps a model from being fetched, joined.
func (m Model) Validate() error {
	var errs []error
	if filepath.Base(m.File) != m.File || !filepath.IsLocal(m.File) || m.File == "." {
		errs = append(errs, fmt.Errorf("file %q is not a plain name", m.File))
	}
	if sum, err := hex.DecodeString(m.SHA256); err != nil || len(sum) != sha256.Size {
		errs = append(errs, fmt.Errorf("sha256 %q is not 64 hexadecimal digits", m.SHA256))
	}
	if m.Size <= 0 {
		errs = append(errs, fmt.Errorf("size %d is not positive", m.Size))
	}
	return errors.Join(errs...)
}

// HashError refuses a file that is not the model.
type HashError struct {
	Model     string
	Path      string // where the file came from, or where it was downloaded to
	Want, Got string // SHA-256 in lower-case hexadecimal
}

// Error implements error.
func (e *HashError) Error() string {
	return fmt.Sprintf("%s has sha256 %s, but %s has %s", e.Path, e.Got, e.Model, e.Want)
}

// Path is where the model lies in a folder of models, whether it is there or not.
func Path(dir string, m Model) string {
	return filepath.Join(dir, m.File)
}

// Verify reads the file and returns a *HashError if it is not the model's.
func Verify(path string, m Model) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("verify %s: %w", m.Name, err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("verify %s: %w", m.Name, err)
	}
	return m.match(path, sum.Sum(nil))
}

func (m Model) match(path string, sum []byte) error {
	if got := hex.EncodeToString(sum); got != strings.ToLower(m.SHA256) {
		return &HashError{Model: m.Name, Path: path, Want: m.SHA256, Got: got}
	}
	return nil
}
