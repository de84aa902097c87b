package v1

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// writeWithin bounds every write: who does not read for so long is cut off.
const writeWithin = 5 * time.Second

// refusal is why a request was not granted: a code for programs, a sentence for
// people.
type refusal struct {
	Status   int    `json:"-"`
	Code     string `json:"code"`
	Sentence string `json:"error"`
}

var (
	wrongHost = refusal{http.StatusMisdirectedRequest, "host", "Without a key this API answers to localhost and loopback addresses alone."}
	wrongKey  = refusal{http.StatusUnauthorized, "key", "Show the key: Authorization: Bearer KEY."}
	noCall    = refusal{http.StatusNotFound, "call", "There is no such call."}
	noAgent   = refusal{http.StatusNotFound, "agent", "There is no such agent."}
	noStore   = refusal{http.StatusServiceUnavailable, "store", "The store did not answer. Try again in a while."}
	noPlace   = refusal{http.StatusServiceUnavailable, "followers", "Too many streams are open."}
)

func badNumber(name string) refusal {
	return refusal{http.StatusBadRequest, name, name + " is not a number that makes sense here."}
}

// guard lets in who shows the key. Where there is none, the listener is on
// loopback, and a name that resolves there by its owner's will is refused: his
// page would be same-origin with us. With a key such a page gets nowhere.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		writeSoon(w)
		switch {
		case s.cfg.Key == "" && !loopback(r.Host):
			refuse(w, wrongHost)
		case s.cfg.Key != "" && !s.shown(r.Header.Get("Authorization")):
			h.Set("WWW-Authenticate", "Bearer")
			refuse(w, wrongKey)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func loopback(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	return strings.EqualFold(name, "localhost") || net.ParseIP(name).IsLoopback()
}

// shown tells whether the header holds the key, in a time that tells nothing of
// it: sums of one length are compared.
func (s *Server) shown(authorization string) bool {
	scheme, key, _ := strings.Cut(authorization, " ")
	got, want := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(s.cfg.Key))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

func refuse(w http.ResponseWriter, r refusal) { answer(w, r.Status, r) }

// answer writes JSON. Who asked may be gone; then there is nobody to tell.
func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	writeSoon(w)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// writeSoon gives what is written next its deadline. What is no connection has
// none.
func writeSoon(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWithin))
}
