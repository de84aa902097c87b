package room_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/caller"
	"headstart/worker/room"
	"headstart/worker/room/audio"
)

// TestAnotherSourceOnTheSameTrack: sequence and clock of the new source have
// nothing to do with those before, and no frame is lost at the seam.
func TestAnotherSourceOnTheSameTrack(t *testing.T) {
	t.Parallel()
	packets, err := caller.Encode(sine(440, 16000, time.Second), 16000)
	if err != nil {
		t.Fatal(err)
	}
	l, err := room.NewListener()
	if err != nil {
		t.Fatal(err)
	}
	var heard []int16
	for i, p := range packets {
		ssrc, seq, rtp := uint32(1), uint16(65530+i), uint32(i*audio.SaidFrame)
		if i >= 25 {
			ssrc, seq, rtp = 2, uint16(40+i), uint32(0xfffffff0+i*audio.SaidFrame)
		}
		frames, err := l.Packet(time.Duration(i)*audio.Frame, ssrc, seq, rtp, p)
		if err != nil || len(frames) != 1 {
			t.Fatalf("packet %d gives %d frames, %v", i, len(frames), err)
		}
		heard = append(heard, frames[0]...)
	}
	if diff := cmp.Diff(audio.Heard{Frames: 50}, l.Heard()); diff != "" {
		t.Fatalf("counters (-want +got):\n%s", diff)
	}
	expectTone(t, "the agent", heard[len(heard)*6/10:], 440)
}
