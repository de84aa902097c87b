package deepgram

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"headstart/turn/stt"
	"headstart/turn/stt/line"
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

	// Timing are the deadlines of the connection.
	line.Timing
	KeepAliveEvery time.Duration // 5 s without audio; Deepgram closes after 10 s

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
	for _, err := range []error{
		line.CheckBase(c.withDefaults().BaseURL), line.CheckDuration("keep-alive interval", c.KeepAliveEvery), c.Timing.Validate(),
	} {
		if err != nil {
			complain("deepgram: %w", err)
		}
	}
	for _, name := range fixed {
		if _, set := c.Extra[name]; set {
			complain("deepgram: option %s cannot be changed", name)
		}
	}
	return errors.Join(complaints...)
}

func (c Config) withDefaults() Config {
	c.BaseURL = cmp.Or(c.BaseURL, "wss://api.deepgram.com")
	c.Model = cmp.Or(c.Model, "nova-3")
	c.Language = cmp.Or(c.Language, "multi")
	c.Endpointing = cmp.Or(c.Endpointing, 100*time.Millisecond)
	c.UtteranceEnd = cmp.Or(c.UtteranceEnd, time.Second)
	c.KeepAliveEvery = cmp.Or(c.KeepAliveEvery, 5*time.Second)
	c.Timing = c.Timing.WithDefaults()
	if c.HTTPClient == nil {
		c.HTTPClient = line.OwnClient()
	}
	return c
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
