package provider

import (
	"net"
	"net/http"
	"time"
)

// NewTransport makes the connections of an engine, each within a deadline. It pings a
// quiet HTTP/2 connection, so that one which died in silence is left before a caller
// has to wait on it.
func NewTransport(connect time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connect, KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: connect,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 2 * time.Second},
	}
}
