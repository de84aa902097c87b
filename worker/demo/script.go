package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"headstart/turn/stt/replay"
)

// Script is one recorded call: who calls whom, and what they say when.
type Script struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	From     string `json:"from"` // E.164
	To       string `json:"to"`
	Turns    []Turn `json:"turns"`
}

// Turn is one thing that the caller says.
type Turn struct {
	Audio       string `json:"audio"` // the recording, beside the script
	Text        string `json:"text"`
	SpeechEndMS int64  `json:"speech_end_ms"` // in the recording
	// After is when it is said: "greeting" and "reply" once that was heard to
	// its end, "barge_in" AfterMS into the answer that is still being heard.
	After   string `json:"after"`
	AfterMS int64  `json:"after_ms"`
	Expects Expect `json:"expects"`

	pcm []int16 // 16 kHz mono
}

// Expect is what a good answer rests on.
type Expect struct {
	Path   string `json:"path,omitempty"`   // the file that covers the question
	None   bool   `json:"none,omitempty"`   // no file does
	Digits bool   `json:"digits,omitempty"` // it is no question: nothing is looked up
}

func (t Turn) speechEnd() time.Duration { return time.Duration(t.SpeechEndMS) * time.Millisecond }

// LoadScripts reads the calls of a folder, with their recordings, in the order
// that they are named.
func LoadScripts(dir string, names ...string) ([]Script, error) {
	var all []Script
	for _, name := range names {
		s, err := loadScript(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("load call %s: %w", name, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func loadScript(dir string) (Script, error) {
	text, err := os.ReadFile(filepath.Join(dir, "call.json"))
	if err != nil {
		return Script{}, err
	}
	var s Script
	if err := json.Unmarshal(text, &s); err != nil {
		return Script{}, fmt.Errorf("read call.json: %w", err)
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		file, err := os.ReadFile(filepath.Join(dir, filepath.Base(t.Audio)))
		if err != nil {
			return Script{}, err
		}
		if t.pcm, err = replay.ReadWAV(file); err != nil {
			return Script{}, fmt.Errorf("read %s: %w", t.Audio, err)
		}
	}
	return s, nil
}
