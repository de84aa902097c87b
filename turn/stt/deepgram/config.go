package deepgram

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"headstart/turn/stt"
)

// Config tells how Deepgram is reached and what it is asked. Its zero value,
// with an APIKey, is the documented default.
type Config struct {
	APIKey  string // required
	BaseURL string // "wss://api.deepgram.com"; ws, http and https are understood too

	Model    string   // "nova-3"
	Language string   // "multi", which switches between languages as the caller does
	Keyterms []string // words to listen for; older models than nova-3 are given them as keywords

	// Endpointing is the silence after which Deepgram ends a segment: 100 ms,
	// what it advises with "multi". Negative turns it off.
	Endpointing time.Duration
	// UtteranceEnd is the gap between words after which it ends an utterance
	// that noise kept open: 1 s, the least that it takes. Negative turns it off.
	UtteranceEnd time.Duration

	ConnectTimeout time.Duration // 5 s, to the answer of the handshake
	WriteTimeout   time.Duration // 2 s a message
	KeepAliveEvery time.Duration // 5 s without audio; Deepgram closes after 10 s
	SilentAfter    time.Duration // 12 s of audio without any message: the connection is taken for dead
	DrainTimeout   time.Duration // 5 s for the last results once the audio has ended
	KeepAudio      time.Duration // 30 s of audio without its final are kept for the next connection
	GiveUpAfter    time.Duration // 60 s of failures in a row end Recognise

	// Backoff is the wait before each try to connect again: 0.1, 0.5, 2 and
	// 5 s. The last one repeats.
	Backoff []time.Duration

	// Extra are further options of the query, such as "numerals" or "tag".
	// They win over the ones that this package sets, but the audio's format
	// and the interims are not theirs to change.
	Extra map[string]string

	// HTTPClient makes the connections; nil means a client of this package's own.
	HTTPClient *http.Client
}

// fixed are the options that the rest of the package depends on.
var fixed = []string{"encoding", "sample_rate", "channels", "multichannel", "interim_results", "callback"}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	var complaints []error
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Errorf(format, args...)) }
	if c.APIKey == "" {
		complain("deepgram: api key is missing")
	}
	if base, err := url.Parse(c.withDefaults().BaseURL); err != nil || base.Host == "" || !slices.Contains([]string{"ws", "wss", "http", "https"}, base.Scheme) {
		complain("deepgram: base url %q is not a websocket address", c.BaseURL)
	}
	for _, d := range c.durations() {
		if d.value < 0 {
			complain("deepgram: %s %v is negative", d.name, d.value)
		}
	}
	for _, name := range fixed {
		if _, set := c.Extra[name]; set {
			complain("deepgram: option %s cannot be changed", name)
		}
	}
	return errors.Join(complaints...)
}

type namedDuration struct {
	name  string
	value time.Duration
}

// durations lists those that may not be negative.
func (c Config) durations() []namedDuration {
	list := []namedDuration{
		{"connect timeout", c.ConnectTimeout}, {"write timeout", c.WriteTimeout},
		{"keep-alive interval", c.KeepAliveEvery}, {"silent limit", c.SilentAfter},
		{"drain timeout", c.DrainTimeout}, {"kept audio", c.KeepAudio}, {"give-up time", c.GiveUpAfter},
	}
	for _, wait := range c.Backoff {
		list = append(list, namedDuration{"backoff", wait})
	}
	return list
}

func (c Config) withDefaults() Config {
	c.BaseURL = cmp.Or(c.BaseURL, "wss://api.deepgram.com")
	c.Model = cmp.Or(c.Model, "nova-3")
	c.Language = cmp.Or(c.Language, "multi")
	c.Endpointing = cmp.Or(c.Endpointing, 100*time.Millisecond)
	c.UtteranceEnd = cmp.Or(c.UtteranceEnd, time.Second)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 5*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 2*time.Second)
	c.KeepAliveEvery = cmp.Or(c.KeepAliveEvery, 5*time.Second)
	c.SilentAfter = cmp.Or(c.SilentAfter, 12*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 5*time.Second)
	c.KeepAudio = cmp.Or(c.KeepAudio, 30*time.Second)
	c.GiveUpAfter = cmp.Or(c.GiveUpAfter, time.Minute)
	if len(c.Backoff) == 0 {
		c.Backoff = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 5 * time.Second}
	}
	if c.HTTPClient == nil {
		c.HTTPClient = ownClient()
	}
	return c
}

// ownClient leaves no idle connection behind after a refusal.
func ownClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport}
}

// address is the whole URL of the socket.
func (c Config) address() string {
	return strings.TrimRight(c.BaseURL, "/") + "/v1/listen?" + c.query().Encode()
}

func (c Config) query() url.Values {
	q := url.Values{
		"model": {c.Model}, "language": {c.Language},
		"encoding": {"linear16"}, "sample_rate": {strconv.Itoa(stt.SampleRate)}, "channels": {"1"},
		"interim_results": {"true"}, "vad_events": {"true"}, "no_delay": {"true"},
		"punctuate": {"true"}, "smart_format": {"true"}, "endpointing": {"false"},
	}
	if c.Endpointing > 0 {
		q.Set("endpointing", milliseconds(c.Endpointing))
	}
	if c.UtteranceEnd > 0 {
		q.Set("utterance_end_ms", milliseconds(c.UtteranceEnd))
	}
	if len(c.Keyterms) > 0 {
		q[c.keytermOption()] = c.Keyterms
	}
	for name, value := range c.Extra {
		q.Set(name, value)
	}
	return q
}

func (c Config) keytermOption() string {
	if strings.HasPrefix(c.Model, "nova-3") {
		return "keyterm"
	}
	return "keywords"
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
