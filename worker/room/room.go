// Package room is a LiveKit room as the ears and the mouth of a call: the
// caller's audio as an even stream of 16 kHz frames, speech out at its own
// pace, text streams, attributes, DTMF and what is known of a phone call. It
// decides nothing: it neither picks words nor ends a call.
//
//	         Join                    Run
//	(none) -------> joined, silent -------> linking --caller there--> linked
//	   |                                       |                        |  ^
//	   +-- error: nothing lives                |          gone, may come back: away
//	                                           v                        v
//	                                         left  <-- Leave, ctx, room closed, caller hung up
//
// The SDK's callbacks only drop notes into a mailbox; every goroutine is Run's,
// and when Run has returned none of them lives, but for a write that hangs in the
// SDK: it is abandoned after 2 s, and counted. A frame that nobody reads is
// dropped and counted; an event never is. It fails by RoomClosed: whatever
// breaks the connection for good ends Run. A panic on any of its goroutines, or in
// what a callback does of ours, ends Run as an error; one of the SDK's own cannot
// be caught.
package room

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/livekit/protocol/logger"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"go.uber.org/zap"

	"headstart/worker/room/audio"
	"headstart/worker/room/line"
	"headstart/worker/room/stream"
)

const (
	// trackName is what clients of agents look for.
	trackName = "roomio_audio"
	// defaultJoin covers the SDK's own two tries of 5 s.
	defaultJoin = 10 * time.Second
	// heardFrames is how much audio waits for a slow reader: half a second.
	heardFrames = 25
)

// ErrLeft says that the room was left before what was asked could be done.
var ErrLeft = line.ErrLeft

// Config says which room to join, and as whom: the token tells both.
type Config struct {
	URL   string // ws, wss, http or https
	Token string // of the assignment, or any that may join, publish and subscribe
	// Identity is the participant who is the caller. Empty: the first to come
	// who is a person: of kind standard, SIP or connector.
	Identity string
	// APIKey and APISecret are needed by Hangup and Refer only.
	APIKey, APISecret string
	// JoinWithin bounds Join; 0 is 10 s.
	JoinWithin time.Duration
	Log        *zap.Logger
}

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.URL == "" {
		errs = append(errs, errors.New("room: no url"))
	}
	if c.Token == "" {
		errs = append(errs, errors.New("room: no token"))
	}
	if c.JoinWithin < 0 {
		errs = append(errs, fmt.Errorf("room: join within %v", c.JoinWithin))
	}
	if c.Log == nil {
		errs = append(errs, errors.New("room: no logger"))
	}
	return errors.Join(errs...)
}

// SilenceSDK turns off what the SDK and its WebRTC stack print to stderr, for
// the whole process. Call it once, before the first room.
func SilenceSDK() {
	silence.Do(func() { lksdk.SetLogger(logger.GetDiscardLogger()) })
}

// silence guards the SDK's own global, which is written without a lock.
var silence sync.Once

// Room is one joined room. Its methods may be called from any goroutine.
type Room struct {
	config Config
	log    *zap.Logger
	sdk    *lksdk.Room
	writer writer

	mailbox    *line.Mailbox[any]
	outbox     *line.Outbox
	tracks     chan heardTrack // from the loop to the ear
	recordings chan recorded   // so, too
	heard      chan []int16
	events     chan Event

	track   *line.Track
	mouth   *mouth
	decoder func() (audio.Decoder, error)
	caller  atomic.Pointer[callerTrack] // written by the loop
	speech  speech
	count   counts

	renewal renewal // of the connection

	leave   sync.Once
	left    chan struct{} // closed by Leave
	closing sync.Once
	closed  error // of the one disconnect
}

// callerTrack is who the caller is and which track is heard of them.
type callerTrack struct{ identity, track string }

// Join joins the room, publishes the agent's track, and waits until what others
// send reaches it. It listens to nobody yet: Run does. After an error nothing of the room lives; after success call Run, or Leave.
func Join(ctx context.Context, config Config) (*Room, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	encoder, err := audio.NewEncoder()
	if err != nil {
		return nil, err
	}
	if config.JoinWithin == 0 {
		config.JoinWithin = defaultJoin
	}
	ctx, cancel := context.WithTimeoutCause(ctx, config.JoinWithin, fmt.Errorf("not joined after %v", config.JoinWithin))
	defer cancel()
	r := &Room{
		config: config, log: config.Log.Named("room"), mailbox: line.NewMailbox[any](), tracks: make(chan heardTrack, 8),
		recordings: make(chan recorded, 4),
		heard:      make(chan []int16, heardFrames), events: make(chan Event, 256), left: make(chan struct{}),
	}
	r.outbox, r.decoder = line.NewOutbox(r.left), audio.NewDecoder
	r.mouth = newMouth(encoder, func(packet []byte, slot int64) error { return r.track.Send(packet, slot) }, &r.count)
	r.speech.open = map[string]*segment{}
	r.sdk = lksdk.NewRoom(r.callbacks())
	if err := stream.Tap(r.sdk, stream.Ears{Text: r.hearText, Topic: recordingTopic, Recording: func(rec stream.Recording) { r.mailbox.Put(recorded{rec}) }, Burst: func(err error) { r.mailbox.Put(burst{err}) }}); err != nil {
		return nil, err
	}
	if err := r.join(ctx); err != nil {
		return nil, errors.Join(err, r.disconnect())
	}
	return r, nil
}

func (r *Room) join(ctx context.Context) error {
	err := r.sdk.JoinWithContextAndToken(ctx, r.config.URL, r.config.Token, lksdk.WithAutoSubscribe(false))
	if err != nil {
		return fmt.Errorf("join room: %w", errors.Join(err, context.Cause(ctx)))
	}
	r.writer = r.sdk.LocalParticipant
	if r.track, err = line.Publish(ctx, r.sdk, trackName); err != nil {
		return err
	}
	// Nothing tells clients before this that somebody is there who would hear what
	// they type: the server drops what it cannot hand on.
	return line.AwaitReachable(ctx, r.sdk)
}

// Name is the room's name.
func (r *Room) Name() string { return r.sdk.Name() }

// Identity is the agent's own identity in the room.
func (r *Room) Identity() string { return r.sdk.LocalParticipant.Identity() }

// Audio gives the caller's audio: 20 ms frames of 16 kHz mono, in order, one
// each 20 ms from the first packet on, losses concealed and pauses filled with
// silence. It closes when Run returns. Half a second waits for a slow reader,
// then the oldest frame is dropped.
//
// What a visitor's client recorded before the agent was there (its last ten
// seconds) comes first, as fast as it is read; what the visitor says meanwhile
// waits behind it, and is dropped only when fourteen seconds wait. A track that
// announces a recording waits for it, 3 s at most.
func (r *Room) Audio() <-chan []int16 { return r.heard }

// Events gives what happens in the room, in order. It closes when Run returns;
// what was not read by then can still be read.
func (r *Room) Events() <-chan Event { return r.events }

// Play implements turn.Mouth: it queues mono speech of any rate from 4 to
// 192 kHz, and blocks while 200 ms of it wait. Nothing leaves before somebody
// has subscribed to the agent's track, so that no word is lost. What a Cut
// drops includes the rest of a Play that waits, which then returns nil.
func (r *Room) Play(ctx context.Context, pcm []int16, rate int) error {
	return r.mouth.play(ctx, pcm, rate)
}

// Cut implements turn.Mouth.
func (r *Room) Cut() { r.mouth.cut() }

// Played implements turn.Mouth: it counts speech that was handed to the network.
func (r *Room) Played() time.Duration { return r.mouth.played() }
