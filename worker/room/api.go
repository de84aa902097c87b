package room

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/twitchtv/twirp"
)

// errNoKey says that the server's API cannot be asked.
var errNoKey = errors.New("no API key and secret")

// grant writes into a token what a request needs.
type grant func(*auth.AccessToken)

// request is the context of one request to the server's API, with a token that
// allows it, and what asks. Nothing of it lives after the request.
func (r *Room) request(ctx context.Context, allow grant) (context.Context, *http.Client, error) {
	if r.config.APIKey == "" || r.config.APISecret == "" {
		return nil, nil, errNoKey
	}
	token := auth.NewAccessToken(r.config.APIKey, r.config.APISecret).SetValidFor(time.Minute)
	allow(token)
	signed, err := token.ToJWT()
	if err != nil {
		return nil, nil, fmt.Errorf("sign token: %w", err)
	}
	ctx, err = twirp.WithHTTPRequestHeaders(ctx, http.Header{"Authorization": {"Bearer " + signed}})
	if err != nil {
		return nil, nil, fmt.Errorf("authorise: %w", err)
	}
	return ctx, &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}, nil
}

// httpURL is where the API of a signalling address is.
func httpURL(url string) string {
	if rest, ok := strings.CutPrefix(url, "ws"); ok {
		return "http" + rest
	}
	return url
}
