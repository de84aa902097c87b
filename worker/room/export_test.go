package room

import (
	"context"
	"time"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
	"go.uber.org/zap"

	"headstart/turn/crew"
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
func (m Mouth) Listened()                { m.m.listened() }
func (m Mouth) Step(slot int64)          { m.m.step(slot) }
func (m Mouth) Pace(ctx context.Context) { audio.PaceResting(ctx, m.m.bell, m.m.step) }
func (m Mouth) Cut()                     { m.m.cut() }
func (m Mouth) Played() time.Duration    { return m.m.played() }
func (m Mouth) Close()                   { m.m.close() }

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

// Gathered tells whether a room's connections know all of their own addresses.
// Until then pion reads, without a lock, the servers that a resume changes.
func Gathered(r *Room) bool {
	for _, pc := range []*webrtc.PeerConnection{r.sdk.LocalParticipant.GetPublisherPeerConnection(), r.sdk.LocalParticipant.GetSubscriberPeerConnection()} {
		if pc != nil && pc.ICEGatheringState() != webrtc.ICEGatheringStateComplete {
			return false
		}
	}
	return true
}

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

// Listener is the ear of a room without a track.
type Listener struct{ l *listener }

// NewListener makes a listener whose track has begun.
func NewListener() (Listener, error) {
	decoder, err := audio.NewDecoder()
	if err != nil {
		return Listener{}, err
	}
	l := &listener{room: &Room{log: zap.NewNop(), decoder: audio.NewDecoder, heard: make(chan []int16, heardFrames)}, tick: time.NewTimer(time.Hour)}
	l.ear = audio.NewEar(l.give)
	l.ear.Track(decoder)
	return Listener{l}, nil
}

// Packet hears a packet, and takes what is then there to read.
func (l Listener) Packet(at time.Duration, ssrc uint32, seq uint16, rtpTime uint32, payload []byte) ([][]int16, error) {
	header := rtp.Header{SSRC: ssrc, SequenceNumber: seq, Timestamp: rtpTime}
	if err := l.l.packet(0, at, &rtp.Packet{Header: header, Payload: payload}); err != nil {
		return nil, err
	}
	var frames [][]int16
	for len(l.l.room.heard) > 0 {
		frames = append(frames, <-l.l.room.heard)
	}
	return frames, nil
}

// Heard tells what the ear has done.
func (l Listener) Heard() audio.Heard { return l.l.ear.Heard() }

// Sent is how many frames were sent, and how many of them late.
func (m Mouth) Sent() (sent, late int64) { return m.m.count.sent.Load(), m.m.count.tardy.Load() }

// Protections tells from now on when copies against loss are turned on and off.
// What is told with nobody to hear it is lost.
func Protections(r *Room) <-chan bool {
	r.mouth.lock.Lock()
	defer r.mouth.lock.Unlock()
	told := make(chan bool, 1)
	r.mouth.encoder = watched{r.mouth.encoder, told}
	return told
}

type watched struct {
	audio.Encoder
	told chan<- bool
}

func (w watched) Protect(on bool) {
	w.Encoder.Protect(on)
	select {
	case w.told <- on:
	default:
	}
}

// Sabotages make a goroutine of a room panic, each another one. They are to be
// done before Run; then the sabotage of the caller's audio needs a caller.
var Sabotages = map[string]func(*Room){
	"mouth":    func(r *Room) { r.mouth.send = func([]byte, int64) error { panic("bug") } },
	"ear":      func(r *Room) { r.decoder = func() (audio.Decoder, error) { return bursting{}, nil } },
	"reader":   func(r *Room) { r.tracks <- heardTrack{} },
	"outbox":   func(r *Room) { r.outbox.Post(func() error { panic("bug") }, func(error) {}) },
	"loop":     func(r *Room) { r.mailbox.Put(joined{}) },
	"callback": func(r *Room) { r.mailbox.Put(burst{crew.Guard(func() error { panic("bug") })}) },
}

// bursting is a decoder that panics.
type bursting struct{}

func (bursting) Decode([]byte, []int16) (int, error)  { panic("bug") }
func (bursting) Conceal([]byte, []int16) (int, error) { panic("bug") }

// Typed notes that somebody typed.
func Typed(r *Room, identity, text string) { r.mailbox.Put(typed{identity, text}) }

// Mute closes the connection on which a room sends.
func Mute(r *Room) error { return r.sdk.LocalParticipant.GetPublisherPeerConnection().Close() }
