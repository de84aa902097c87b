package aura_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/turn/crew"
	"headstart/turn/provider"
	"headstart/turn/stt/line/linetest"
	"headstart/turn/tts"
	"headstart/turn/tts/aura"
	"headstart/turn/tts/aura/auratest"
	"headstart/turn/tts/speech/speechtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What turn.Voice asks for; naming it here would make the test import the turn.
var _ interface {
	Rate() int
	Speak(ctx context.Context, clauses <-chan string, play func(tts.Audio) error) error
	tts.Fragmented
} = (*aura.Voice)(nil)

const ms = time.Millisecond

// voice makes a voice of a fake, both for one test.
func voice(t *testing.T, options auratest.Options, change ...func(*aura.Config)) (*auratest.Server, *aura.Voice) {
	t.Helper()
	server := auratest.New(options)
	config := aura.Config{APIKey: "k", BaseURL: "ws://aura.test", Model: "aura-2-celeste-es", HTTPClient: linetest.Serve(t, server)}
	for _, c := range change {
		c(&config)
	}
	v, err := aura.New(config, zap.NewNop())
	if err != nil {
		t.Fatalf("new voice: %v", err)
	}
	t.Cleanup(server.Close)
	t.Cleanup(v.Close)
	return server, v
}

func feed(clauses ...string) <-chan string {
	ch := make(chan string, len(clauses))
	for _, c := range clauses {
		ch <- c
	}
	close(ch)
	return ch
}

// player keeps what was played and holds the order of the clauses.
type player struct {
	pcm     []int16
	clauses []int // samples of each
	last    []bool
	began   time.Time
	first   time.Duration // of sound
	stop    func() error  // asked after each piece of sound
}

func (p *player) play(a tts.Audio) error {
	for len(p.clauses) <= a.Clause {
		p.clauses, p.last = append(p.clauses, 0), append(p.last, false)
	}
	if p.last[a.Clause] || a.Clause != len(p.clauses)-1 {
		return errors.New("audio out of order")
	}
	if len(p.pcm) == 0 && len(a.PCM) > 0 {
		p.first = time.Since(p.began)
	}
	p.pcm = append(p.pcm, a.PCM...)
	p.clauses[a.Clause] += len(a.PCM)
	p.last[a.Clause] = a.Last
	if p.stop != nil && len(a.PCM) > 0 {
		return p.stop()
	}
	return nil
}

// say speaks one turn.
func say(ctx context.Context, v *aura.Voice, p *player, clauses ...string) error {
	p.began = time.Now()
	return v.Speak(ctx, feed(clauses...), p.play)
}

func samples(text string, rate int) int {
	return len(speechtest.ToneAt(auratest.Length(text), rate)) / 2
}

func TestSaysATurnWithOneFlush(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{0, 8000, 16000, 48000} {
		synctest.Test(t, func(t *testing.T) {
			server, v := voice(t, auratest.Options{}, func(c *aura.Config) { c.Rate = rate })
			var p player
			if err := say(t.Context(), v, &p, "Hola.", "…", "¿Qué tal está?"); err != nil {
				t.Fatalf("speak: %v", err)
			}
			if want := samples("Hola.", v.Rate()) + samples("¿Qué tal está?", v.Rate()); len(p.pcm) != want || p.first != 0 {
				t.Fatalf("%d samples, the first after %v, want %d at once", len(p.pcm), p.first, want)
			}
			if diff := cmp.Diff([]bool{true, true, true}, p.last); diff != "" {
				t.Fatalf("ends (-want +got):\n%s", diff)
			}
			want := auratest.Record{Connections: 1, Open: 1, Texts: []string{"Hola. ", "¿Qué tal está? "}, Flushes: 1}
			if diff := cmp.Diff(want, server.Record()); diff != "" {
				t.Fatalf("server (-want +got):\n%s", diff)
			}
		})
	}
}

// Once the voice's pace is known, each clause gets just its own audio.
func TestSharesTheAudioOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, v := voice(t, auratest.Options{})
		long := strings.Repeat("a", 199) + "."
		for range 40 { // the fake speaks six times as fast as people
			if err := say(t.Context(), v, &player{}, long); err != nil {
				t.Fatalf("speak: %v", err)
			}
			time.Sleep(3 * time.Second) // 20 Flush messages a minute
		}
		var p player
		clauses := []string{"Abrimos a las nueve,", "—", "y cerramos a las ocho.", "¿Algo más?"}
		if err := say(t.Context(), v, &p, clauses...); err != nil {
			t.Fatalf("speak: %v", err)
		}
		for i, c := range clauses {
			want := samples(c, v.Rate())
			switch i {
			case 1:
				want = 0
			case 3: // the space between the first two is a character to the fake; the last takes what is left
				want = samples("a"+c, v.Rate())
			}
			if off := p.clauses[i] - want; off < -24 || off > 24 || !p.last[i] { // a millisecond
				t.Errorf("clause %d has %d samples, whole %v, want %d", i, p.clauses[i], p.last[i], want)
			}
		}
	})
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault auratest.Fault
		took  time.Duration
		says  string
	}{
		{auratest.Mute, 5 * time.Second, "connect: wait for connection: timed out after 5s"},
		{auratest.Hang, 4 * time.Second, "read audio: wait for first audio: timed out after 4s"},
		{auratest.Stall, 5 * time.Second, "read audio: wait for next audio: timed out after 5s"},
		// The network of pipes holds nothing back, so the first write that is not read waits.
		{auratest.Block, 2 * time.Second, "send text: wait for Speak taken: timed out after 2s"},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, v := voice(t, auratest.Options{})
				server.Fail(auratest.Faults{Fault: c.fault})
				var p player
				err := say(t.Context(), v, &p, strings.Repeat("a", 50)+".", "b.", "c.", "d.")
				if took := time.Since(p.began); err == nil || err.Error() != c.says || took != c.took {
					t.Fatalf("speak: %v after %v, want %q after %v", err, took, c.says, c.took)
				}
				if told, ok := errors.AsType[*provider.Error](err); !ok || !told.Retryable() || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("speak: %#v, want a retryable timeout", err)
				}
				server.Fail(auratest.Faults{})
				if err := say(t.Context(), v, &player{}, "Hola."); err != nil {
					t.Fatalf("speak on a new connection: %v", err)
				}
			})
		})
	}
}

// While the model still writes, the server owes nothing.
func TestSlowTextIsNobodysFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, v := voice(t, auratest.Options{})
		clauses := make(chan string)
		go func() {
			defer close(clauses)
			for _, c := range []string{"Un momento,", "por favor.", "Ya."} {
				clauses <- c
				time.Sleep(20 * time.Second)
			}
		}()
		var p player
		if err := v.Speak(t.Context(), clauses, p.play); err != nil || !slices.Equal(p.last, []bool{true, true, true}) {
			t.Fatalf("speak: %v, ends %v", err, p.last)
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		faults auratest.Faults
		status int
		again  bool
		sound  bool // some was heard
	}{
		{auratest.Faults{Fault: auratest.Refuse}, 0, true, false},
		{auratest.Faults{Fault: auratest.Failing, Status: 401}, 401, false, false},
		{auratest.Faults{Fault: auratest.Failing, Status: 429}, 429, true, false},
		{auratest.Faults{Fault: auratest.Failing}, 500, true, false},
		{auratest.Faults{Fault: auratest.Drop}, 0, true, true},
		{auratest.Faults{Fault: auratest.Fail}, 0, true, false},
		{auratest.Faults{Fault: auratest.Garbage}, 0, true, false},
		{auratest.Faults{Fault: auratest.Empty}, 0, true, false},
	} {
		t.Run(string(c.faults.Fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, v := voice(t, auratest.Options{})
				server.Fail(c.faults)
				var p player
				err := say(t.Context(), v, &p, strings.Repeat("a", 100)+".")
				told, ok := errors.AsType[*provider.Error](err)
				if !ok || told.Status != c.status || told.Retryable() != c.again || len(p.pcm) > 0 != c.sound {
					t.Fatalf("speak: %v after %d samples, want status %d, retryable %v", err, len(p.pcm), c.status, c.again)
				}
				if slices.Contains(p.last, true) {
					t.Fatal("a clause ended that was cut off")
				}
			})
		})
	}
}

func TestNothingToSay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, v := voice(t, auratest.Options{})
		var p player
		if err := say(t.Context(), v, &p, "…", " "); err != nil || !slices.Equal(p.last, []bool{true, true}) || len(p.pcm) > 0 {
			t.Fatalf("speak: %v, ends %v, %d samples", err, p.last, len(p.pcm))
		}
		if err := say(t.Context(), v, &p); err != nil {
			t.Fatalf("speak: %v", err)
		}
		synctest.Wait() // the server counts after the client has its answer
		if r := server.Record(); r.Flushes != 0 || r.Connections != 1 {
			t.Fatalf("server %+v, want one connection without a flush", r)
		}
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()
	if err := (aura.Config{APIKey: "k", Model: "aura-2-celeste-es"}).Validate(); err != nil {
		t.Fatalf("validate the defaults: %v", err)
	}
	err := aura.Config{BaseURL: "ftp://x", Rate: 22050, Write: -1}.Validate()
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || len(joined.Unwrap()) != 5 {
		t.Fatalf("validate: %v, want five complaints", err)
	}
}

// A panic of the goroutine that writes is the call's.
func TestPanicOfTheWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var armed atomic.Bool
		_, v := voice(t, auratest.Options{}, func(cfg *aura.Config) {
			cfg.HTTPClient = linetest.Bursting(cfg.HTTPClient, &armed)
		})
		silent := func(tts.Audio) error { return nil }
		if err := v.Speak(t.Context(), feed("Hola."), silent); err != nil { // its connection is kept
			t.Fatalf("speak: %v", err)
		}
		armed.Store(true)
		err := crew.Guard(func() error { return v.Speak(t.Context(), feed("Buenos días."), silent) })
		if crew.In(err) == nil {
			t.Fatalf("spoke until %v: the panic was lost", err)
		}
	})
}
