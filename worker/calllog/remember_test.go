package calllog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

// lesson is a writing, and the entry that tells of it.
func lesson(call string, vector ...float32) (turn.MemoryOps, memory.Writing) {
	since := time.UnixMicro(1_760_000_000_000_000).UTC()
	w := memory.Writing{Org: "default", Contact: "ana", Call: call, At: since, Changes: []memory.Change{
		{Op: memory.Update, Closes: "f_0", Fact: memory.Held{
			Fact: memory.Fact{ID: "f_1", Text: "Vive en Lugo.", Category: "domicilio", Source: call, Since: since, Confidence: 0.8},
			Org:  "default", Contact: "ana", Quote: "ahora vivo en Lugo", Turn: "speech-3", Vector: vector,
		}},
		{Op: memory.Invalidate, Closes: "f_2", Fact: memory.Held{Org: "default", Contact: "ana", Quote: "ya no", Turn: "speech-4"}},
	}}
	if vector != nil {
		w.Changes[0].Fact.Model = "hashing-2"
	}
	return turn.Remembered(w), w
}

func taught(t *testing.T, store *calllogtest.Store, call string) memory.Writing {
	t.Helper()
	w, found := store.Taught("default", call)
	if !found {
		t.Fatalf("call %s taught nothing", call)
	}
	return w
}

// What a call taught comes to the store with its entry, the vectors too.
func TestRememberShipsTheWriting(t *testing.T) {
	t.Parallel()
	store := &calllogtest.Store{}
	book := openBook(t, calllog.Config{Dir: t.TempDir()}, store, zap.NewNop())
	log := begin(t, book, "c")
	ops, w := lesson("c", 0.6, 0.8)
	log.Append(turn.CallEnded{Reason: "caller_hung_up"})
	log.Remember(ops, w)
	log.Append(turn.CallSummary{})
	lastAttempt(t, book)
	equal(t, "writing", w, taught(t, store, "c"))
	equal(t, "log", []string{"call.ended", "memory.ops", "call.summary"}, types(stored(t, store, "c").Entries))
}

// After a crash the entry alone brings it, without vectors and once.
func TestRememberIsMadeAgainOfItsEntry(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), &calllogtest.Store{}
	ops, w := lesson("c")
	deadCall(t, dir, turn.CallStarted{Contact: &memory.Contact{ID: "ana"}}, turn.TurnUser{Text: "ahora vivo en Lugo"},
		turn.CallEnded{Reason: "caller_hung_up"}, ops)
	for range 2 {
		book := openBook(t, calllog.Config{Dir: dir, Remembers: func(string) bool { return true }}, store, zap.NewNop())
		recovered, err := book.Recover(t.Context())
		if err != nil {
			t.Fatalf("recover: %v", err)
		}
		for _, r := range recovered {
			if !r.Sealed {
				t.Fatalf("it waits to be remembered again: %+v", r)
			}
		}
		lastAttempt(t, book)
		closeBook(t, book)
	}
	got := taught(t, store, "c")
	got.At = w.At // the entry's own time
	got.Changes[0].Fact.Since = got.Changes[0].Fact.Since.UTC()
	equal(t, "writing", w, got)
	equal(t, "log", []string{"call.started", "turn.user", "call.ended", "memory.ops", "call.summary"}, types(stored(t, store, "c").Entries))
	if call, err := store.Call(t.Context(), "default", "c"); err != nil || call.Contact != "ana" {
		t.Fatalf("call: %+v, %v", call, err)
	}
}

// Only a call that may have taught something about somebody waits for it.
func TestLeftCallsWaitToBeRemembered(t *testing.T) {
	t.Parallel()
	started := turn.CallStarted{Contact: &memory.Contact{ID: "ana"}}
	words, ended := turn.TurnUser{Text: "soy alérgica"}, turn.CallEnded{Reason: "caller_hung_up", DurationS: 12}
	yes := func(agent string) bool { return agent == "clinica" }
	for _, c := range []struct {
		name      string
		remembers func(string) bool
		had       []turn.Event
		waits     bool
	}{
		{"killed before its end", yes, []turn.Event{started, words}, true},
		{"killed after its end", yes, []turn.Event{started, words, ended}, true},
		{"of nobody", yes, []turn.Event{turn.CallStarted{}, words, ended}, false},
		{"without a word of the caller", yes, []turn.Event{started, ended}, false},
		{"remembered", yes, []turn.Event{started, words, ended, turn.MemoryOps{Op: "remember", Contact: "ana"}}, false},
		{"given up", yes, []turn.Event{started, words, ended, turn.Failure{Code: turn.CodeRememberFailed}}, false},
		{"recalled", yes, []turn.Event{started, words, turn.MemoryOps{Op: "recall", Contact: "ana"}, ended}, true},
		{"of an agent without memory", func(string) bool { return false }, []turn.Event{started, words, ended}, false},
		{"of a worker without memory", nil, []turn.Event{started, words, ended}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, store := t.TempDir(), &calllogtest.Store{}
			deadCall(t, dir, c.had...)
			book := openBook(t, calllog.Config{Dir: dir, Remembers: c.remembers}, store, zap.NewNop())
			recovered, err := book.Recover(t.Context())
			if err != nil || len(recovered) != 1 {
				t.Fatalf("recover: %v, %v", recovered, err)
			}
			equal(t, "sealed", !c.waits, recovered[0].Sealed)
			for _, l := range left(t, book) {
				equal(t, "waits", true, c.waits)
				l.Remember(turn.MemoryOps{Op: "remember", Contact: "ana"}, memory.Writing{Contact: "ana"})
				l.Seal()
			}
			lastAttempt(t, book)
			page := stored(t, store, "c")
			if n := len(page.Entries); !page.Sealed || page.Entries[n-1].Type != "call.summary" {
				t.Fatalf("log: %v, sealed %v", types(page.Entries), page.Sealed)
			}
		})
	}
}

// left is what Left hands out now.
func left(t *testing.T, book *calllog.Book) (logs []*calllog.Log) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for l := range book.Left(ctx) {
		logs = append(logs, l)
	}
	return logs
}

// A store that answers late lets the calls be remembered when it does; a start
// that dies before that leaves them to the next.
func TestLeftCallsOfALateStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, store := t.TempDir(), &calllogtest.Store{}
		deadCall(t, dir, turn.CallStarted{Contact: &memory.Contact{ID: "ana"}}, turn.TurnUser{Text: "soy alérgica"})
		store.Slow(time.Hour)
		cfg := calllog.Config{Dir: dir, Remembers: func(string) bool { return true }}
		for range 2 { // dies, having ended the call or not
			book := openBook(t, cfg, store, zap.NewNop())
			if _, err := book.Recover(t.Context()); err != nil {
				t.Fatalf("recover: %v", err)
			}
			equal(t, "left while the store is away", 0, len(left(t, book)))
			closeBook(t, book)
		}
		book := openBook(t, cfg, store, zap.NewNop())
		if _, err := book.Recover(t.Context()); err != nil {
			t.Fatalf("recover: %v", err)
		}
		end := runBook(t, book)
		store.Slow(0)
		for l := range book.Left(t.Context()) {
			l.Seal()
			break
		}
		time.Sleep(time.Second)
		end()
		equal(t, "stored", []string{"call.started", "turn.user", "call.ended", "call.summary"}, types(stored(t, store, "c").Entries))
	})
}
