package api

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// guard refuses what no visitor's browser would send to this page, and tells
// browsers what the page may do.
func guard(config Config, next http.Handler) http.Handler {
	hosts := append([]string{"localhost", "127.0.0.1", "::1"}, config.Hosts...)
	policy := contentPolicy(config.URL)
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "microphone=(self), camera=(), geolocation=()")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		switch {
		case !known(hosts, r.Host):
			// A name that resolves to this machine by its owner's will would make
			// his page same-origin with ours.
			refuse(w, refusal{http.StatusMisdirectedRequest, "host", "This page does not answer to that name."})
		case origin.Check(r) != nil:
			refuse(w, refusal{http.StatusForbidden, "origin", "Another site's page may not do this."})
		case changes(r.Method) && !isJSON(r):
			// A form can send anything but this type without asking first.
			refuse(w, refusal{http.StatusUnsupportedMediaType, "type", "Content-Type must be application/json."})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func known(hosts []string, host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	return slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

func changes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// contentPolicy lets the page reach itself and LiveKit, over the socket and,
// when that fails, over HTTP to ask why. LiveKit Cloud has a name a region.
func contentPolicy(livekit string) string {
	reach := "'self'"
	if u, err := url.Parse(livekit); err == nil && u.Host != "" {
		web := strings.Replace(u.Scheme, "ws", "http", 1)
		reach += " " + u.Scheme + "://" + u.Host + " " + web + "://" + u.Host
		if strings.HasSuffix(u.Hostname(), ".livekit.cloud") {
			reach += " wss://*.livekit.cloud https://*.livekit.cloud"
		}
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "media-src 'self' blob:",
		"connect-src " + reach, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}
