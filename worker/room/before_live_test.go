package room_test

import (
	"encoding/binary"
	"testing"
	"time"

	"headstart/worker/caller"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/room"
	"headstart/worker/room/audio"
)

func pcm16(pcm []int16) []byte {
	var content []byte
	for _, v := range pcm {
		content = binary.LittleEndian.AppendUint16(content, uint16(v))
	}
	return content
}

// TestWhatWasSaidBeforeIsHeardFirst: a visitor spoke for five seconds at 440 Hz
// before the agent was there, and goes on at 880 Hz. Another visitor sends a
// recording in their place.
func TestWhatWasSaidBeforeIsHeardFirst(t *testing.T) {
	t.Parallel()
	server := devservertest.Start(t)
	c := dial(t, server, caller.Config{Identity: "anna", Announce: true})
	other := dial(t, server, caller.Config{Identity: "ben"})
	a := join(t, server, room.Config{Identity: "anna"})
	next[room.CallerJoined](t, a)
	if err := c.Answered(within(t)); err != nil {
		t.Fatal(err)
	}
	if err := other.Recorded(within(t), "audio/pcm", 16000, 1, pcm16(sine(3000, 16000, time.Second))); err != nil {
		t.Fatal(err)
	}
	if err := c.Recorded(within(t), "audio/pcm", 24000, 1, pcm16(sine(440, 24000, 5*time.Second))); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = c.Say(t.Context(), sine(880, 16000, time.Minute), 16000) }()
	<-time.After(time.Second) // the reader comes late: nothing is lost
	var before []int16
	deadline := time.After(patience)
	for after := 0; after < 25; {
		select {
		case f := <-a.Audio():
			if power(f, 3000) > 2000 {
				t.Fatal("another's recording is heard")
			}
			switch {
			case power(f, 440) > 5000:
				before = append(before, f...)
				if after > 0 {
					t.Fatalf("what was said before is heard after %d frames of the track", after)
				}
			case power(f, 880) > 5000:
				after++
			}
		case <-deadline:
			t.Fatalf("%v of the recording are heard, and not the track", audio.Duration(int64(len(before)), audio.HeardRate))
		}
	}
	expectTone(t, "the agent", before, 440)
	if d := audio.Duration(int64(len(before)), audio.HeardRate); d < 4900*time.Millisecond || d > 5100*time.Millisecond {
		t.Fatalf("%v of 5s are heard", d)
	}
	if n := a.Counters(); n.DroppedAudio != 0 || n.StaleAudio != 0 {
		t.Fatalf("counters %+v", n)
	}
}
