// Package caller is somebody who calls: over WebRTC, but to everyone in the
// room like a person on the telephone or in a browser. It speaks, types,
// presses keys, hangs up, and remembers with times what it heard. Tests, the
// demo and the page on which one types use it.
//
// It never judges what it heard, and it is no agent: it joins with a token of
// its own making, so it needs the API key. It fails by returning an error from
// Dial, and by ending Run when the room is gone.
package caller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/utils/guid"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"go.uber.org/zap"

	"headstart/worker/room/line"
	"headstart/worker/room/stream"
)

const (
	// dialWithin bounds Dial when the context does not: the SDK's two tries.
	dialWithin = 10 * time.Second
	// tokenFor is how long the token may be used to join.
	tokenFor = 10 * time.Minute
	// defaultNoise is an RMS between what a silent line has and what speech has.
	defaultNoise = 200
	// defaultKeep is how much of what was heard is remembered.
	defaultKeep = 10 * time.Minute
)

// Kind is what sort of participant the caller is.
type Kind int

// The kinds of caller.
const (
	Web   Kind = iota // a person in a browser: STANDARD
	Phone             // a person on the telephone: SIP
)

// Config says who calls, and whom.
type Config struct {
	URL, APIKey, APISecret string
	Room                   string
	Identity               string // empty: made up
	Name                   string
	Kind                   Kind
	// Outbound says that we called: the call has no dispatch rule. Kind Phone only.
	Outbound bool
	// Number and Trunk are the caller's telephone number and the one that was
	// called, in E.164. Kind Phone only; an empty Number is a hidden one.
	Number, Trunk string
	// Attributes add to those that the kind sets, and replace them.
	Attributes map[string]string
	Metadata   string // the participant's own
	// CanUpdateMetadata lets the caller write their own metadata and attributes.
	CanUpdateMetadata bool
	// Written says that the caller types and reads, and neither speaks nor listens.
	Written bool
	// Announce says that a recording of what was said before will be sent: see Recorded.
	Announce bool
	// AgentName asks for this agent as the room is made; JobMetadata is what its
	// job is given. Neither does anything in a room that exists already.
	AgentName, JobMetadata string
	Noise                  float64       // RMS from which a frame counts as sound; 0 is 200
	Keep                   time.Duration // how much audio is remembered; 0 is 10 minutes
	Log                    *zap.Logger
}

// Validate tells everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	for _, f := range []struct{ name, value string }{{"url", c.URL}, {"api key", c.APIKey}, {"api secret", c.APISecret}, {"room", c.Room}} {
		if f.value == "" {
			errs = append(errs, fmt.Errorf("caller: no %s", f.name))
		}
	}
	if c.Kind != Web && c.Kind != Phone {
		errs = append(errs, fmt.Errorf("caller: kind %d", c.Kind))
	}
	if c.Noise < 0 || c.Keep < 0 {
		errs = append(errs, fmt.Errorf("caller: noise %v, keep %v", c.Noise, c.Keep))
	}
	if c.Log == nil {
		errs = append(errs, errors.New("caller: no logger"))
	}
	return errors.Join(errs...)
}

// Caller is one call, from the side of who called. Its methods may be called
// from any goroutine.
type Caller struct {
	config Config
	log    *zap.Logger
	sdk    *lksdk.Room
	dialed time.Time

	mailbox *line.Mailbox[any]
	outbox  *line.Outbox
	events  chan Event
	track   *line.Track
	voice   *voice
	memory  *memory

	answered   chan struct{} // closed when somebody hears our track
	answerOnce sync.Once
	leave      sync.Once
	left       chan struct{} // closed when the call is over
	closing    sync.Once
	closed     error // of the one disconnect
}

// Dial joins the room, as a participant of its kind, and publishes a
// microphone. What is sent to the caller reaches it from then on. After an error nothing of the call lives; after success call Run,
// or Hangup.
func Dial(ctx context.Context, config Config) (*Caller, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.complete()
	token, err := config.token()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, dialWithin, fmt.Errorf("not joined after %v", dialWithin))
	defer cancel()
	c := &Caller{
		config: config, log: config.Log.Named("caller"), dialed: time.Now(), mailbox: line.NewMailbox[any](),
		events: make(chan Event, 256), answered: make(chan struct{}), left: make(chan struct{}),
		memory: newMemory(config.Noise, config.Keep),
	}
	c.outbox = line.NewOutbox(c.left)
	if c.voice, err = newVoice(func(packet []byte, slot int64) error { return c.track.Send(packet, slot) }); err != nil {
		return nil, err
	}
	c.sdk = lksdk.NewRoom(c.callbacks())
	if err := stream.Tap(c.sdk, stream.Ears{Text: c.hearText, Burst: func(err error) { c.mailbox.Put(burst{err}) }}); err != nil {
		return nil, err
	}
	if err := c.sdk.JoinWithContextAndToken(ctx, config.URL, token); err != nil {
		return nil, fmt.Errorf("dial: %w", errors.Join(err, context.Cause(ctx), c.disconnect()))
	}
	if err := c.settle(ctx); err != nil {
		return nil, fmt.Errorf("dial: %w", errors.Join(err, c.disconnect()))
	}
	return c, nil
}

func (c Config) complete() Config {
	if c.Identity == "" && c.Kind == Phone {
		c.Identity = "sip_" + c.Number + guid.New("_")
	} else if c.Identity == "" {
		c.Identity = guid.New("web_")
	}
	if c.Noise == 0 {
		c.Noise = defaultNoise
	}
	if c.Keep == 0 {
		c.Keep = defaultKeep
	}
	return c
}

// token signs what the server's SIP service, or a web page's backend, would.
func (c Config) token() (string, error) {
	yes := true
	grant := &auth.VideoGrant{
		RoomJoin: true, Room: c.Room, CanPublish: &yes, CanSubscribe: &yes, CanPublishData: &yes, CanUpdateOwnMetadata: &c.CanUpdateMetadata,
	}
	token := auth.NewAccessToken(c.APIKey, c.APISecret).SetVideoGrant(grant).SetIdentity(c.Identity).SetName(c.Name).
		SetMetadata(c.Metadata).SetAttributes(c.attributes()).SetKind(c.kind()).SetValidFor(tokenFor)
	if c.AgentName != "" {
		token.SetRoomConfig(&livekit.RoomConfiguration{Agents: []*livekit.RoomAgentDispatch{
			{AgentName: c.AgentName, Metadata: c.JobMetadata},
		}})
	}
	signed, err := token.ToJWT()
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

func (c Config) kind() livekit.ParticipantInfo_Kind {
	if c.Kind == Phone {
		return livekit.ParticipantInfo_SIP
	}
	return livekit.ParticipantInfo_STANDARD
}

// attributes are those that LiveKit's SIP service sets on a call that was answered.
func (c Config) attributes() map[string]string {
	attributes := map[string]string{}
	if c.Written {
		attributes["headstart.medium"] = "text"
	}
	if c.Kind == Phone {
		attributes["sip.callID"] = guid.New("SCL_")
		attributes["sip.callStatus"] = "active"
		if !c.Outbound {
			attributes["sip.ruleID"] = guid.New("SDR_")
		}
		attributes["sip.trunkPhoneNumber"] = c.Trunk
		if c.Number != "" {
			attributes["sip.phoneNumber"] = c.Number
		}
	}
	maps.Copy(attributes, c.Attributes)
	return attributes
}

// Identity is the caller's own identity in the room.
func (c *Caller) Identity() string { return c.config.Identity }

// Room is the room's name.
func (c *Caller) Room() string { return c.config.Room }

// Dialed is when Dial began.
func (c *Caller) Dialed() time.Time { return c.dialed }

// Answered waits until somebody in the room hears the caller's microphone.
func (c *Caller) Answered(ctx context.Context) error {
	select {
	case <-c.answered:
		return nil
	case <-c.left:
		return fmt.Errorf("wait for an answer: %w", line.ErrLeft)
	case <-ctx.Done():
		return fmt.Errorf("wait for an answer: %w", context.Cause(ctx))
	}
}

// Hangup leaves the room as a caller does who puts the receiver down
// (CLIENT_INITIATED); Run then returns. It may be called more than once.
func (c *Caller) Hangup() error {
	c.leave.Do(func() { close(c.left) })
	return c.disconnect()
}

// HangupAs leaves with a reason of LiveKit's, as its SIP service does for who is
// called and is busy (USER_REJECTED) or does not answer (USER_UNAVAILABLE); for a
// trunk that fails it says UNKNOWN_REASON.
func (c *Caller) HangupAs(reason livekit.DisconnectReason) error {
	c.closing.Do(func() { c.closed = line.LeaveAs(c.sdk, reason) })
	c.leave.Do(func() { close(c.left) })
	return c.closed
}

// disconnect leaves once.
func (c *Caller) disconnect() error {
	c.closing.Do(func() { c.closed = line.Leave(c.sdk) })
	return c.closed
}
