package espeak_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn/provider"
	"headstart/turn/tts"
	"headstart/turn/tts/espeak"
)

// TestMain is also the child of the tests that need one to misbehave: the
// voice's name is its script.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--stdin") {
		os.Exit(child(os.Args[slices.Index(os.Args, "-v")+1]))
	}
	goleak.VerifyTestMain(m)
}

func child(script string) int {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	header := make([]byte, 44)
	copy(header, "RIFF")
	binary.LittleEndian.PutUint32(header[24:], espeak.Rate)
	switch script {
	case "hang":
		time.Sleep(time.Hour)
	case "stall":
		_, _ = os.Stdout.Write(append(header, 1, 0))
		time.Sleep(time.Hour)
	case "fail":
		return 3
	case "garbage":
		_, _ = os.Stdout.WriteString("usage: this text is longer than the header of a WAV file")
	case "silent":
		_, _ = os.Stdout.Write(header)
	case "endless":
		_, _ = os.Stdout.Write(header)
		for err == nil {
			_, err = os.Stdout.Write(make([]byte, 4096))
		}
	default: // echo: the text is the audio, a byte at a time
		_, _ = os.Stdout.Write(header)
		for _, b := range text {
			_, _ = os.Stdout.Write([]byte{b})
		}
	}
	return 0
}

func scripted(t *testing.T, script string, between time.Duration) *espeak.Voice {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test: %v", err)
	}
	v, err := espeak.New(espeak.Config{Program: program, Voice: script, First: time.Minute, Between: between}, zap.NewNop())
	if err != nil {
		t.Fatalf("new voice: %v", err)
	}
	return v
}

func speak(ctx context.Context, v *espeak.Voice, play func(tts.Audio) error, clauses ...string) error {
	feed := make(chan string, len(clauses))
	for _, c := range clauses {
		feed <- c
	}
	close(feed)
	return v.Speak(ctx, feed, play)
}

func TestTheChildReadsStdinAndItsAudioArrives(t *testing.T) {
	t.Parallel()
	var got []tts.Audio
	err := speak(t.Context(), scripted(t, "echo", time.Minute), func(a tts.Audio) error {
		if n := len(got); n > 0 && got[n-1].Clause == a.Clause && !a.Last {
			got[n-1].PCM = append(got[n-1].PCM, a.PCM...)
			return nil
		}
		got = append(got, a)
		return nil
	}, "--help", " ", "a[[b")
	if err != nil {
		t.Fatalf("speak: %v", err)
	}
	want := []tts.Audio{
		{Clause: 0, PCM: []int16{'-' | '-'<<8, 'h' | 'e'<<8, 'l' | 'p'<<8}}, {Clause: 0, Last: true}, {Clause: 1, Last: true},
		{Clause: 2, PCM: []int16{'a' | '['<<8}}, {Clause: 2, Last: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestChildrenThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script       string
		again, timed bool
	}{{"fail", false, false}, {"garbage", false, false}, {"silent", true, false}, {"stall", true, true}} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			err := speak(t.Context(), scripted(t, c.script, 100*time.Millisecond), func(tts.Audio) error { return nil }, "Hola.")
			e, ok := errors.AsType[*provider.Error](err)
			if !ok || e.Retryable() != c.again || errors.Is(err, context.DeadlineExceeded) != c.timed {
				t.Fatalf("got %v, want retryable %v, timed out %v", err, c.again, c.timed)
			}
		})
	}
}

func TestCancelKillsTheChild(t *testing.T) {
	t.Parallel()
	cause := errors.New("barge-in")
	for _, script := range []string{"endless", "hang"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if script == "hang" {
			time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
		}
		err := speak(ctx, scripted(t, script, time.Minute), func(tts.Audio) error { cancel(cause); return nil }, "Hola.")
		if err != cause {
			t.Fatalf("%s: got %v, want the cause", script, err)
		}
	}
}

func TestAMouthThatFailsEndsTheChild(t *testing.T) {
	t.Parallel()
	gone := errors.New("room is gone")
	if err := speak(t.Context(), scripted(t, "endless", time.Minute), func(tts.Audio) error { return gone }, "Hola."); err != gone {
		t.Fatalf("got %v, want the mouth's error", err)
	}
}

func TestTheRealProgram(t *testing.T) {
	t.Parallel()
	if !espeak.Available() {
		if os.Getenv("CI") == "true" {
			t.Fatal("espeak-ng is not installed")
		}
		t.Skip("espeak-ng is not installed")
	}
	v, err := espeak.New(espeak.Config{}, zap.NewNop())
	if err != nil {
		t.Fatalf("new voice: %v", err)
	}
	var pcm []int16
	if err := speak(t.Context(), v, func(a tts.Audio) error { pcm = append(pcm, a.PCM...); return nil }, "La consulta abre a las nueve y media."); err != nil {
		t.Fatalf("speak: %v", err)
	}
	var square float64
	for _, s := range pcm {
		square += float64(s) * float64(s)
	}
	seconds, rms := float64(len(pcm))/espeak.Rate, math.Sqrt(square/float64(len(pcm)))/32768
	if seconds < 1 || seconds > 5 || rms < 0.01 {
		t.Fatalf("%.2f s at %.3f RMS is no speech", seconds, rms)
	}
}

func TestConfigComplaints(t *testing.T) {
	t.Parallel()
	err := espeak.Config{Voice: "--path=/tmp", Speed: 9, First: -1}.Validate()
	want := "voice \"--path=/tmp\" is no name of a voice\nspeed 9 is not in 80 to 450\na deadline is negative"
	if err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	if _, err := espeak.New(espeak.Config{Program: "no-such-espeak"}, zap.NewNop()); err == nil {
		t.Fatal("a missing program was found")
	}
}
