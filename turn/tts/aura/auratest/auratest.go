// Package auratest is a server that really speaks Deepgram's v1/speak, for
// tests and for `headstart fakes`: speechtest's tone, 12 ms of it a character,
// at the rate that was asked for. It owns the protocol: the query and the key
// are checked, text that ends a sentence is said at once and other text at the
// Flush, more than 20 Flush messages a minute get a Warning and nothing else,
// Clear forgets what was not sent. It owns no sockets: it is an http.Handler. It
// fails in the ways that servers do, when it is told to.
package auratest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault is a way to fail.
type Fault string

// The faults. The empty one is none. Refuse, Failing and Mute strike
// handshakes, the others a connection's next turn.
const (
	Refuse  Fault = "refuse"  // the connection is dropped without an answer
	Failing Fault = "error"   // the handshake is answered with Status, 500 when it is 0
	Mute    Fault = "mute"    // the handshake is not answered
	Hang    Fault = "hang"    // no audio and no answer, but what is sent is read
	Stall   Fault = "stall"   // half of the audio, then nothing, but what is sent is read
	Drop    Fault = "drop"    // half of the audio, then the connection is dropped
	Block   Fault = "block"   // nothing is read any more
	Fail    Fault = "fail"    // an Error message
	Empty   Fault = "empty"   // no audio, and Flushed
	Garbage Fault = "garbage" // a text frame that is no message
	Deaf    Fault = "deaf"    // all is well, but Clear is never answered
)

var handshakes = []Fault{Refuse, Failing, Mute}

// Faults says how the next handshakes or turns fail.
type Faults struct {
	Fault  Fault `json:"fault"`
	Status int   `json:"status,omitempty"`
	Times  int   `json:"times,omitempty"` // so many fail, then none; 0 is until told otherwise
}

// Options are how the voice behaves.
type Options struct {
	First time.Duration // from the text to its audio
	Every time.Duration // between pieces of 100 ms of audio
	Key   string        // the key that is let in; any when empty
}

// Record is what the server was sent.
type Record struct {
	Connections int      `json:"connections"`
	Open        int      `json:"open"` // connections now
	Texts       []string `json:"texts"`
	Flushes     int      `json:"flushes"`
	Clears      int      `json:"clears"`
	Warnings    int      `json:"warnings"`
	Complaints  []string `json:"complaints"` // what Deepgram would not have liked
}

// Server is the fake, an http.Handler of /v1/speak and /fakes/aura.
type Server struct {
	options Options
	mux     *http.ServeMux
	done    chan struct{} // closed by Close

	mu     sync.Mutex // guards what follows
	faults Faults
	record Record
	ended  bool
	open   sync.WaitGroup // connections; Add under mu and only before ended
}

// New makes a server.
func New(options Options) *Server {
	s := &Server{options: options, mux: http.NewServeMux(), done: make(chan struct{})}
	s.mux.HandleFunc("/v1/speak", s.speak)
	s.mux.HandleFunc("/fakes/aura", s.control)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close breaks every connection and waits until they are gone.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.ended {
		s.ended = true
		close(s.done)
	}
	s.mu.Unlock()
	s.open.Wait()
}

// Fail sets how the next handshakes or turns fail. The zero Faults heals.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Record tells what was received so far.
func (s *Server) Record() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record
	r.Texts, r.Complaints = slices.Clone(r.Texts), slices.Clone(r.Complaints)
	return r
}

func (s *Server) note(change func(*Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.record)
}

// fault takes the fault of a handshake, or of a turn.
func (s *Server) fault(handshake bool) Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.faults
	if f.Fault == "" || slices.Contains(handshakes, f.Fault) != handshake {
		return Faults{}
	}
	if f.Times > 0 {
		if s.faults.Times--; s.faults.Times == 0 {
			s.faults = Faults{}
		}
	}
	return f
}

// enter counts a connection in; false when the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.open.Add(1)
	}
	return !s.ended
}

// speak serves one handshake and its connection.
func (s *Server) speak(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	defer s.open.Done()
	switch f := s.fault(true); f.Fault {
	case Refuse:
		panic(http.ErrAbortHandler)
	case Failing:
		refuse(w, f.Status)
		return
	case Mute:
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		return
	}
	rate, status, complaint := s.wrong(r)
	if status != 0 {
		s.note(func(r *Record) { r.Complaints = append(r.Complaints, complaint) })
		refuse(w, status)
		return
	}
	s.serve(w, r, rate)
}

// wrong tells what is wrong with a handshake; 0 when nothing is.
func (s *Server) wrong(r *http.Request) (rate, status int, complaint string) {
	kind, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if kind != "Token" && kind != "Bearer" || key == "" || s.options.Key != "" && key != s.options.Key {
		return 0, http.StatusUnauthorized, "authorization is wrong"
	}
	q := r.URL.Query()
	rate, err := strconv.Atoi(q.Get("sample_rate"))
	switch {
	case !strings.HasPrefix(q.Get("model"), "aura-"):
		return 0, http.StatusBadRequest, "model is none of v1's"
	case q.Get("encoding") != "linear16":
		return 0, http.StatusBadRequest, "encoding is not linear16"
	case err != nil || !slices.Contains([]int{8000, 16000, 24000, 32000, 48000}, rate):
		return 0, http.StatusBadRequest, "sample_rate is out of range"
	}
	return rate, 0, ""
}

func refuse(w http.ResponseWriter, status int) {
	if status == 0 {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"err_code": "SCRIPTED", "err_msg": http.StatusText(status)}) // the client may have gone
}

// control serves /fakes/aura: POST sets the faults, and both it and GET give
// the faults and the record.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var f Faults
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&f); err != nil {
			http.Error(w, "read faults: "+err.Error(), http.StatusBadRequest)
			return
		}
		s.Fail(f)
	}
	s.mu.Lock()
	faults := s.faults
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"faults": faults, "record": s.Record()}) // the reader may have gone
}
