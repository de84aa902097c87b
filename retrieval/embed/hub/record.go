package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// recordFile is the record's name in a model's folder.
const recordFile = "headstart.json"

// record is what was pulled.
type record struct {
	Model    string            `json:"model"`
	Revision string            `json:"revision"`
	Files    map[string]string `json:"sha256"` // by path, in hexadecimal
}

// ChangedError means that a file is not the one that was first pulled.
type ChangedError struct {
	Dir       string
	File      string
	Want, Got string // SHA-256 in hexadecimal
}

// Error names both hashes and the way out.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s has sha256 %s, but %s was recorded when the model was first pulled: if the change is meant, remove %s, pull again and push the bases again",
		e.File, e.Got, e.Want, e.Dir)
}

// readRecord reads the record of a folder; one without has an empty one.
func readRecord(dir string) (record, error) {
	r := record{Files: map[string]string{}}
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return record{}, fmt.Errorf("read %s: %w", recordFile, err)
	}
	if r.Files == nil {
		r.Files = map[string]string{}
	}
	return r, nil
}

// Pulled are the names of the models that are in the folder of all models.
func Pulled(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "hub", "*", "*", recordFile))
	if err != nil {
		return nil, fmt.Errorf("look for models: %w", err)
	}
	var list []string
	for _, path := range paths {
		model := filepath.Dir(path)
		list = append(list, filepath.Base(filepath.Dir(model))+"/"+filepath.Base(model))
	}
	slices.Sort(list)
	return list, nil
}

// write replaces the record of a folder as a whole.
func (r record) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, recordFile)
	if err := os.WriteFile(path+".tmp", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// Identify tells files apart from others that have their names: eight digits of
// their hashes. In a folder that was pulled, files that are not those of the
// record are refused with a *ChangedError. The paths are with slashes, and below
// dir.
func Identify(dir string, files map[string][]byte) (string, error) {
	r, err := readRecord(dir)
	if err != nil {
		return "", err
	}
	all := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[path])
		got := hex.EncodeToString(sum[:])
		if want, ok := r.Files[path]; ok && got != want {
			return "", &ChangedError{Dir: dir, File: path, Want: want, Got: got}
		}
		fmt.Fprintf(all, "%s %s\n", path, got)
	}
	return hex.EncodeToString(all.Sum(nil)[:4]), nil
}

// sumOf is the SHA-256 of a file, in hexadecimal.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
