package room

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"github.com/twitchtv/twirp"

	"headstart/worker/room/line"
)

// apiWithin bounds a request to the server's API.
const apiWithin = 5 * time.Second

// Leave leaves the room; Run then returns. It may be called more than once.
func (r *Room) Leave() error {
	r.leave.Do(func() { close(r.left) })
	return r.disconnect()
}

// disconnect leaves once.
func (r *Room) disconnect() error {
	r.closing.Do(func() { r.closed = r.note(line.Leave(r.sdk)) })
	return r.closed
}

// note counts what had to be left behind.
func (r *Room) note(err error) error {
	if errors.Is(err, line.ErrStill) {
		r.count.abandoned.Add(1)
	}
	return err
}

// Hangup deletes the room, which is how an agent ends a telephone call: the
// phone network is told at once. Everybody in it is disconnected, the agent too.
func (r *Room) Hangup(ctx context.Context) error {
	if r.config.APIKey == "" || r.config.APISecret == "" {
		return errors.New("hang up: no API key and secret")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, apiWithin, fmt.Errorf("no answer after %v", apiWithin))
	defer cancel()
	token, err := auth.NewAccessToken(r.config.APIKey, r.config.APISecret).
		SetVideoGrant(&auth.VideoGrant{RoomCreate: true}).SetValidFor(time.Minute).ToJWT()
	if err != nil {
		return fmt.Errorf("hang up: sign token: %w", err)
	}
	ctx, err = twirp.WithHTTPRequestHeaders(ctx, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		return fmt.Errorf("hang up: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	api := livekit.NewRoomServiceProtobufClient(httpURL(r.config.URL), client)
	if _, err := api.DeleteRoom(ctx, &livekit.DeleteRoomRequest{Room: r.Name()}); err != nil {
		return fmt.Errorf("hang up: delete room: %w", err)
	}
	return nil
}

// httpURL is where the API of a signalling address is.
func httpURL(url string) string {
	if rest, ok := strings.CutPrefix(url, "ws"); ok {
		return "http" + rest
	}
	return url
}
