// Package deepgramtest is a server that speaks Deepgram's v1/listen (Nova) and
// v2/listen (Flux) from a script, for tests and for demonstrations without an
// account. It owns the protocols: the query and the key are checked, energy in
// the audio is answered with the script's words as they become known, the
// control messages do what they do at Deepgram, and a connection without audio
// or KeepAlive for 10 s is closed with 1011. It never listens to what is said.
//
// It fails on purpose when told to (Break, or POST /fakes/stt), and keeps
// a Record of what it was sent.
package deepgramtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Script is what callers say.
type Script struct {
	// Utterances are said in order, one for each stretch of energy of a call.
	Utterances []Utterance
	// Repeat begins again when they run out; else more speech has no words and
	// is counted as an overrun.
	Repeat bool
	// SegmentAfter freezes the words known so far after this much speech, as
	// Deepgram does with long turns. 0 means one final a stretch.
	SegmentAfter time.Duration
	// EndOfTurn is how long after its energy v2 ends a turn. 0 means 150 ms,
	// when v1 sends its final.
	EndOfTurn time.Duration
	// Key is the key that is let in; any when empty.
	Key string
}

// Record is what the server was sent.
type Record struct {
	Connections int          `json:"connections"` // handshakes answered well
	Refused     int          `json:"refused"`     // and otherwise
	AudioBytes  int64        `json:"audio_bytes"`
	Control     []string     `json:"control"` // the control messages, in order
	Pings       int          `json:"pings"`
	Queries     []url.Values `json:"queries"` // one a connection
	Overruns    int          `json:"overruns"`
	Complaints  []string     `json:"complaints"` // what Deepgram would not have liked
}

// Server is the fake, an http.Handler of /v1/listen, /v2/listen and /fakes/stt.
type Server struct {
	script Script
	mux    *http.ServeMux
	done   chan struct{} // closed by Close

	mu     sync.Mutex // guards what follows
	faults []*standing
	record Record
	broken map[string][]*track // calls whose connection a fault ended, by tag
	ended  bool
	open   sync.WaitGroup // connections; Add under mu and only before ended
}

// New makes a server.
func New(script Script) *Server {
	s := &Server{script: script, mux: http.NewServeMux(), done: make(chan struct{}), broken: map[string][]*track{}}
	s.mux.HandleFunc("/v1/listen", func(w http.ResponseWriter, r *http.Request) { s.listen(w, r, s.wrong, s.nova) })
	s.mux.HandleFunc("/v2/listen", func(w http.ResponseWriter, r *http.Request) { s.listen(w, r, s.wrongFlux, s.flux) })
	s.mux.HandleFunc("/fakes/stt", s.control)
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

// Record tells what was received so far.
func (s *Server) Record() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record
	r.Control, r.Queries, r.Complaints = slices.Clone(r.Control), slices.Clone(r.Queries), slices.Clone(r.Complaints)
	return r
}

func (s *Server) note(change func(*Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.record)
}

// enter counts a connection in; false when the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.open.Add(1)
	return true
}

// take gives a connection its place in the script: that of a call of the same
// tag that a fault cut off, or the beginning.
func (s *Server) take(tag string) *track {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting := s.broken[tag]; len(waiting) > 0 {
		s.broken[tag] = waiting[1:]
		return waiting[0]
	}
	return &track{script: s.script.Utterances, repeat: s.script.Repeat}
}

// leave keeps the place of a call that a fault cut off.
func (s *Server) leave(tag string, place *track) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[tag] = append(s.broken[tag], place)
}

// listen serves one handshake and its connection.
func (s *Server) listen(w http.ResponseWriter, r *http.Request, wrong func(*http.Request) (int, string), speak func(url.Values, *track) protocol) {
	if !s.enter() {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	defer s.open.Done()
	now := time.Now()
	if _, hangs := s.fault(now, Hang); hangs {
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		return
	}
	if f, refuses := s.fault(now, Refuse); refuses {
		s.refuse(w, f.Status)
		return
	}
	if status, message := wrong(r); status != 0 {
		s.note(func(r *Record) { r.Complaints = append(r.Complaints, message) })
		s.refuse(w, status)
		return
	}
	s.serve(w, r, speak)
}

// wrong tells what is wrong with a handshake; 0 when nothing is.
func (s *Server) wrong(r *http.Request) (status int, message string) {
	kind, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if kind != "Token" && kind != "Bearer" || key == "" || s.script.Key != "" && key != s.script.Key {
		return http.StatusUnauthorized, "authorization is wrong"
	}
	q := r.URL.Query()
	rate, err := strconv.Atoi(q.Get("sample_rate"))
	switch {
	case q.Get("model") == "":
		return http.StatusBadRequest, "model is missing"
	case q.Get("encoding") != "linear16":
		return http.StatusBadRequest, "encoding is not linear16"
	case err != nil || rate < 8000 || rate > 48000:
		return http.StatusBadRequest, "sample_rate is out of range"
	case q.Get("channels") != "" && q.Get("channels") != "1":
		return http.StatusBadRequest, "channels is not 1"
	}
	return 0, ""
}

// refusals are the texts that Deepgram gives with a status.
var refusals = map[int]refusal{
	http.StatusUnauthorized: {Code: "INVALID_AUTH", Message: "Invalid credentials."},
	http.StatusBadRequest:   {Code: "Bad Request", Message: "Bad Request: the options are wrong."},
}

func (s *Server) refuse(w http.ResponseWriter, status int) {
	if status == 0 {
		status = http.StatusUnauthorized
	}
	s.note(func(r *Record) { r.Refused++ })
	body, known := refusals[status]
	if !known {
		body = refusal{Code: strings.ToUpper(strings.ReplaceAll(http.StatusText(status), " ", "_")), Message: http.StatusText(status)}
	}
	body.RequestID = requestID
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}

// requestID is the same for all: a fake's answers should not differ between runs.
const requestID = "00000000-0000-4000-8000-000000000000"
