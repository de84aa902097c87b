package room

import (
	"context"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"

	"headstart/worker/room/audio"
)

// Mouth is the mouth without a room.
type Mouth struct{ m *mouth }

// NewMouth makes a mouth that sends to send.
func NewMouth(encoder audio.Encoder, send func([]byte, int64) error) Mouth {
	return Mouth{newMouth(encoder, send, &counts{})}
}

func (m Mouth) Play(ctx context.Context, pcm []int16, rate int) error {
	return m.m.play(ctx, pcm, rate)
}
func (m Mouth) Listened()             { m.m.listened() }
func (m Mouth) Step(slot int64)       { m.m.step(slot) }
func (m Mouth) Cut()                  { m.m.cut() }
func (m Mouth) Played() time.Duration { return m.m.played() }
func (m Mouth) Close()                { m.m.close() }

// Link is the step that decides who the caller is.
type Link struct{ link }

// NewLink makes a link that wants an identity, or the first person.
func NewLink(want string) *Link { return &Link{link{want: want}} }

// Join says that somebody is there.
func (l *Link) Join(c Caller) []Event { return l.join(c) }

// Depart says that somebody left.
func (l *Link) Depart(identity string, reason livekit.DisconnectReason) []Event {
	return l.depart(identity, reason)
}

// Reconnect says that the connection is made anew.
func (l *Link) Reconnect() { l.reconnect() }

// Reconnected says that it is there again.
func (l *Link) Reconnected(there bool) []Event { return l.reconnected(there) }

// Restart makes the server tell the room to connect anew, from nothing.
func Restart(r *Room) { r.sdk.Simulate(lksdk.SimulateLeaveRequestFullReconnect) }

// Resume breaks the signalling connection.
func Resume(r *Room) { r.sdk.Simulate(lksdk.SimulateSignalReconnect) }

// Before is what comes before the track.
type Before struct{ b before }

func (b *Before) Hear(at time.Duration, track string, announced bool) { b.b.hear(at, track, announced) }

func (b *Before) Recorded(at time.Duration, track string, pcm []int16) { b.b.recorded(at, track, pcm) }

func (b *Before) Frame(frame []int16) bool { return b.b.frame(frame) }
func (b *Before) Tick(at time.Duration)    { b.b.tick(at) }
func (b *Before) First() []int16           { return b.b.first() }
func (b *Before) Next()                    { b.b.next() }
func (b *Before) Stale() int64             { return b.b.stale }
func (b *Before) Dropped() int64           { return b.b.dropped }

// Hang makes every write of a room hang until release closes.
func Hang(r *Room, release <-chan struct{}) { r.writer = hanging{release} }

type hanging struct{ release <-chan struct{} }

func (h hanging) PublishDataPacket(lksdk.DataPacket, ...lksdk.DataPublishOption) error {
	<-h.release
	return nil
}

func (h hanging) PublishDTMF(uint32, string) error {
	<-h.release
	return nil
}

func (h hanging) SetAttributes(map[string]string) { <-h.release }
