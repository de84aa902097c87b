package room

import (
	"strconv"
	"time"

	"headstart/worker/room/audio"
	"headstart/worker/room/recording"
	"headstart/worker/room/stream"
)

const (
	// recordingTopic is where clients send what was said before they were connected.
	recordingTopic = "lk.agent.pre-connect-audio-buffer"
	// recordingWithin is how long a track that announces a recording waits for it.
	recordingWithin = 3 * time.Second
	// recordingFresh is how old a recording may be when its track begins to be heard.
	// The SDK tells of a track only with its first packet, and a visitor who waits in
	// silence for the answer sends few.
	recordingFresh = 3 * time.Second
	// backlogFrames is the most that waits for the reader of Audio: a recording,
	// what came while it was waited for, and a little.
	backlogFrames = int((recording.Longest + recordingWithin + time.Second) / audio.Frame)
)

// before puts what was said before the agent was there in front of what is heard
// now. It is a pure step: every call says when it is. The zero value is ready.
type before struct {
	track   string        // that is heard
	waiting bool          // for its recording
	until   time.Duration // when it is given up
	backlog [][]int16     // what the reader of Audio has not had, or must not have yet
	dropped int64         // frames that found no place in it

	early   []int16 // a recording whose track is not heard yet
	earlyOf string
	earlyAt time.Duration
	stale   int64 // recordings that came too late, or before anything to hear
}

// hear begins a track; announced says that a recording belongs to it.
func (b *before) hear(at time.Duration, track string, announced bool) {
	b.track, b.waiting, b.until = track, announced, at+recordingWithin
	if !announced || b.earlyOf != track {
		return
	}
	pcm := b.early
	b.early, b.earlyOf = nil, ""
	if at-b.earlyAt > recordingFresh {
		b.stale++
		b.waiting = false // there is no second one
		return
	}
	b.recorded(at, track, pcm)
}

// recorded brings the recording of a track: 16 kHz mono.
func (b *before) recorded(at time.Duration, track string, pcm []int16) {
	if b.track != track {
		b.early, b.earlyOf, b.earlyAt = pcm, track, at
		return
	}
	if !b.waiting {
		b.stale++
		return
	}
	b.waiting = false
	held := b.backlog
	b.backlog = make([][]int16, 0, len(held)+len(pcm)/audio.HeardFrame+1)
	for len(pcm) > 0 {
		n := min(len(pcm), audio.HeardFrame)
		frame := pcm[:n:n]
		if n < audio.HeardFrame {
			frame = append(make([]int16, 0, audio.HeardFrame), frame...)[:audio.HeardFrame]
		}
		b.backlog, pcm = append(b.backlog, frame), pcm[n:]
	}
	b.backlog = append(b.backlog, held...)
}

// frame takes a frame of the track. It is false when nothing is before it, so
// that it can be heard at once.
func (b *before) frame(frame []int16) bool {
	if !b.waiting && len(b.backlog) == 0 {
		return false
	}
	if len(b.backlog) >= backlogFrames {
		b.next()
		b.dropped++
	}
	b.backlog = append(b.backlog, frame)
	return true
}

// tick gives a recording up that does not come.
func (b *before) tick(at time.Duration) {
	if b.waiting && at >= b.until {
		b.waiting = false
	}
}

// first is the frame that the reader of Audio gets next, nil when there is none,
// or it must wait.
func (b *before) first() []int16 {
	if b.waiting || len(b.backlog) == 0 {
		return nil
	}
	return b.backlog[0]
}

// next removes the first frame.
func (b *before) next() {
	b.backlog[0] = nil
	if b.backlog = b.backlog[1:]; len(b.backlog) == 0 {
		b.backlog = nil
	}
}

// recorded is the note of a recording that came in.
type recorded struct{ stream.Recording }

// The attributes of a recording.
const (
	attrRecordedTrack    = "trackId"
	attrRecordedRate     = "sampleRate"
	attrRecordedChannels = "channels"
)

// form reads what a recording is.
func (r recorded) form() recording.Form {
	rate, _ := strconv.Atoi(r.Attributes[attrRecordedRate]) // 0 is refused by the decoder
	channels, _ := strconv.Atoi(r.Attributes[attrRecordedChannels])
	return recording.Form{MIME: r.MIME, Rate: rate, Channels: channels}
}
