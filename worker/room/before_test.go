package room_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/room"
	"headstart/worker/room/audio"
)

// said is frames that all hold one value.
func said(value int16, frames int) []int16 {
	pcm := make([]int16, frames*audio.HeardFrame)
	for i := range pcm {
		pcm[i] = value
	}
	return pcm
}

// readAll takes what the reader of Audio could get now, as the values of the frames.
func readAll(b *room.Before) []int16 {
	var got []int16
	for f := b.First(); f != nil; f = b.First() {
		if len(f) != audio.HeardFrame {
			return []int16{-1}
		}
		got = append(got, f[0])
		b.Next()
	}
	return got
}

func hold(t *testing.T, b *room.Before, values ...int16) {
	t.Helper()
	for _, v := range values {
		if !b.Frame(said(v, 1)) {
			t.Fatalf("frame %d goes past what is before it", v)
		}
	}
}

func want(t *testing.T, what string, got []int16, values ...int16) {
	t.Helper()
	if diff := cmp.Diff(values, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func TestARecordingIsHeardBeforeItsTrack(t *testing.T) {
	t.Parallel()
	var b room.Before
	b.Hear(0, "TR_1", true)
	hold(t, &b, 10, 11)
	want(t, "while it is waited for", readAll(&b))
	b.Recorded(time.Second, "TR_1", append(said(1, 1), append(said(2, 1), 3, 3)...))
	hold(t, &b, 12)
	want(t, "then", readAll(&b), 1, 2, 3, 10, 11, 12)
	if b.Frame(said(13, 1)) {
		t.Fatal("a frame is held back with nothing before it")
	}
}

func TestARecordingThatComesFirstIsKeptForThreeSeconds(t *testing.T) {
	t.Parallel()
	var fresh room.Before
	fresh.Recorded(0, "TR_1", said(1, 1))
	fresh.Hear(3*time.Second, "TR_1", true)
	hold(t, &fresh, 10)
	want(t, "after a second", readAll(&fresh), 1, 10)

	var stale room.Before
	stale.Recorded(0, "TR_1", said(1, 1))
	stale.Hear(3*time.Second+time.Millisecond, "TR_1", true)
	if stale.Frame(said(10, 1)) || stale.Stale() != 1 {
		t.Fatalf("after more, %d are stale", stale.Stale())
	}
}

func TestARecordingIsWaitedForThreeSeconds(t *testing.T) {
	t.Parallel()
	var b room.Before
	b.Hear(time.Minute, "TR_1", true)
	hold(t, &b, 10)
	b.Tick(time.Minute + 3*time.Second - time.Millisecond)
	want(t, "too early", readAll(&b))
	b.Tick(time.Minute + 3*time.Second)
	want(t, "given up", readAll(&b), 10)
	b.Recorded(time.Minute+4*time.Second, "TR_1", said(1, 1))
	if b.Frame(said(11, 1)) || b.Stale() != 1 {
		t.Fatalf("after it was given up, %d are stale", b.Stale())
	}
}

func TestOnlyItsOwnTrackHasTheRecording(t *testing.T) {
	t.Parallel()
	var b room.Before
	b.Recorded(0, "TR_2", said(1, 1))
	b.Hear(0, "TR_1", false)
	if b.Frame(said(10, 1)) {
		t.Fatal("a track without a recording waits")
	}
	b.Hear(0, "TR_3", true)
	hold(t, &b, 11)
	want(t, "another's recording", readAll(&b))
	b.Hear(time.Second/2, "TR_2", true)
	want(t, "its own", readAll(&b), 1, 11)
}

func TestWhatWaitsIsBounded(t *testing.T) {
	t.Parallel()
	var b room.Before
	b.Hear(0, "TR_1", true)
	b.Recorded(0, "TR_1", said(1, 500)) // 10 s
	for range 300 {
		b.Frame(said(2, 1))
	}
	got := readAll(&b)
	if len(got) != 700 || got[399] != 1 || got[400] != 2 || b.Dropped() != 100 {
		t.Fatalf("%d frames wait, %d were dropped; want 700 and 100", len(got), b.Dropped())
	}
}
