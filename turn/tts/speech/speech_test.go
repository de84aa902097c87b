package speech_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/turn/llm/openai/openaitest"
	"headstart/turn/provider"
	"headstart/turn/tts"
	"headstart/turn/tts/speech"
	"headstart/turn/tts/speech/speechtest"
)

// What turn.Voice asks for; naming it here would make the test import the turn.
var _ interface {
	Rate() int
	Speak(ctx context.Context, clauses <-chan string, play func(tts.Audio) error) error
} = (*speech.Voice)(nil)

func voice(t *testing.T, cfg speech.Config) *speech.Voice {
	t.Helper()
	cfg.Model, cfg.Voice = "fake-tts", "alba"
	if cfg.BaseURL == "" {
		cfg.BaseURL = "http://voice.test/v1/"
	}
	v, err := speech.New(cfg, zap.NewNop())
	if err != nil {
		t.Fatalf("new voice: %v", err)
	}
	t.Cleanup(v.Close)
	return v
}

func of(h http.Handler) speech.Config {
	return speech.Config{Transport: openaitest.Transport(h)}
}

func feed(clauses ...string) <-chan string {
	ch := make(chan string, len(clauses))
	for _, c := range clauses {
		ch <- c
	}
	close(ch)
	return ch
}

// player keeps what was played, a slice a clause, as a mouth would take it.
type player struct {
	clauses [][]int16
	last    []bool
	pace    int // samples a second; 0 plays at once
}

func (p *player) play(a tts.Audio) error {
	for len(p.clauses) <= a.Clause {
		p.clauses = append(p.clauses, nil)
		p.last = append(p.last, false)
	}
	if p.last[a.Clause] || a.Clause != len(p.clauses)-1 {
		return errors.New("audio out of order")
	}
	p.clauses[a.Clause] = append(p.clauses[a.Clause], a.PCM...)
	p.last[a.Clause] = a.Last
	if p.pace > 0 {
		time.Sleep(time.Duration(len(a.PCM)) * time.Second / time.Duration(p.pace))
	}
	return nil
}

func tone(text string) []int16 { return pcmOf(speechtest.Tone(speechtest.Length(text))) }

func pcmOf(b []byte) []int16 {
	out := make([]int16, len(b)/2)
	for i := range out {
		out[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return out
}

func TestClausesAreSaidInOrderInEveryFormat(t *testing.T) {
	t.Parallel()
	for _, format := range []speechtest.Format{speechtest.PCM, speechtest.WAV, speechtest.SSE} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			var p player
			err := voice(t, of(&speechtest.Server{Format: format})).Speak(t.Context(), feed("Hola.", "…", "¿Qué tal está?"), p.play)
			if err != nil {
				t.Fatalf("speak: %v", err)
			}
			if diff := cmp.Diff([][]int16{tone("Hola."), nil, tone("¿Qué tal está?")}, p.clauses); diff != "" {
				t.Fatalf("audio (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]bool{true, true, true}, p.last); diff != "" {
				t.Fatalf("ends (-want +got):\n%s", diff)
			}
		})
	}
}

// The next clause is fetched while one plays, and only that one.
func TestOneClauseIsFetchedAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := &speechtest.Server{First: 300 * time.Millisecond}
		text := strings.Repeat("a", 100) // 1.2 s of audio
		p := player{pace: speechtest.Rate}
		start := time.Now()
		seen := make(chan int, 4)
		for i := range 4 {
			time.AfterFunc(time.Duration(i)*1200*time.Millisecond+400*time.Millisecond, func() { seen <- len(fake.Inputs()) })
		}
		if err := voice(t, of(fake)).Speak(t.Context(), feed(text, text, text, text), p.play); err != nil {
			t.Fatalf("speak: %v", err)
		}
		if took := time.Since(start).Round(time.Microsecond); took != 5100*time.Millisecond {
			t.Fatalf("took %s, want 5.1s: only the first clause may be waited for", took)
		}
		asked := []int{<-seen, <-seen, <-seen, <-seen}
		if diff := cmp.Diff([]int{2, 3, 4, 4}, asked); diff != "" {
			t.Fatalf("requests while each clause played (-want +got):\n%s", diff)
		}
	})
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault speechtest.Fault
		took  time.Duration
		says  string
	}{
		{speechtest.Mute, 5 * time.Second, "ask voice: wait for response headers: timed out after 5s"},
		{speechtest.Hang, 4 * time.Second, "read audio: wait for first audio byte: timed out after 4s"},
		{speechtest.Stall, 5 * time.Second, "read audio: wait for next audio: timed out after 5s"},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fake := &speechtest.Server{}
				fake.Fail(speechtest.Faults{Fault: c.fault})
				var p player
				start := time.Now()
				err := voice(t, of(fake)).Speak(t.Context(), feed(strings.Repeat("a", 100)), p.play)
				if err == nil || err.Error() != c.says || !errors.Is(err, context.DeadlineExceeded) || !retryable(err) {
					t.Fatalf("error %v, want a retryable %q", err, c.says)
				}
				if took := time.Since(start); took != c.took {
					t.Fatalf("took %s, want %s", took, c.took)
				}
			})
		})
	}
}

func retryable(err error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Retryable()
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		faults speechtest.Faults
		again  bool
		heard  int // samples of the first clause
	}{
		{speechtest.Faults{Fault: speechtest.Refuse}, true, 0},
		{speechtest.Faults{Fault: speechtest.Failing}, true, 0},
		{speechtest.Faults{Fault: speechtest.Failing, Status: 429}, true, 0},
		{speechtest.Faults{Fault: speechtest.Failing, Status: 401}, false, 0},
		{speechtest.Faults{Fault: speechtest.Empty}, true, 0},
		{speechtest.Faults{Fault: speechtest.Garbage}, false, 0},
		{speechtest.Faults{Fault: speechtest.Drop}, true, 14400},
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := &speechtest.Server{}
			fake.Fail(c.faults)
			var p player
			err := voice(t, of(fake)).Speak(t.Context(), feed(strings.Repeat("a", 100)), p.play)
			if _, ok := errors.AsType[*provider.Error](err); !ok || retryable(err) != c.again {
				t.Fatalf("%+v gave %v, want retryable %v", c.faults, err, c.again)
			}
			heard := 0
			for _, pcm := range p.clauses {
				heard += len(pcm)
			}
			if heard != c.heard {
				t.Fatalf("%+v: heard %d samples, want %d", c.faults, heard, c.heard)
			}
		})
	}
}

// A clause that fails ahead is told only after the one before was played whole.
func TestAFailureAheadWaitsItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := &speechtest.Server{}
		clauses := make(chan string)
		go func() {
			defer close(clauses)
			clauses <- "Hola."
			synctest.Wait()
			fake.Fail(speechtest.Faults{Fault: speechtest.Failing})
			clauses <- "Adiós."
		}()
		p := player{pace: speechtest.Rate}
		err := voice(t, of(fake)).Speak(t.Context(), clauses, p.play)
		if !retryable(err) {
			t.Fatalf("speak: %v", err)
		}
		if diff := cmp.Diff([]bool{true}, p.last); diff != "" {
			t.Fatalf("ends (-want +got):\n%s", diff)
		}
	})
}

func TestCancelReturnsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("barge-in")
	for _, fake := range []*speechtest.Server{{First: time.Minute}, {}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
			clauses := make(chan string, 1) // never closed: the model is still writing
			clauses <- "Hola."
			start := time.Now()
			var p player
			if err := voice(t, of(fake)).Speak(ctx, clauses, p.play); err != cause {
				t.Fatalf("got %v, want the cause", err)
			}
			if took := time.Since(start); took != 50*time.Millisecond {
				t.Fatalf("took %s, want 50ms", took)
			}
		})
	}
}

func TestAMouthThatFailsEndsTheVoice(t *testing.T) {
	t.Parallel()
	gone := errors.New("room is gone")
	err := voice(t, of(&speechtest.Server{})).Speak(t.Context(), feed("Hola.", "Adiós."), func(tts.Audio) error { return gone })
	if err != gone {
		t.Fatalf("got %v, want the mouth's error", err)
	}
}

func TestALongTextIsAskedForInParts(t *testing.T) {
	t.Parallel()
	fake := &speechtest.Server{}
	text := strings.Repeat("Ñandú año. ", 600) // 6,600 characters
	var p player
	if err := voice(t, of(fake)).Speak(t.Context(), feed(text), p.play); err != nil {
		t.Fatalf("speak: %v", err)
	}
	got := fake.Inputs()
	if len(got) != 2 || !strings.HasSuffix(got[0], ".") || strings.Join(got, " ") != strings.TrimSpace(text) {
		t.Fatalf("%d parts, the first ends in %q", len(got), got[0][len(got[0])-8:])
	}
	if len(p.clauses) != 1 || !p.last[0] {
		t.Fatalf("%d clauses, want one", len(p.clauses))
	}
}

func TestOverASocket(t *testing.T) {
	t.Parallel()
	fake := &speechtest.Server{}
	server := httptest.NewServer(fake)
	defer server.Close()
	res, err := http.Post(server.URL+"/fakes/tts", "application/json", strings.NewReader(`{"fault":"refuse","times":1}`))
	if err != nil {
		t.Fatalf("set faults: %v", err)
	}
	_ = res.Body.Close()
	v := voice(t, speech.Config{BaseURL: server.URL + "/v1", Key: "k", Speed: 1.1, Instructions: "calm", Options: map[string]any{"voice": "eva", "speed": nil}})
	defer http.DefaultClient.CloseIdleConnections()
	var p player
	if err := v.Speak(t.Context(), feed("Hola."), p.play); !retryable(err) {
		t.Fatalf("got %v, want a dropped connection", err)
	}
	if err := v.Speak(t.Context(), feed("Hola."), p.play); err != nil || fake.Whole() != 1 {
		t.Fatalf("speak: %v, %d whole", err, fake.Whole())
	}
	if diff := cmp.Diff([][]int16{tone("Hola.")}, p.clauses); diff != "" {
		t.Fatalf("audio (-want +got):\n%s", diff)
	}
	v.Close()
}

func TestConfigComplaints(t *testing.T) {
	t.Parallel()
	err := speech.Config{BaseURL: "x", Speed: 9, Rate: 1, Between: -1}.Validate()
	want := "model is empty\nvoice is empty\nbase url \"x\" is no http url\nspeed 9 is not in 0.25 to 4\nrate 1 is not in 8000 to 48000\na deadline is negative"
	if err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
}

// bursting is a connection that panics.
type bursting struct{}

func (bursting) RoundTrip(*http.Request) (*http.Response, error) { panic("bug") }

// A panic of the goroutine that fetches is the call's.
func TestPanicOfTheFetcher(t *testing.T) {
	t.Parallel()
	v := voice(t, speech.Config{Transport: bursting{}})
	err := crew.Guard(func() error {
		return v.Speak(t.Context(), feed("Buenos días.", "Adiós."), func(tts.Audio) error { return nil })
	})
	if crew.In(err) == nil {
		t.Fatalf("spoke until %v: the panic was lost", err)
	}
}
