package aura_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/tts/aura/auratest"
)

// A turn that is broken off is cleared, and the next one uses its connection
// and hears nothing of it.
func TestBargeInClears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, v := voice(t, auratest.Options{Every: 100 * ms})
		ctx, cancel := context.WithCancelCause(t.Context())
		bargeIn := errors.New("barge-in")
		time.AfterFunc(250*ms, func() { cancel(bargeIn) })
		var p player
		err := say(ctx, v, &p, strings.Repeat("a", 100)+".")
		if took := time.Since(p.began); !errors.Is(err, bargeIn) || took != 250*ms {
			t.Fatalf("speak: %v after %v, want the cause after 250ms", err, took)
		}
		synctest.Wait()
		p = player{}
		if err := say(t.Context(), v, &p, "Dígame."); err != nil || len(p.pcm) != samples("Dígame.", v.Rate()) {
			t.Fatalf("speak: %v with %d samples, want those of the second turn alone", err, len(p.pcm))
		}
		want := auratest.Record{Connections: 1, Open: 1, Texts: []string{strings.Repeat("a", 100) + ". ", "Dígame. "}, Flushes: 2, Clears: 1}
		if diff := cmp.Diff(want, server.Record()); diff != "" {
			t.Fatalf("server (-want +got):\n%s", diff)
		}
	})
}

// A listener that fails ends the turn as a barge-in does.
func TestListenerFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, v := voice(t, auratest.Options{Every: 100 * ms})
		gone := errors.New("room gone")
		if err := say(t.Context(), v, &player{stop: func() error { return gone }}, strings.Repeat("a", 100)+"."); !errors.Is(err, gone) {
			t.Fatalf("speak: %v, want the listener's error", err)
		}
		synctest.Wait()
		if r := server.Record(); r.Clears != 1 || r.Open != 1 {
			t.Fatalf("server %+v, want one clear and the connection kept", r)
		}
	})
}

// A connection that does not answer a Clear is let go after a second, while
// nobody waits.
func TestClearIsBounded(t *testing.T) {
	t.Parallel()
	for _, fault := range []auratest.Fault{auratest.Deaf, auratest.Hang} {
		synctest.Test(t, func(t *testing.T) {
			server, v := voice(t, auratest.Options{Every: 100 * ms})
			server.Fail(auratest.Faults{Fault: fault})
			ctx, cancel := context.WithTimeout(t.Context(), 250*ms)
			defer cancel()
			var p player
			if err := say(ctx, v, &p, strings.Repeat("a", 100)+"."); !errors.Is(err, context.DeadlineExceeded) || time.Since(p.began) != 250*ms {
				t.Fatalf("speak: %v after %v", err, time.Since(p.began))
			}
			time.Sleep(999 * ms)
			if r := server.Record(); r.Open != 1 || r.Clears != 1 {
				t.Fatalf("before its time: %+v", r)
			}
			time.Sleep(2 * ms)
			if r := server.Record(); r.Open != 0 {
				t.Fatalf("after a second: %+v, want the connection closed", r)
			}
		})
	}
}

// A peer that stopped reading holds up nobody who breaks in; its connection is
// let go by the deadline of the write.
func TestBargeInOnABlockedWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, v := voice(t, auratest.Options{})
		server.Fail(auratest.Faults{Fault: auratest.Block, Times: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 500*ms)
		defer cancel()
		var p player
		if err := say(ctx, v, &p, "Uno.", "Dos.", "Tres."); !errors.Is(err, context.DeadlineExceeded) || time.Since(p.began) != 500*ms {
			t.Fatalf("speak: %v after %v, want the end of its context after 500ms", err, time.Since(p.began))
		}
		if err := say(t.Context(), v, &p, "Dígame."); err != nil || time.Since(p.began) != 0 {
			t.Fatalf("speak: %v after %v, want another connection at once", err, time.Since(p.began))
		}
		began := time.Now()
		v.Close()
		if took := time.Since(began); took != 1500*ms {
			t.Fatalf("closed after %v, want 1.5s: the rest of the write's deadline", took)
		}
	})
}

// Deepgram takes 20 Flush messages a minute on a connection: the next turn gets
// another one, and none is warned of.
func TestFlushLimitIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, v := voice(t, auratest.Options{})
		for range 25 {
			if err := say(t.Context(), v, &player{}, "Sí."); err != nil {
				t.Fatalf("speak: %v", err)
			}
		}
		if r := server.Record(); r.Connections != 2 || r.Flushes != 25 || r.Warnings != 0 {
			t.Fatalf("server %d connections, %d flushes, %d warnings; want 2, 25 and none", r.Connections, r.Flushes, r.Warnings)
		}
	})
}

func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, v := voice(t, auratest.Options{Every: 100 * ms})
		turns := make(chan error, 3)
		for range 3 {
			go func() { turns <- say(t.Context(), v, &player{}, strings.Repeat("a", 100)+".") }()
		}
		for range 3 {
			if err := <-turns; err != nil {
				t.Fatalf("speak: %v", err)
			}
		}
		if r := server.Record(); r.Connections != 3 || r.Open != 3 {
			t.Fatalf("%d connections, %d open, want one for each of three turns at once", r.Connections, r.Open)
		}
		time.Sleep(50 * time.Second)
		if err := say(t.Context(), v, &player{}, "Sí."); err != nil {
			t.Fatalf("speak: %v", err)
		}
		time.Sleep(30 * time.Second)
		if r := server.Record(); r.Connections != 3 || r.Open != 1 {
			t.Fatalf("%d connections, %d open, want the used one alone", r.Connections, r.Open)
		}
		time.Sleep(31 * time.Second)
		if r := server.Record(); r.Open != 0 {
			t.Fatalf("%d open after a minute without a turn", r.Open)
		}
	})
}

// A kept connection that the server has let go is replaced unheard, and the
// clauses that it was told are said again.
func TestDeadKeptConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	for _, fault := range []auratest.Fault{auratest.Fail, auratest.Garbage, auratest.Empty} {
		synctest.Test(t, func(t *testing.T) {
			server, v := voice(t, auratest.Options{})
			if err := say(t.Context(), v, &player{}, "Hola."); err != nil {
				t.Fatalf("speak: %v", err)
			}
			server.Fail(auratest.Faults{Fault: fault, Times: 1})
			var p player
			if err := say(t.Context(), v, &p, "Uno,", "dos,", "tres."); err != nil || !slices.Equal(p.last, []bool{true, true, true}) {
				t.Fatalf("speak: %v, ends %v", err, p.last)
			}
			if want := samples("Uno, dos, tres.", v.Rate()); len(p.pcm) != want || server.Record().Connections != 2 {
				t.Fatalf("%d samples over %d connections, want %d over 2", len(p.pcm), server.Record().Connections, want)
			}
		})
	}
}
