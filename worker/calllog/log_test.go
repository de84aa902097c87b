package calllog_test

import (
	"math"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"headstart/turn"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

type oddEvent struct{ kind string }

func (e oddEvent) EventType() string { return e.kind }

type panickyEvent struct{}

func (*panickyEvent) EventType() string            { return "panicky" }
func (*panickyEvent) MarshalJSON() ([]byte, error) { panic("no") }

// Whatever is appended takes a seq, if only as an error entry.
func TestOddEventsBecomeErrors(t *testing.T) {
	t.Parallel()
	store := &calllogtest.Store{}
	book := openBook(t, calllog.Config{Dir: t.TempDir()}, store, zap.NewNop())
	log := begin(t, book, "c")
	odd := []turn.Event{nil, (*turn.VAD)(nil), turn.VAD{AtMS: math.NaN()}, oddEvent{""}, oddEvent{"two words"}, oddEvent{"line\nfeed"}, &panickyEvent{}}
	for _, event := range odd {
		log.Append(event)
	}
	log.Append(oddEvent{"of.tomorrow"})
	all := read(t, book, "c")
	for i, entry := range all[:len(odd)] {
		if entry.Seq != int64(i+1) || entry.Type != "error" || !strings.Contains(string(entry.Data), "entry_unwritten") {
			t.Fatalf("entry of odd event %d: %+v, %s", i, entry, entry.Data)
		}
	}
	equal(t, "type that nobody knows", "of.tomorrow", all[len(odd)].Type)
	lastAttempt(t, book)
	equal(t, "stored", all, stored(t, store, "c").Entries)
}

// Nothing is written after the seal, by whatever way it came.
func TestSeal(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.ErrorLevel)
	store := &calllogtest.Store{}
	book := openBook(t, calllog.Config{Dir: t.TempDir()}, store, zap.New(core))
	log := begin(t, book, "c")
	log.Append(turn.TurnUser{Text: "hola"})
	log.Append(turn.TurnAgent{Text: "buenas", Interrupted: true})
	log.Append(turn.DocsSources{Sources: []turn.DocSource{}})
	log.Append(turn.Failure{Code: turn.CodeRecallSkipped})
	log.Append(turn.Failure{Code: turn.CodePanic})
	var group sync.WaitGroup
	for range 10 {
		group.Go(log.Seal)
	}
	group.Wait()
	for range 3 {
		log.Append(turn.DTMF{Digit: "1"})
	}
	lastAttempt(t, book)
	log.Append(turn.DTMF{Digit: "1"})
	log.Seal()
	page := stored(t, store, "c")
	equal(t, "stored", []string{"turn.user", "turn.agent", "docs.sources", "error", "error", "call.ended", "call.summary"}, types(page.Entries))
	if !page.Sealed || !log.Sealed() {
		t.Fatalf("sealed: store %v, log %v", page.Sealed, log.Sealed())
	}
	last := string(page.Entries[6].Data)
	for _, part := range []string{`"turns":1`, `"answered":1`, `"interrupted":1`, `"lookups":1`, `"skipped":1`, `"errors":1`} {
		if !strings.Contains(last, part) {
			t.Fatalf("summary %s lacks %s", last, part)
		}
	}
	equal(t, "refused", 4, book.Stats().Refused)
	equal(t, "complaints", 1, logs.Len())
}

// The owner's own summary seals, and Seal has nothing to add.
func TestSummarySeals(t *testing.T) {
	t.Parallel()
	store := &calllogtest.Store{}
	book := openBook(t, calllog.Config{Dir: t.TempDir()}, store, zap.NewNop())
	log := begin(t, book, "c")
	log.Append(turn.CallEnded{Reason: "agent_hung_up"})
	log.Append(turn.CallSummary{})
	log.Seal()
	lastAttempt(t, book)
	equal(t, "stored", []string{"call.ended", "call.summary"}, types(stored(t, store, "c").Entries))
	call, err := store.Call(t.Context(), calllog.DefaultOrg, "c")
	if err != nil || call.Reason != "agent_hung_up" || !call.Sealed || call.Ended.IsZero() {
		t.Fatalf("call: %+v, %v", call, err)
	}
}

// A disk that refuses costs nothing: entries wait in memory, are read and
// shipped from there, and are written when it takes them again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	dir, store := t.TempDir(), &calllogtest.Store{}
	book := openBook(t, calllog.Config{Dir: dir, Window: 2}, store, zap.New(core))
	log := begin(t, book, "c")
	log.Append(turn.DTMF{Digit: "1"})
	mend, err := log.BreakDisk()
	if err != nil {
		t.Fatalf("break disk: %v", err)
	}
	for range 10 {
		log.Append(turn.VAD{})
		log.Append(turn.DTMF{Digit: "2"})
	}
	equal(t, "waiting", 20, book.Stats().Unspooled)
	equal(t, "read", 11, len(durable(read(t, book, "c"))))
	lastAttempt(t, book)
	equal(t, "stored", 11, len(stored(t, store, "c").Entries))
	equal(t, "waiting for the disk though stored", 0, book.Stats().Unspooled)
	log.Append(turn.DTMF{Digit: "3"})
	store.Fail(errAway)
	if err := mend(); err != nil {
		t.Fatalf("mend disk: %v", err)
	}
	lastAttempt(t, book)
	var told []string
	for _, line := range logs.All() {
		told = append(told, line.Message)
	}
	equal(t, "told", []string{"spool is not written, entries wait in memory", "spool is written again", "entries stay in spools for the next start"}, told)
	closeBook(t, book)

	// The next start finds a spool with a hole, and the rest in the store.
	store.Fail(nil)
	next := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
	if _, err := next.Recover(t.Context()); err != nil {
		t.Fatalf("recover: %v", err)
	}
	equal(t, "entries of spool and store", 14, len(read(t, next, "c")))
	lastAttempt(t, next)
	page := stored(t, store, "c")
	equal(t, "stored at last", calllog.Page{Highest: 24, Sealed: true, Entries: page.Entries}, page)
	equal(t, "entries stored at last", 14, len(page.Entries))
}
