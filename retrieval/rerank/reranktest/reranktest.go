// Package reranktest is a server that really speaks the rerank call of Cohere, Jina
// and Voyage, for tests: it judges a text by the part of the question's words that
// it holds. It owns no sockets: it is an http.Handler. It fails in the ways that
// servers do, when it is told to.
package reranktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Fault is a way to fail.
type Fault string

// The faults. The empty one is none.
const (
	Failing  Fault = "error"    // an HTTP error, 500 unless Status says otherwise
	Hang     Fault = "hang"     // no answer ever
	Garbage  Fault = "garbage"  // bytes that are no JSON
	Short    Fault = "short"    // one text is not judged
	Twice    Fault = "twice"    // one text is judged twice, in another's place
	Stranger Fault = "stranger" // a text is judged that was not sent
	Dropped  Fault = "dropped"  // the connection goes away
)

// Server is the fake. Set the fields before the first request; the methods may be
// called any time.
type Server struct {
	// Voyage writes its list as data, where Cohere and Jina write results.
	Voyage bool
	Fault  Fault
	Status int           // of Failing
	Delay  time.Duration // request to answer

	mu     sync.Mutex
	bodies []json.RawMessage
	paths  []string
	keys   []string
}

// Bodies are the requests so far.
func (s *Server) Bodies() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// Asked is where the requests went, and with which Authorization.
func (s *Server) Asked() (paths, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.paths), slices.Clone(s.keys)
}

// judgement is one line of an answer.
type judgement struct {
	Index int     `json:"index"`
	Score float64 `json:"relevance_score"`
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	var asked struct {
		Model, Query string
		Documents    []string
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || json.Unmarshal(body, &asked) != nil || asked.Model == "" || asked.Query == "" || len(asked.Documents) == 0 {
		http.Error(w, `{"message":"model, query and documents are required"}`, http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.bodies, s.paths, s.keys = append(s.bodies, body), append(s.paths, r.URL.String()), append(s.keys, r.Header.Get("Authorization"))
	s.mu.Unlock()
	if !wait(r, s.Delay) || s.failed(w, r) {
		return
	}
	name := "results"
	if s.Voyage {
		name = "data"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{name: s.judge(asked.Query, asked.Documents), "model": asked.Model}) // the client sees it break
}

func wait(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (s *Server) failed(w http.ResponseWriter, r *http.Request) bool {
	switch s.Fault {
	case Failing:
		status := s.Status
		if status == 0 {
			status = http.StatusInternalServerError
		}
		http.Error(w, `{"message":"`+r.Header.Get("Authorization")+`"}`, status)
	case Hang:
		<-r.Context().Done()
	case Garbage:
		_, _ = w.Write([]byte("<html>")) // the client sees it break
	case Dropped:
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}

// judge orders the texts, best first, as servers do.
func (s *Server) judge(question string, texts []string) []judgement {
	list := make([]judgement, len(texts))
	for i, t := range texts {
		list[i] = judgement{i, Relevance(question, t)}
	}
	slices.SortStableFunc(list, func(a, b judgement) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	switch s.Fault {
	case Short:
		list = list[1:]
	case Twice:
		list[0].Index = list[len(list)-1].Index
	case Stranger:
		list[0].Index = len(list)
	}
	return list
}

// Relevance is the part of the question's words that a text holds.
func Relevance(question, text string) float64 {
	held := words(text)
	asked := words(question)
	n := 0
	for _, w := range asked {
		if slices.Contains(held, w) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(asked)))
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
