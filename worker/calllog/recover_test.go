package calllog_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

// deadCall leaves a spool as a killed process does, and returns its file and
// what it held.
func deadCall(t *testing.T, dir string, events ...turn.Event) (string, []turn.Entry) {
	t.Helper()
	store := &calllogtest.Store{}
	store.Fail(errAway)
	book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
	log := begin(t, book, "c")
	for _, event := range events {
		log.Append(event)
	}
	all := read(t, book, "c")
	closeBook(t, book)
	files, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil || len(files) != 1 {
		t.Fatalf("spools: %v, %v", files, err)
	}
	return files[0], all
}

// A spool cut at any byte keeps every whole entry, and the log is closed behind them.
func TestTornTail(t *testing.T) {
	t.Parallel()
	file, all := deadCall(t, t.TempDir(), turn.TurnUser{Text: "¿qué tal?\n"}, turn.VAD{}, turn.DTMF{Digit: "1"}, turn.VAD{}, turn.TurnAgent{Text: "bien"})
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read spool: %v", err)
	}
	headed := bytes.IndexByte(whole, '\n') + 1
	for cut := range len(whole) + 1 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), whole[:cut], 0o600); err != nil {
			t.Fatalf("write spool: %v", err)
		}
		store := &calllogtest.Store{}
		book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
		recovered, err := book.Recover(t.Context())
		if cut < headed {
			if err == nil || len(recovered) != 0 {
				t.Fatalf("cut at %d, in the header: %v, %v", cut, recovered, err)
			}
			continue
		}
		lines := bytes.Count(whole[headed:cut], []byte{'\n'})
		want := durable(all[:lines])
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		equal(t, fmt.Sprintf("cut at %d", cut), []calllog.Recovered{{Org: "default", Call: "c", Agent: "clinica", Entries: len(want), Sealed: true}}, recovered)
		lastAttempt(t, book)
		page := stored(t, store, "c")
		if n := len(page.Entries); n != len(want)+2 || page.Highest != int64(lines+2) || page.Entries[n-2].Seq != int64(lines+1) {
			t.Fatalf("cut at %d: %d entries to %d, want %d to %d", cut, n, page.Highest, len(want)+2, lines+2)
		}
		equal(t, fmt.Sprintf("entries before the cut at %d", cut), want, durable(page.Entries[:len(want)]))
		equal(t, "end", []string{"call.ended", "call.summary"}, types(page.Entries[len(want):]))
	}
}

// A damaged line costs itself alone.
func TestDamagedLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, all := deadCall(t, dir, turn.DTMF{Digit: "1"}, turn.DTMF{Digit: "2"}, turn.DTMF{Digit: "3"})
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read spool: %v", err)
	}
	whole[bytes.Index(whole, []byte(`"2"`))+1] = '9'
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatalf("damage spool: %v", err)
	}
	store := &calllogtest.Store{}
	book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
	if _, err := book.Recover(t.Context()); err != nil {
		t.Fatalf("recover: %v", err)
	}
	lastAttempt(t, book)
	page := stored(t, store, "c")
	equal(t, "entries", []turn.Entry{all[0], all[2]}, page.Entries[:2])
	equal(t, "highest", 5, page.Highest)
}

// A recovery that dies between its own entries is taken up where it stopped.
func TestRecoveryThatDies(t *testing.T) {
	t.Parallel()
	for _, had := range [][]turn.Event{
		{turn.DTMF{Digit: "1"}},
		{turn.DTMF{Digit: "1"}, turn.CallEnded{Reason: "error", EndedBy: "platform"}},
		{turn.DTMF{Digit: "1"}, turn.CallEnded{Reason: "error", EndedBy: "platform"}, turn.CallSummary{}},
	} {
		dir, store := t.TempDir(), &calllogtest.Store{}
		deadCall(t, dir, had...)
		for range 3 { // none of these reaches the store
			book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
			if _, err := book.Recover(t.Context()); err != nil {
				t.Fatalf("recover: %v", err)
			}
			closeBook(t, book)
		}
		book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
		if _, err := book.Recover(t.Context()); err != nil {
			t.Fatalf("recover: %v", err)
		}
		lastAttempt(t, book)
		page := stored(t, store, "c")
		equal(t, "stored", []string{"dtmf", "call.ended", "call.summary"}, types(page.Entries))
		call, err := store.Call(t.Context(), calllog.DefaultOrg, "c")
		if err != nil || call.Reason != "error" || !call.Sealed {
			t.Fatalf("call: %+v, %v", call, err)
		}
		equal(t, "book", calllog.Stats{}, book.Stats())
	}
}

// A store that does not answer holds a start up for two seconds; Run closes the
// log when it does.
func TestRecoverWithoutStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, store := t.TempDir(), &calllogtest.Store{}
		deadCall(t, dir, turn.DTMF{Digit: "1"})
		store.Slow(time.Hour)
		book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
		began := time.Now()
		recovered, err := book.Recover(t.Context())
		if err != nil {
			t.Fatalf("recover: %v", err)
		}
		equal(t, "time that the start waited", 2*time.Second, time.Since(began))
		equal(t, "recovered", []calllog.Recovered{{Org: "default", Call: "c", Agent: "clinica", Entries: 1}}, recovered)
		end := runBook(t, book)
		store.Slow(0)
		time.Sleep(time.Second)
		end()
		equal(t, "stored", []string{"dtmf", "call.ended", "call.summary"}, types(stored(t, store, "c").Entries))
	})
}

// An agent's log goes on over processes, after what the store or a spool holds.
func TestAgentLogGoesOn(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), &calllogtest.Store{}
	for round := range 4 {
		book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
		if round == 3 { // the others take the spool over in BeginAgent
			if _, err := book.Recover(t.Context()); err != nil {
				t.Fatalf("recover: %v", err)
			}
		}
		log, err := book.BeginAgent(t.Context(), "clinica")
		if err != nil {
			t.Fatalf("begin: %v", err)
		}
		again, err := book.BeginAgent(t.Context(), "clinica")
		if err != nil || again != log {
			t.Fatalf("begin again: %p, want %p, %v", again, log, err)
		}
		log.Seal() // an agent's log has no end
		log.Append(oddEvent{fmt.Sprint("round.", round)})
		if round%2 == 0 {
			lastAttempt(t, book)
		}
		closeBook(t, book)
	}
	book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
	if _, err := book.Recover(t.Context()); err != nil {
		t.Fatalf("recover: %v", err)
	}
	lastAttempt(t, book)
	page := stored(t, store, "@clinica")
	equal(t, "stored", []string{"round.0", "round.1", "round.2", "round.3"}, types(page.Entries))
	equal(t, "highest", 4, page.Highest)
	if page.Sealed || page.Entries[0].Call != "" {
		t.Fatalf("page %+v", page)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Fatalf("spools left: %v, %v", left, err)
	}
}

func TestAgentLogNeedsStore(t *testing.T) {
	t.Parallel()
	store := &calllogtest.Store{}
	store.Fail(errAway)
	book := openBook(t, calllog.Config{Dir: t.TempDir()}, store, zap.NewNop())
	if _, err := book.BeginAgent(t.Context(), "clinica"); !errors.Is(err, errAway) {
		t.Fatalf("begin without a store: %v, want %v", err, errAway)
	}
	store.Fail(nil)
	if _, err := book.BeginAgent(t.Context(), "clinica"); err != nil {
		t.Fatalf("begin with the store back: %v", err)
	}
}

// Spools of another org go to that org, and names that never became spools are
// swept when they are old.
func TestRecoverSweepsAndKeepsOrgs(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), &calllogtest.Store{}
	theirs := openBook(t, calllog.Config{Dir: dir, Org: "other"}, store, zap.NewNop())
	begin(t, theirs, "c").Append(turn.DTMF{Digit: "1"})
	closeBook(t, theirs)
	old, young := filepath.Join(dir, "a.spool.0.fresh"), filepath.Join(dir, "b.spool.0.fresh")
	for _, file := range []string{old, young} {
		if err := os.WriteFile(file, []byte("00"), 0o600); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatalf("age: %v", err)
	}
	book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
	mine := begin(t, book, "c") // the same id in this org
	recovered, err := book.Recover(t.Context())
	if err != nil {
		t.Fatalf("recover: %v", err)
	}
	equal(t, "recovered", []calllog.Recovered{{Org: "other", Call: "c", Agent: "clinica", Entries: 1, Sealed: true}}, recovered)
	mine.Append(turn.TurnUser{Text: "mine"})
	live := book.Live()
	if len(live) != 2 || live[0].Org != "default" || live[0].Sealed || live[1].Org != "other" || live[1].Reason != "error" {
		t.Fatalf("live calls: %+v", live)
	}
	lastAttempt(t, book)
	page, err := store.Entries(t.Context(), "other", "c", 0, 10)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	equal(t, "other org", []string{"dtmf", "call.ended", "call.summary"}, types(page.Entries))
	equal(t, "this org", []string{"turn.user"}, types(stored(t, store, mine.Name()).Entries))
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("old nameless spool is there still: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Fatalf("young nameless spool is gone: %v", err)
	}
}
