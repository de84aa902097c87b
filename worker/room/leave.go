package room

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"

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
	ctx, cancel := context.WithTimeoutCause(ctx, apiWithin, fmt.Errorf("no answer after %v", apiWithin))
	defer cancel()
	ctx, client, err := r.request(ctx, func(t *auth.AccessToken) { t.SetVideoGrant(&auth.VideoGrant{RoomCreate: true}) })
	if err != nil {
		return fmt.Errorf("hang up: %w", err)
	}
	api := livekit.NewRoomServiceProtobufClient(httpURL(r.config.URL), client)
	if _, err := api.DeleteRoom(ctx, &livekit.DeleteRoomRequest{Room: r.Name()}); err != nil {
		return fmt.Errorf("hang up: delete room: %w", err)
	}
	return nil
}
