package flux

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
	"headstart/turn/stt/line"
)

// The models. Multi hears ten languages and follows a caller who switches.
const (
	English = "flux-general-en"
	Multi   = "flux-general-multi"
)

// languages are those that Multi takes as hints.
var languages = []string{"de", "en", "es", "fr", "hi", "it", "ja", "nl", "pt", "ru"}

// Hears tells whether a language, such as "es", may be a hint.
func Hears(language string) bool { return slices.Contains(languages, language) }

// Config tells how Flux is reached and what it is asked. Its zero value, with
// an APIKey, is the documented default.
type Config struct {
	APIKey  string // required
	BaseURL string // "wss://api.deepgram.com"; ws, http and https are understood too

	Model         string   // Multi
	LanguageHints []string // languages that the caller may speak, of Multi only; none leaves it open
	Keyterms      []string // words to listen for

	// EOTThreshold is how sure Flux must be before it ends a turn, 0.5 to 0.9:
	// 0.7, Deepgram's own default.
	EOTThreshold float64
	// EagerEOTThreshold is how sure it must be to say that the turn may be over,
	// 0.3 to 0.9 and no more than EOTThreshold. 0 turns these guesses off.
	EagerEOTThreshold float64
	// EOTTimeout is the silence that ends a turn whatever Flux believes, 0.5 to
	// 10 s: 5 s, Deepgram's own default.
	EOTTimeout time.Duration

	// Timing are the deadlines of the connection.
	line.Timing

	// Extra are further options of the query, such as "numerals" or "tag".
	// They win over the ones that this package sets, but the audio's format is
	// not theirs to change.
	Extra map[string]string

	// HTTPClient makes the connections; nil means a client of this package's own.
	HTTPClient *http.Client
}

// fixed are the options that the rest of the package depends on.
var fixed = []string{"encoding", "sample_rate"}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	var complaints []error
	complain := func(format string, args ...any) {
		complaints = append(complaints, fmt.Errorf("flux: "+format, args...))
	}
	whole := c.withDefaults()
	if c.APIKey == "" {
		complain("api key is missing")
	}
	if whole.Model != English && whole.Model != Multi {
		complain("model %q is neither %s nor %s", c.Model, English, Multi)
	}
	if len(c.LanguageHints) > 0 && whole.Model != Multi {
		complain("language hints are only for %s", Multi)
	}
	if whole.EOTThreshold < 0.5 || whole.EOTThreshold > 0.9 {
		complain("end-of-turn threshold %v is not in 0.5 to 0.9", c.EOTThreshold)
	}
	if e := c.EagerEOTThreshold; e != 0 && (e < 0.3 || e > 0.9 || e > whole.EOTThreshold) {
		complain("eager end-of-turn threshold %v is not in 0.3 to %v", e, min(0.9, whole.EOTThreshold))
	}
	if whole.EOTTimeout < 500*time.Millisecond || whole.EOTTimeout > 10*time.Second {
		complain("end-of-turn timeout %v is not in 500ms to 10s", c.EOTTimeout)
	}
	for _, err := range []error{line.CheckBase(whole.BaseURL), c.Timing.Validate()} {
		if err != nil {
			complain("%w", err)
		}
	}
	for _, name := range fixed {
		if _, set := c.Extra[name]; set {
			complain("option %s cannot be changed", name)
		}
	}
	return errors.Join(complaints...)
}

func (c Config) withDefaults() Config {
	c.BaseURL = cmp.Or(c.BaseURL, "wss://api.deepgram.com")
	c.Model = cmp.Or(c.Model, Multi)
	c.EOTThreshold = cmp.Or(c.EOTThreshold, 0.7)
	c.EOTTimeout = cmp.Or(c.EOTTimeout, 5*time.Second)
	c.Timing = c.Timing.WithDefaults()
	if c.HTTPClient == nil {
		c.HTTPClient = line.OwnClient()
	}
	return c
}

// address is the whole URL of the socket.
func (c Config) address() string {
	return strings.TrimRight(c.BaseURL, "/") + "/v2/listen?" + c.query().Encode()
}

func (c Config) query() url.Values {
	q := url.Values{
		"model": {c.Model}, "encoding": {"linear16"}, "sample_rate": {strconv.Itoa(stt.SampleRate)},
		"eot_threshold":  {decimal(c.EOTThreshold)},
		"eot_timeout_ms": {strconv.FormatInt(c.EOTTimeout.Milliseconds(), 10)},
	}
	if c.EagerEOTThreshold > 0 {
		q.Set("eager_eot_threshold", decimal(c.EagerEOTThreshold))
	}
	if len(c.LanguageHints) > 0 {
		q["language_hint"] = c.LanguageHints
	}
	if len(c.Keyterms) > 0 {
		q["keyterm"] = c.Keyterms
	}
	for name, value := range c.Extra {
		q.Set(name, value)
	}
	return q
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
