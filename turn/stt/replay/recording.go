package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrEmpty says that a folder holds no recording in the language asked for.
var ErrEmpty = errors.New("no recordings")

// sidecar is a call.json, as far as ears need it.
type sidecar struct {
	Language string `json:"language"`
	Turns    []struct {
		Audio string `json:"audio"`
		Words []struct {
			Word  string `json:"word"`
			Start int64  `json:"start_ms"`
			End   int64  `json:"end_ms"`
		} `json:"words"`
	} `json:"turns"`
}

// word is a spoken word and where it stands in its recording.
type word struct {
	text       string
	start, end time.Duration
}

// recording is one turn of a recorded call: what is said, when, and the sound.
type recording struct {
	language string
	words    []word
	text     string
	prints   []fingerprint // one each step of its sound
}

// load reads the recordings of a folder of calls, in the order of their paths.
func load(dir, language string) ([]recording, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "call.json"))
	if err != nil {
		return nil, fmt.Errorf("look for calls in %s: %w", dir, err)
	}
	var all []recording
	for _, path := range paths {
		some, err := loadCall(path, language)
		if err != nil {
			return nil, fmt.Errorf("read call %s: %w", path, err)
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("load %s, language %q: %w", dir, language, ErrEmpty)
	}
	return all, nil
}

func loadCall(path, language string) ([]recording, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var call sidecar
	if err := json.Unmarshal(text, &call); err != nil {
		return nil, err
	}
	if !speaks(call.Language, language) {
		return nil, nil
	}
	var all []recording
	for _, turn := range call.Turns {
		r := recording{language: call.Language}
		for _, w := range turn.Words {
			r.words = append(r.words, word{w.Word, time.Duration(w.Start) * time.Millisecond, time.Duration(w.End) * time.Millisecond})
		}
		if err := r.hear(filepath.Join(filepath.Dir(path), filepath.Base(turn.Audio))); err != nil {
			return nil, fmt.Errorf("read %s: %w", turn.Audio, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// speaks tells whether a call's language is the one asked for: "es" asks for
// "es-ES" too, and "" for all.
func speaks(language, asked string) bool {
	if asked == "" || strings.EqualFold(language, asked) {
		return true
	}
	base, _, _ := strings.Cut(language, "-")
	return strings.EqualFold(base, asked)
}

// hear reads the sound and takes its prints.
func (r *recording) hear(path string) error {
	if len(r.words) == 0 {
		return errors.New("no word timings")
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	pcm, err := ReadWAV(file)
	if err != nil {
		return err
	}
	r.text = joined(r.words)
	r.prints = take(pcm)
	return nil
}

func joined(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// starts is the step in which the first word begins.
func (r *recording) starts() int { return int(r.words[0].start / step) }
