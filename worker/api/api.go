// Package api is the page on which a visitor talks to the agent, and the few
// HTTP paths that the page needs.
//
// A visitor's browser joins LiveKit by itself where livekit-client was built
// into the page, and speaks; elsewhere the process joins on the visitor's
// behalf and the visitor types:
//
//	GET    /                      the page
//	POST   /visits                {"mode":"browser"} -> {url, token, room, identity}
//	                              {"mode":"typed"}   -> {id}
//	POST   /visits/{id}/messages  {"text"}, answered when the agent has it
//	GET    /visits/{id}/events    Event after Event, as server-sent events
//	DELETE /visits/{id}           hang up
//
// The package owns typed visits and their clocks: at most 20 at a time, ended
// ten minutes after the visitor's last words, or 30 s after nobody watches. It
// never speaks LiveKit itself (that is the package caller's), never listens on
// a socket, and knows no agent. A visit dies with the process.
//
// It is for a browser on the same machine, or behind a proxy that knows who may
// come: whoever reaches it may call. It refuses names of hosts that it was not
// told and requests that another site's page made. A refusal is a status, a
// code for programs and a sentence for people; what LiveKit said goes to the log.
package api

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/text/language"
)

const (
	defaultMaxVisits = 20
	defaultIdle      = 10 * time.Minute
	defaultUnwatched = 30 * time.Second
	defaultTitle     = "Headstart"
)

// Config says whom the page calls, and what it shows.
type Config struct {
	// URL is the LiveKit server's: ws, wss, http or https. The browser and this
	// process both reach it there.
	URL               string
	APIKey, APISecret string
	// AgentName asks for that agent; empty leaves it to automatic dispatch.
	AgentName string
	// JobMetadata is what the agent's job is given. It needs an AgentName.
	JobMetadata string
	Title       string // of the page; empty is Headstart
	// Language is what the agent speaks, a BCP 47 tag, so that screen readers
	// pronounce it; empty is not told. The page itself follows the browser.
	Language string
	// VoiceNote is a sentence for who would speak: that the recogniser hears no
	// microphone, for example. Empty shows none.
	VoiceNote string
	Hosts     []string      // names without ports, taken in Host beside localhost, 127.0.0.1 and [::1]
	MaxVisits int           // typed visits at a time; 0 is 20
	Idle      time.Duration // a typed visit's end after the visitor's last words; 0 is 10 minutes
	Unwatched time.Duration // a typed visit's end after its last reader of events; 0 is 30 s
	Door      Door          // how visitors come in; nil is through LiveKit, as above
}

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("page: "+format, args...))
		}
	}
	u, err := url.Parse(c.URL)
	complain(err != nil || u.Host == "" || !slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme), "url %q is not a LiveKit server's", c.URL)
	complain(c.Door == nil && c.APIKey == "", "no api key")
	complain(c.Door == nil && c.APISecret == "", "no api secret")
	complain(c.JobMetadata != "" && c.AgentName == "", "job metadata without an agent name: automatic dispatch carries none")
	if c.Language != "" {
		_, err := language.Parse(c.Language)
		complain(err != nil, "language %q is no BCP 47 tag", c.Language)
	}
	for _, host := range c.Hosts {
		complain(host == "" || strings.ContainsAny(host, "/:"), "host %q is not a name without a port", host)
	}
	complain(c.MaxVisits < 0, "max visits %d", c.MaxVisits)
	complain(c.Idle < 0 || c.Unwatched < 0, "idle %v, unwatched %v", c.Idle, c.Unwatched)
	return errors.Join(errs...)
}

func (c Config) complete(log *zap.Logger) Config {
	c.Title = cmp.Or(c.Title, defaultTitle)
	c.MaxVisits = cmp.Or(c.MaxVisits, defaultMaxVisits)
	c.Idle = cmp.Or(c.Idle, defaultIdle)
	c.Unwatched = cmp.Or(c.Unwatched, defaultUnwatched)
	c.URL = socketURL(c.URL)
	if c.Door == nil {
		c.Door = door{config: c, log: log}
	}
	return c
}

// socketURL is the URL as livekit-client wants it.
func socketURL(raw string) string {
	if rest, ok := strings.CutPrefix(raw, "http"); ok {
		return "ws" + rest
	}
	return raw
}

// Pages serves the page. Its methods may be called from any goroutine.
type Pages struct {
	config  Config
	log     *zap.Logger
	assets  assets
	desk    *desk
	handler http.Handler
}

// New prepares the page. Typed visits need Run beside it.
func New(config Config, log *zap.Logger) (*Pages, error) { return newFrom(web, config, log) }

func newFrom(web fs.FS, config Config, log *zap.Logger) (*Pages, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	log = log.Named("page")
	config = config.complete(log)
	assets, err := openAssets(web, config)
	if err != nil {
		return nil, err
	}
	p := &Pages{config: config, log: log, assets: assets, desk: newDesk(config, log)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.page)
	mux.HandleFunc("GET /static/{name}", p.asset)
	mux.HandleFunc("GET /dist/{name}", p.asset)
	mux.HandleFunc("POST /visits", p.open)
	mux.HandleFunc("POST /visits/{id}/messages", p.message)
	mux.HandleFunc("GET /visits/{id}/events", p.events)
	mux.HandleFunc("DELETE /visits/{id}", p.hangUp)
	p.handler = guard(config, mux)
	return p, nil
}

// ServeHTTP serves the page and its paths.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }
