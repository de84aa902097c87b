package line

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Timing are the deadlines of a line. A zero field is the default named at it.
type Timing struct {
	ConnectTimeout time.Duration // 5 s, to the answer of the handshake
	WriteTimeout   time.Duration // 2 s a message
	SilentAfter    time.Duration // 12 s of audio without any message: the connection is taken for dead
	DrainTimeout   time.Duration // 5 s for the last results once the audio has ended
	KeepAudio      time.Duration // 30 s of audio without its final are kept for the next connection
	GiveUpAfter    time.Duration // 60 s of failures in a row end Listen

	// Backoff is the wait before each try to connect again: 0.1, 0.5, 2 and
	// 5 s. The last one repeats.
	Backoff []time.Duration
}

// Validate joins every complaint about the deadlines.
func (t Timing) Validate() error {
	var complaints []error
	for _, d := range t.durations() {
		complaints = append(complaints, CheckDuration(d.name, d.value))
	}
	return errors.Join(complaints...)
}

// CheckDuration complains of a duration that is negative.
func CheckDuration(name string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s %v is negative", name, d)
	}
	return nil
}

// CheckBase complains of an address that a websocket cannot be made to.
func CheckBase(address string) error {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || !slices.Contains([]string{"ws", "wss", "http", "https"}, base.Scheme) {
		return fmt.Errorf("base url %q is not a websocket address", address)
	}
	return nil
}

type namedDuration struct {
	name  string
	value time.Duration
}

// durations lists those that may not be negative.
func (t Timing) durations() []namedDuration {
	list := []namedDuration{
		{"connect timeout", t.ConnectTimeout}, {"write timeout", t.WriteTimeout}, {"silent limit", t.SilentAfter},
		{"drain timeout", t.DrainTimeout}, {"kept audio", t.KeepAudio}, {"give-up time", t.GiveUpAfter},
	}
	for _, wait := range t.Backoff {
		list = append(list, namedDuration{"backoff", wait})
	}
	return list
}

// WithDefaults fills the zero fields in.
func (t Timing) WithDefaults() Timing {
	t.ConnectTimeout = cmp.Or(t.ConnectTimeout, 5*time.Second)
	t.WriteTimeout = cmp.Or(t.WriteTimeout, 2*time.Second)
	t.SilentAfter = cmp.Or(t.SilentAfter, 12*time.Second)
	t.DrainTimeout = cmp.Or(t.DrainTimeout, 5*time.Second)
	t.KeepAudio = cmp.Or(t.KeepAudio, 30*time.Second)
	t.GiveUpAfter = cmp.Or(t.GiveUpAfter, time.Minute)
	if len(t.Backoff) == 0 {
		t.Backoff = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 5 * time.Second}
	}
	return t
}

// OwnClient is an HTTP client that leaves no idle connection behind after a refusal.
func OwnClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport}
}
