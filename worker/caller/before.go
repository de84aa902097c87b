package caller

import (
	"context"
	"fmt"
	"strconv"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"

	"headstart/worker/room/line"
	"headstart/worker/room/stream"
)

// recordingTopic is where clients send what was said before they were connected.
const recordingTopic = "lk.agent.pre-connect-audio-buffer"

// Recorded sends what the caller said before the agent was there, to everybody in
// the room: raw 16 bit PCM, or Opus in Ogg or WebM when mime says so. Agents wait
// for it only if Config.Announce is set.
func (c *Caller) Recorded(ctx context.Context, mime string, rate, channels int, content []byte) error {
	sent := stream.Bytes{ID: stream.NewID(), Topic: recordingTopic, MIME: mime, Attributes: map[string]string{
		"trackId": c.track.ID, "sampleRate": strconv.Itoa(rate), "channels": strconv.Itoa(channels),
	}}
	return c.outbox.Deliver(ctx, "send recording", func() error {
		if err := line.AwaitSendable(ctx, c.sdk, c.left); err != nil {
			return err
		}
		for _, p := range sent.Whole(content) {
			if err := c.sdk.LocalParticipant.PublishDataPacket(p, lksdk.WithDataPublishReliable(true)); err != nil {
				return err
			}
		}
		return nil
	})
}

// settle makes a caller who has joined heard and reached: the server drops what it
// cannot hand on, and the agent may write at once.
func (c *Caller) settle(ctx context.Context) error {
	if err := c.publish(ctx); err != nil {
		return err
	}
	return line.AwaitReachable(ctx, c.sdk)
}

// publish publishes the microphone.
func (c *Caller) publish(ctx context.Context) (err error) {
	if c.track, err = line.Publish(ctx, c.sdk, "microphone"); err != nil || !c.config.Announce {
		return err
	}
	return line.Announce(c.sdk, c.track.ID, livekit.AudioTrackFeature_TF_PRECONNECT_BUFFER)
}

// Drop ends the call as a telephone without a battery does: nobody is told, and
// the server finds out by itself. Run then returns.
func (c *Caller) Drop() error {
	c.closing.Do(func() {
		if c.closed = line.Drop(c.sdk); c.closed != nil {
			c.closed = fmt.Errorf("drop the call: %w", c.closed)
		}
	})
	c.leave.Do(func() { close(c.left) })
	return c.closed
}
