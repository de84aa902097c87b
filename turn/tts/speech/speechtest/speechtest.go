// Package speechtest is a server that really speaks OpenAI's audio/speech, for
// tests and for `headstart fakes`: a tone, 12 ms of it a character. It owns no
// sockets: it is an http.Handler. It fails in the ways that servers do, when it
// is told to.
package speechtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The contract's fake: a tone of 440 Hz at -20 dBFS (RMS) in OpenAI's PCM.
const (
	Rate         = 24000
	PerCharacter = 12 * time.Millisecond
	toneHertz    = 440
	toneRMS      = 0.1
)

// Fault is a way to fail.
type Fault string

// The faults. The empty one is none.
const (
	Refuse  Fault = "refuse"  // the connection is dropped without an answer
	Failing Fault = "error"   // an HTTP error before any audio, 500 unless Status says otherwise
	Mute    Fault = "mute"    // not even response headers
	Hang    Fault = "hang"    // headers, then no audio
	Stall   Fault = "stall"   // half of the audio, then nothing
	Drop    Fault = "drop"    // half of the audio, then the connection is dropped
	Empty   Fault = "empty"   // an answer without audio
	Garbage Fault = "garbage" // a web page
)

// Format is how the audio is sent, whatever was asked for.
type Format string

// The formats. PCM is the zero value's.
const (
	PCM Format = "pcm"
	WAV Format = "wav" // with the endless header of a stream
	SSE Format = "sse"
)

// Faults says how the next requests fail.
type Faults struct {
	Fault  Fault `json:"fault"`
	Status int   `json:"status,omitempty"` // of the Failing fault; 0 is 500
	Times  int   `json:"times,omitempty"`  // so many requests fail, then none; 0 is until told otherwise
}

// Server is the fake. Set the fields before the first request; the methods may
// be called any time.
type Server struct {
	First  time.Duration // request to first audio
	Format Format

	mu     sync.Mutex
	faults Faults
	inputs []string
	whole  int
}

// Fail sets how the next requests fail. The zero Faults heals.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Inputs are the texts that were asked for, in order, failed ones too.
func (s *Server) Inputs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.inputs...)
}

// Whole is how many answers were sent to their end.
func (s *Server) Whole() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole
}

// Length is how long the audio of a text is.
func Length(text string) time.Duration {
	return time.Duration(utf8.RuneCountInString(text)) * PerCharacter
}

// ServeHTTP answers audio/speech, and POST and GET /fakes/tts.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/fakes/tts":
		s.control(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/audio/speech"):
		s.speak(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var f Faults
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&f); err != nil {
			http.Error(w, "read faults: "+err.Error(), http.StatusBadRequest)
			return
		}
		s.Fail(f)
	}
	s.mu.Lock()
	data, err := json.Marshal(map[string]any{"faults": s.faults, "requests": len(s.inputs), "whole": s.whole, "inputs": s.inputs})
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// begin counts a request and takes its fault.
func (s *Server) begin(input string) Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inputs = append(s.inputs, input)
	f := s.faults
	if f.Fault != "" && f.Times > 0 {
		if s.faults.Times--; s.faults.Times == 0 {
			s.faults = Faults{}
		}
	}
	return f
}

func (s *Server) speak(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Model, Input, Voice string }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&asked)
	if n := utf8.RuneCountInString(asked.Input); err != nil || n == 0 || n > 4096 || asked.Model == "" || asked.Voice == "" {
		refuse(w, http.StatusBadRequest)
		return
	}
	f := s.begin(asked.Input)
	switch f.Fault {
	case Refuse:
		panic(http.ErrAbortHandler)
	case Failing:
		if f.Status == 0 {
			f.Status = http.StatusInternalServerError
		}
		refuse(w, f.Status)
	case Mute:
		<-r.Context().Done()
	case Garbage:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>no audio here")
	default:
		s.stream(w, r, f.Fault, Tone(Length(asked.Input)))
	}
}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, `{"error":{"message":"scripted","type":"server_error"}}`)
}

// stream sends the audio in pieces of a tenth of a second.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, fault Fault, audio []byte) {
	w.Header().Set("Content-Type", map[Format]string{WAV: "audio/wav", SSE: "text/event-stream"}[s.Format])
	if s.Format == PCM || s.Format == "" {
		w.Header().Set("Content-Type", "audio/pcm")
	}
	flush(w)
	if fault == Hang || !wait(r, s.First) {
		<-r.Context().Done()
		return
	}
	if s.Format == WAV {
		_, _ = w.Write(endlessHeader())
	}
	if fault == Empty {
		audio = nil
	}
	const piece = Rate / 10 * 2
	for sent := 0; sent < len(audio); sent += piece {
		if sent >= len(audio)/2 && (fault == Stall || fault == Drop) {
			break
		}
		s.piece(w, audio[sent:min(sent+piece, len(audio))])
	}
	s.end(w, r, fault)
}

func (s *Server) piece(w http.ResponseWriter, pcm []byte) {
	if s.Format == SSE {
		fmt.Fprintf(w, "data: {\"type\":\"speech.audio.delta\",\"audio\":%q}\n\n", base64.StdEncoding.EncodeToString(pcm))
	} else {
		_, _ = w.Write(pcm)
	}
	flush(w)
}

func (s *Server) end(w http.ResponseWriter, r *http.Request, fault Fault) {
	switch fault {
	case Stall:
		<-r.Context().Done()
		return
	case Drop:
		panic(http.ErrAbortHandler)
	}
	if s.Format == SSE {
		fmt.Fprint(w, "data: {\"type\":\"speech.audio.done\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}\n\n")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole++
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// wait tells false when the client went away.
func wait(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}

// Tone is the fake's voice: so much of it, as little-endian samples.
func Tone(d time.Duration) []byte { return ToneAt(d, Rate) }

// ToneAt is the voice at another rate, in hertz.
func ToneAt(d time.Duration, rate int) []byte {
	out := make([]byte, 2*int(d*time.Duration(rate)/time.Second))
	for i := range len(out) / 2 {
		v := toneRMS * math.Sqrt2 * math.Sin(2*math.Pi*toneHertz*float64(i)/float64(rate))
		binary.LittleEndian.PutUint16(out[2*i:], uint16(int16(v*math.MaxInt16)))
	}
	return out
}

// endlessHeader is a WAV header whose writer does not know the length.
func endlessHeader() []byte {
	h := []byte("RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	h = binary.LittleEndian.AppendUint32(h, Rate)
	h = binary.LittleEndian.AppendUint32(h, Rate*2)
	h = append(h, 2, 0, 16, 0)
	return append(h, "data\xff\xff\xff\xff"...)
}
