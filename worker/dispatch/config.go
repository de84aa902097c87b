package dispatch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says where to register and as whom. Times that are zero have the
// defaults written beside them.
type Config struct {
	URL       string // of the LiveKit server: ws, wss, http or https, with any path prefix
	APIKey    string
	APISecret string
	AgentName string // "" takes every new room; a name takes only dispatches to it
	Version   string // of the worker, for LiveKit's records
	Kind      Kind   // "" is Room

	StatusEvery      time.Duration // 2.5 s, as LiveKit's own workers: between two reports of load
	AnswerWithin     time.Duration // 100 ms: LiveKit waits about 2 s, and a silence fails nothing over
	AssignmentWithin time.Duration // 7.5 s from the answer, as LiveKit's own workers
	DialWithin       time.Duration // 5 s
	RegisterWithin   time.Duration // 10 s, the server's own limit
	WriteWithin      time.Duration // 2 s
	PingEvery        time.Duration // 15 s
	PongWithin       time.Duration // 10 s
	SteadyAfter      time.Duration // 10 s: a connection that lived so long makes the tries start anew
	StopWithin       time.Duration // 30 s: for jobs to return after their context ended

	Tries      int // 16, about two minutes, after a connection was lost; running jobs have no limit
	FirstTries int // Tries: before there ever was a connection

	// Jitter shortens a pause between two tries, so that workers that lost the
	// same server do not return in step. nil draws from half to the whole.
	Jitter func(time.Duration) time.Duration
	// HTTPClient dials; nil is a client of its own. Its Timeout must be 0.
	HTTPClient *http.Client
}

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate() error {
	var complaints []error
	if _, err := c.agentURL(); err != nil {
		complaints = append(complaints, err)
	}
	if c.APIKey == "" {
		complaints = append(complaints, errors.New("api key is empty"))
	}
	if c.APISecret == "" {
		complaints = append(complaints, errors.New("api secret is empty"))
	}
	if c.Kind != "" && c.Kind != Room && c.Kind != Participant {
		complaints = append(complaints, fmt.Errorf("kind %q is neither %q nor %q", c.Kind, Room, Participant))
	}
	for _, d := range c.durations() {
		if *d.value < 0 {
			complaints = append(complaints, fmt.Errorf("%s is negative: %s", d.name, *d.value))
		}
	}
	if c.Tries < 0 || c.FirstTries < 0 {
		complaints = append(complaints, fmt.Errorf("tries are negative: %d, %d", c.Tries, c.FirstTries))
	}
	return errors.Join(complaints...)
}

type durationDefault struct {
	name  string
	value *time.Duration
	zero  time.Duration
}

func (c *Config) durations() []durationDefault {
	return []durationDefault{
		{"status every", &c.StatusEvery, 2500 * time.Millisecond},
		{"answer within", &c.AnswerWithin, 100 * time.Millisecond},
		{"assignment within", &c.AssignmentWithin, 7500 * time.Millisecond},
		{"dial within", &c.DialWithin, 5 * time.Second},
		{"register within", &c.RegisterWithin, 10 * time.Second},
		{"write within", &c.WriteWithin, 2 * time.Second},
		{"ping every", &c.PingEvery, 15 * time.Second},
		{"pong within", &c.PongWithin, 10 * time.Second},
		{"steady after", &c.SteadyAfter, 10 * time.Second},
		{"stop within", &c.StopWithin, 30 * time.Second},
	}
}

// withDefaults fills what is zero.
func (c Config) withDefaults() Config {
	for _, d := range c.durations() {
		if *d.value == 0 {
			*d.value = d.zero
		}
	}
	if c.Kind == "" {
		c.Kind = Room
	}
	if c.Tries == 0 {
		c.Tries = 16
	}
	if c.FirstTries == 0 {
		c.FirstTries = c.Tries
	}
	if c.Jitter == nil {
		c.Jitter = halfToWhole
	}
	return c
}

func halfToWhole(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1)
}

// pause is how long to wait after so many failed tries in a row: 2, 4, 6, 8 and
// then 10 s each. After a connection that had lived (0) it is 0.2 s.
func (c Config) pause(failed int) time.Duration {
	if failed == 0 {
		return c.Jitter(200 * time.Millisecond)
	}
	return c.Jitter(min(2*time.Duration(failed), 10) * time.Second)
}

// agentURL is the address of the agents' websocket: .../agent?protocol=1.
func (c Config) agentURL() (string, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return "", fmt.Errorf("read livekit url: %w", err)
	}
	switch u.Scheme {
	case "ws", "wss":
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	default:
		return "", fmt.Errorf("livekit url %q does not begin with ws://, wss://, http:// or https://", c.URL)
	}
	if u.Host == "" {
		return "", fmt.Errorf("livekit url %q has no host", c.URL)
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/agent"
	u.RawQuery, u.Fragment = "protocol=1", ""
	return u.String(), nil
}
