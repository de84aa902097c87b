package aura

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
)

// DefaultRate is the rate, in hertz, that is asked for by default.
const DefaultRate = 24000

// rates are those that Aura gives linear16 in.
var rates = []int{8000, 16000, 24000, 32000, 48000}

// Config says which voice is asked, and how it is reached.
type Config struct {
	APIKey  string // required
	BaseURL string // "wss://api.deepgram.com"; ws, http and https are understood too
	Model   string // required: voice and language in one, "aura-2-celeste-es"
	Rate    int    // hertz: 8000, 16000, 24000, 32000 or 48000; 0 is DefaultRate

	Connect time.Duration // 5 s, to the answer of the handshake
	Write   time.Duration // 2 s a message
	First   time.Duration // 4 s from the end of the text to the first audio
	Between time.Duration // 5 s between pieces of audio after that
	Clear   time.Duration // 1 s for the answer to a Clear; then the connection is let go
	Idle    time.Duration // 60 s without a turn close a connection

	// HTTPClient makes the connections; nil means a client of this package's own.
	HTTPClient *http.Client
}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.APIKey == "" {
		errs = append(errs, errors.New("api key is missing"))
	}
	if c.Model == "" {
		errs = append(errs, errors.New("model is empty"))
	}
	base, err := url.Parse(c.withDefaults().BaseURL)
	if err != nil || base.Host == "" || !slices.Contains([]string{"ws", "wss", "http", "https"}, base.Scheme) {
		errs = append(errs, fmt.Errorf("base url %q is not a websocket address", c.BaseURL))
	}
	if c.Rate != 0 && !slices.Contains(rates, c.Rate) {
		errs = append(errs, fmt.Errorf("rate %d is none of %v", c.Rate, rates))
	}
	if slices.Min([]time.Duration{c.Connect, c.Write, c.First, c.Between, c.Clear, c.Idle}) < 0 {
		errs = append(errs, errors.New("a deadline is negative"))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.BaseURL = cmp.Or(c.BaseURL, "wss://api.deepgram.com")
	c.Rate = cmp.Or(c.Rate, DefaultRate)
	c.Connect = cmp.Or(c.Connect, 5*time.Second)
	c.Write = cmp.Or(c.Write, 2*time.Second)
	c.First = cmp.Or(c.First, 4*time.Second)
	c.Between = cmp.Or(c.Between, 5*time.Second)
	c.Clear = cmp.Or(c.Clear, time.Second)
	c.Idle = cmp.Or(c.Idle, time.Minute)
	if c.HTTPClient == nil {
		// A refusal must leave no connection behind; those that are kept are sockets.
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DisableKeepAlives = true
		c.HTTPClient = &http.Client{Transport: transport}
	}
	return c
}

// address is the whole URL of the socket.
func (c Config) address() string {
	q := url.Values{"model": {c.Model}, "encoding": {"linear16"}, "sample_rate": {strconv.Itoa(c.Rate)}}
	return strings.TrimRight(c.BaseURL, "/") + "/v1/speak?" + q.Encode()
}
