package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

const (
	writeWithin = 5 * time.Second
	readWithin  = 5 * time.Second
	// bodyBytes is the longest request; longestText the longest message in it.
	bodyBytes   = 32 << 10
	longestText = 4000
)

// refusal is why a request was not granted: a code for programs, a sentence for
// people.
type refusal struct {
	Status   int    `json:"-"`
	Code     string `json:"code"`
	Sentence string `json:"error"`
}

func refuse(w http.ResponseWriter, r refusal) { answer(w, r.Status, r) }

// answer writes JSON. Who asked may be gone; then there is nobody to tell.
func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	writeSoon(w)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// writeSoon gives what is written next its deadline. What is no connection has
// none.
func writeSoon(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
}

// decode reads a small JSON body, and refuses by itself what is none. The
// read's deadline does not outlive it: the connection is watched for its end.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readWithin))
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyBytes)).Decode(into)
	_ = control.SetReadDeadline(time.Time{})
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		refuse(w, tooLong)
	case err != nil:
		refuse(w, refusal{http.StatusBadRequest, "json", "The request is not the JSON that was expected."})
	}
	return err == nil
}

var (
	tooLong = refusal{http.StatusRequestEntityTooLarge, "long", "The message is too long."}
	unknown = refusal{http.StatusNotFound, "visit", "There is no such visit, or it is over."}
)
