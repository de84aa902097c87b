package deepgramtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Kind names a fault.
type Kind string

// The kinds of Fault.
const (
	Refuse  Kind = "refuse"  // answer the handshake with Status (401 when it is 0)
	Hang    Kind = "hang"    // take the connection, never answer the handshake
	Drop    Kind = "drop"    // break the socket without a close frame
	Close   Kind = "close"   // close with the code Status (1011 when it is 0)
	Mute    Kind = "mute"    // read the audio, say nothing
	Stall   Kind = "stall"   // stop reading
	Garbage Kind = "garbage" // say what is not the protocol's
	Fail    Kind = "error"   // give up with an Error message
)

var kinds = []Kind{Refuse, Hang, Drop, Close, Mute, Stall, Garbage, Fail}

// Fault is one thing that goes wrong with a connection. Refuse and Hang strike
// new connections; the others strike open ones too.
type Fault struct {
	Kind   Kind
	After  time.Duration // since the connection opened, or since Break when it was open
	Status int           // of a Refuse or a Close
	Times  int           // connections to strike; 0 = all
}

// wireFault is a Fault on the control endpoint.
type wireFault struct {
	Kind    Kind  `json:"kind"`
	AfterMS int64 `json:"after_ms,omitempty"`
	Status  int   `json:"status,omitempty"`
	Times   int   `json:"times,omitempty"`
}

// UnmarshalJSON reads {"kind": "drop", "after_ms": 500, "times": 1}.
func (f *Fault) UnmarshalJSON(b []byte) error {
	var w wireFault
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("read fault: %w", err)
	}
	if !slices.Contains(kinds, w.Kind) {
		return fmt.Errorf("read fault: kind %q is none of %v", w.Kind, kinds)
	}
	*f = Fault{Kind: w.Kind, After: time.Duration(w.AfterMS) * time.Millisecond, Status: w.Status, Times: w.Times}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (f Fault) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireFault{Kind: f.Kind, AfterMS: f.After.Milliseconds(), Status: f.Status, Times: f.Times})
}

// standing is a fault with what is left of it.
type standing struct {
	Fault
	since time.Time
	left  int // connections; negative = all
}

// Break replaces the faults. A connection is struck by the first one that is
// due and has times left, and by no other.
func (s *Server) Break(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
	for _, f := range faults {
		left := f.Times
		if left == 0 {
			left = -1
		}
		s.faults = append(s.faults, &standing{Fault: f, since: time.Now(), left: left})
	}
}

// Mend takes all faults away. A connection that was struck stays so.
func (s *Server) Mend() { s.Break() }

// fault gives a connection the fault that strikes it now. The first one with
// times left is the next to strike, even when it is not due yet.
func (s *Server) fault(opened time.Time, among ...Kind) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.left == 0 {
			continue
		}
		since := f.since
		if opened.After(since) {
			since = opened
		}
		if !slices.Contains(among, f.Kind) || time.Since(since) < f.After {
			return Fault{}, false
		}
		f.left--
		return f.Fault, true
	}
	return Fault{}, false
}

// control serves /fakes/stt: POST (or PUT) sets the faults, DELETE takes them
// away, GET gives the record.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPut, http.MethodPost:
		var body struct {
			Faults []Fault `json:"faults"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.Break(body.Faults...)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodDelete:
		s.Mend()
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Record()) // the reader has gone, nobody is left to tell
	default:
		http.Error(w, "use GET, POST or DELETE", http.StatusMethodNotAllowed)
	}
}
