// Package embedtest is a server that really speaks OpenAI's embeddings, for
// tests and for `headstart fakes`: bags of hashed words as unit vectors, so that
// texts which share words are near. It owns no sockets: it is an http.Handler.
// It fails in the ways that servers do, when it is told to.
package embedtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// The defaults: the contract's delay, and a length that keeps collisions rare.
const (
	DefaultDelay = 80 * time.Millisecond
	DefaultDim   = 256
)

// OpenAI's limits on one request.
const maxInputs = 2048

// Fault is a way to fail.
type Fault string

// The faults. The empty one is none.
const (
	Refuse   Fault = "refuse"    // the connection is dropped without an answer
	Failing  Fault = "error"     // an HTTP error, 500 unless Status says otherwise
	Hang     Fault = "hang"      // no answer ever
	WrongDim Fault = "dimension" // vectors one too long
	Short    Fault = "short"     // one vector too few
	Garbage  Fault = "garbage"   // bytes that are no JSON
)

// Faults says how the next requests fail.
type Faults struct {
	Fault  Fault `json:"fault"`
	Status int   `json:"status,omitempty"` // of the Failing fault; 0 is 500
	Times  int   `json:"times,omitempty"`  // so many requests fail, then none; 0 is until told otherwise
	// DelayMS, when set, is the delay of every answer from now on.
	DelayMS *int `json:"delay_ms,omitempty"`
}

// Server is the fake. Set the fields before the first request; the methods may
// be called any time.
type Server struct {
	Delay time.Duration // request to answer; 0 is DefaultDelay, negative none
	Dim   int           // 0 is DefaultDim

	mu       sync.Mutex
	faults   Faults
	requests int
	texts    []string
	bodies   []json.RawMessage
}

// Fail sets how the next requests fail. The zero Faults heals, and leaves the
// delay as it is.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.DelayMS != nil {
		s.Delay = time.Duration(*f.DelayMS) * time.Millisecond
		if s.Delay == 0 {
			s.Delay = -1
		}
	}
	s.faults = f
}

// Requests is how many requests came, failed ones too.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Texts are the texts that were sent, in order.
func (s *Server) Texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.texts...)
}

// Bodies are the bodies of the requests that made sense, in order.
func (s *Server) Bodies() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]json.RawMessage(nil), s.bodies...)
}

// ServeHTTP answers embeddings, and POST and GET /fakes/embed.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/fakes/embed":
		s.control(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/embeddings"):
		s.embed(w, r)
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
	state := map[string]any{"faults": s.faults, "requests": s.requests, "texts": len(s.texts)}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, state)
}

// question is the body of a request.
type question struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Encoding   string          `json:"encoding_format"`
	Dimensions int             `json:"dimensions"`
	Output     int             `json:"output_dimension"` // as Voyage calls it
}

// inputs are the texts of a question, whether it holds one or a list.
func (q question) inputs() ([]string, bool) {
	var one string
	if json.Unmarshal(q.Input, &one) == nil {
		return []string{one}, one != ""
	}
	var list []string
	if json.Unmarshal(q.Input, &list) != nil || len(list) == 0 || len(list) > maxInputs {
		return nil, false
	}
	if slices.Contains(list, "") {
		return nil, false
	}
	return list, true
}

func (s *Server) embed(w http.ResponseWriter, r *http.Request) {
	var q question
	var body json.RawMessage
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<20)).Decode(&body)
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	texts, ok := q.inputs()
	if err != nil || !ok || q.Model == "" || (q.Encoding != "" && q.Encoding != "float" && q.Encoding != "base64") {
		refuse(w, http.StatusBadRequest)
		return
	}
	f, delay := s.begin(texts, body)
	switch f.Fault {
	case Refuse:
		panic(http.ErrAbortHandler)
	case Hang:
		<-r.Context().Done()
		return
	}
	if !wait(r, delay) {
		return
	}
	switch f.Fault {
	case Failing:
		refuse(w, f.Status)
	case Garbage:
		fmt.Fprint(w, "<html>no vectors here")
	default:
		s.answer(w, q, texts, f.Fault)
	}
}

// begin counts a request and takes its fault and delay.
func (s *Server) begin(texts []string, body json.RawMessage) (Faults, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.texts = append(s.texts, texts...)
	s.bodies = append(s.bodies, body)
	f := s.faults
	if f.Fault != "" && f.Times > 0 {
		if s.faults.Times--; s.faults.Times == 0 {
			s.faults = Faults{}
		}
	}
	if s.Delay == 0 {
		return f, DefaultDelay
	}
	return f, max(0, s.Delay)
}

func (s *Server) answer(w http.ResponseWriter, q question, texts []string, fault Fault) {
	dim := s.Dim
	if dim == 0 {
		dim = DefaultDim
	}
	if asked := max(q.Dimensions, q.Output); asked > 0 {
		dim = asked
	}
	if fault == WrongDim {
		dim++
	}
	tokens := 0
	data := []any{}
	for i, text := range texts {
		tokens += len(text)/4 + 1
		if fault == Short && i == len(texts)-1 {
			break
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": encode(Vector(text, dim), q.Encoding)})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data, "model": q.Model,
		"usage": map[string]any{"prompt_tokens": tokens, "total_tokens": tokens}})
}

// encode gives the vector as numbers, or as base64 of little-endian float32.
func encode(v []float32, encoding string) any {
	if encoding != "base64" {
		return v
	}
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// Vector is what the server answers for a text: each word adds to one place,
// chosen with its sign by a hash, and the sum has length 1. A text without
// words points along the first axis.
func Vector(text string, dim int) []float32 {
	v := make([]float32, dim)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(word))
		sum := h.Sum64()
		sign := float32(1)
		if sum>>63 == 1 {
			sign = -1
		}
		v[sum%uint64(dim)] += sign
	}
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		v[0] = 1
		return v
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(square))
	}
	return v
}

func refuse(w http.ResponseWriter, status int) {
	if status == 0 {
		status = http.StatusInternalServerError
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": "scripted", "type": "server_error"}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
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
