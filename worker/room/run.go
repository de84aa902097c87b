package room

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"headstart/turn/crew"
	"headstart/worker/room/audio"
	"headstart/worker/room/line"
)

// Run hears, speaks and tells events until the room is left, closes, or ctx
// ends; then it leaves the room. It returns nil after Leave and after
// RoomClosed, the panic (a *crew.Panic) of a goroutine of the room, and the cause
// of ctx otherwise. Call it once.
func (r *Room) Run(ctx context.Context) error {
	life, end := context.WithCancelCause(ctx)
	group, life := errgroup.WithContext(life)
	beside := func(work func() error) { group.Go(func() error { return crew.Guard(work) }) }
	beside(func() error { audio.PaceResting(life, r.mouth.bell, r.mouth.step); return nil })
	beside(func() error { return r.outbox.Run(life) })
	beside(func() error { return r.listen(life, beside) })

	err := crew.Guard(func() error { return r.loop(life) })
	end(ErrLeft)
	r.leave.Do(func() { close(r.left) })
	r.mouth.close()
	err = errors.Join(err, r.disconnect(), r.note(line.Await(group.Wait)))
	close(r.heard)
	close(r.events)
	r.log.Debug("left", zap.String("room", r.sdk.Name()), zap.Any("counters", r.Counters()))
	return err
}

// loop owns the link: it reads notes and hands events on. pending keeps the
// events that nobody has read yet beyond what the channel holds.
func (r *Room) loop(ctx context.Context) error {
	l := &loop{room: r, link: link{want: r.config.Identity}, asked: map[string]bool{}, grades: map[string]livekit.ConnectionQuality{}, met: map[*lksdk.RemoteParticipant]bool{}, missed: map[*lksdk.RemoteParticipant]bool{}}
	l.welcome()
	for {
		l.deliver()
		var out chan Event
		var first Event
		if len(l.pending) > 0 {
			out, first = r.events, l.pending[0]
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.left:
			return nil
		case out <- first:
			l.pending = l.pending[1:]
		case <-r.mailbox.Bell():
			for _, note := range r.mailbox.Take() {
				l.note(note)
			}
		}
		if l.done {
			l.deliver()
			if n := len(l.pending); n > 0 {
				r.log.Warn("events left unread", zap.Int("events", n))
			}
			return nil
		}
	}
}

// loop is the state of one Run, which alone reads and writes it.
type loop struct {
	room    *Room
	link    link
	asked   map[string]bool // the tracks that were subscribed to
	pending []Event
	done    bool
	grades  map[string]livekit.ConnectionQuality // by identity, as the server last told
	// The SDK gives each note from a goroutine of its own, so that a participant
	// may be gone before they have come: missed are those, met are those who are there.
	met, missed map[*lksdk.RemoteParticipant]bool
	early       []typed // what was typed before there was a caller
}

// deliver moves events to the channel while it has room.
func (l *loop) deliver() {
	for len(l.pending) > 0 {
		select {
		case l.room.events <- l.pending[0]:
			l.pending = l.pending[1:]
		default:
			return
		}
	}
}

func (l *loop) tell(events ...Event) { l.pending = append(l.pending, events...) }

// welcome links to who was in the room first; the SDK tells only of those who come later.
func (l *loop) welcome() {
	there := l.room.sdk.GetRemoteParticipants()
	slices.SortFunc(there, func(a, b *lksdk.RemoteParticipant) int { return cmp.Compare(a.Identity(), b.Identity()) })
	for _, p := range there {
		l.join(p)
	}
}

func (l *loop) note(note any) {
	switch n := note.(type) {
	case joined:
		l.join(n.participant)
		if l.missed[n.participant] {
			delete(l.missed, n.participant)
			l.depart(n.participant)
		}
	case departed:
		if !l.met[n.participant] {
			l.missed[n.participant] = true
			return
		}
		l.depart(n.participant)
	case published:
		l.subscribe(n.publication, n.participant.Identity())
	case subscribed:
		l.hear(n)
	case changed:
		l.change(n)
	case graded:
		l.grades[n.identity] = n.quality
		l.room.mouth.protect(l.loses())
	case pressed:
		if key, ok := keyOf(n.packet); ok && l.link.linked(n.identity) {
			l.tell(DTMF{Digit: key})
		}
	case typed:
		l.hearTyped(n)
	case recorded:
		l.recorded(n)
	case listened:
		l.room.mouth.listened()
		l.tell(Subscribed{})
	case reconnecting:
		l.link.reconnect()
	case reconnected:
		l.reconnected()
	case burst:
		_ = crew.Hand(n.err)
	case closed:
		l.tell(RoomClosed{Reason: n.reason.String()})
		l.done = true
	}
}

func (l *loop) depart(p *lksdk.RemoteParticipant) {
	delete(l.met, p)
	l.tell(l.link.depart(p.Identity(), p.DisconnectReason())...)
}

func (l *loop) join(p *lksdk.RemoteParticipant) {
	l.met[p] = true
	l.tell(l.link.join(callerOf(p))...)
	if !l.link.linked(p.Identity()) {
		return
	}
	early := l.early
	l.early = nil
	for _, n := range early {
		l.hearTyped(n)
	}
	if l.room.caller.Load() == nil {
		l.room.caller.Store(&callerTrack{identity: p.Identity()})
	}
	for _, t := range p.TrackPublications() {
		if publication, ok := t.(*lksdk.RemoteTrackPublication); ok {
			l.subscribe(publication, p.Identity())
		}
	}
}

// earliest is how many messages are kept of those who may become the caller.
const earliest = 16

// hearTyped hears what the caller types. It may come before the note that they
// are there; what others typed is forgotten once there is a caller.
func (l *loop) hearTyped(n typed) {
	switch {
	case l.link.linked(n.identity):
		l.tell(Chat{Text: n.text})
	case l.link.identity == "":
		l.early = append(l.early, n)
		l.early = l.early[max(0, len(l.early)-earliest):]
	}
}

// reconnected looks who is still there, and asks for the caller's track again:
// a server to which the connection is new knows of no subscription.
func (l *loop) reconnected() {
	p := l.room.sdk.GetParticipantByIdentity(l.link.identity)
	l.tell(l.link.reconnected(p != nil)...)
	clear(l.asked)
	if p != nil {
		l.join(p)
	}
}

// subscribe asks for the caller's microphone, and for no other track.
func (l *loop) subscribe(t *lksdk.RemoteTrackPublication, identity string) {
	if !l.link.linked(identity) || t.Source() != livekit.TrackSource_MICROPHONE || t.Kind() != lksdk.TrackKindAudio || l.asked[t.SID()] {
		return
	}
	l.asked[t.SID()] = true
	l.room.outbox.Post(func() error { return t.SetSubscribed(true) }, func(err error) {
		if err != nil {
			l.room.log.Warn("subscribe", zap.String("track", t.SID()), zap.Error(err))
		}
	})
}

// hear hands a track to the ear, which lets the one before go: a second session
// under the caller's identity takes the place of the first without a word.
func (l *loop) hear(n subscribed) {
	if !l.link.linked(n.participant.Identity()) || n.track.Kind() != webrtc.RTPCodecTypeAudio {
		return
	}
	before := l.room.caller.Swap(&callerTrack{identity: n.participant.Identity(), track: n.publication.SID()}) // known when its first frame is heard
	select {
	case l.room.tracks <- heardTrack{track: n.track, id: n.publication.SID(), announced: announces(n.publication)}:
	default:
		l.room.caller.Store(before)
		l.room.log.Warn("too many tracks at once", zap.String("track", n.publication.SID()))
	}
}

// announces tells whether a recording belongs to a track.
func announces(t *lksdk.RemoteTrackPublication) bool {
	return slices.Contains(t.TrackInfo().GetAudioFeatures(), livekit.AudioTrackFeature_TF_PRECONNECT_BUFFER)
}

// recorded hands a recording of the caller to the ear.
func (l *loop) recorded(n recorded) {
	if !l.link.linked(n.Identity) {
		return
	}
	select {
	case l.room.recordings <- n:
	default:
		l.room.log.Warn("too many recordings at once", zap.Int("bytes", len(n.Bytes)))
	}
}

// loses tells whether the caller may lose packets of ours: on the way to the
// server or from there, whichever the server does not call excellent.
func (l *loop) loses() bool {
	return l.grades[l.room.Identity()] != livekit.ConnectionQuality_EXCELLENT ||
		l.grades[l.link.identity] != livekit.ConnectionQuality_EXCELLENT
}

func (l *loop) change(n changed) {
	p := l.room.sdk.GetParticipantByIdentity(n.identity)
	if p == nil || !l.link.linked(n.identity) {
		return
	}
	l.tell(AttributesChanged{Changed: n.attributes, Caller: callerOf(p)})
}
