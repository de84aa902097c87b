package calllog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"headstart/turn"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errAway = errors.New("store is away")

// openBook opens a book that the test closes.
func openBook(t *testing.T, cfg calllog.Config, store calllog.Store, logger *zap.Logger) *calllog.Book {
	t.Helper()
	book, err := calllog.Open(cfg, store, logger)
	if err != nil {
		t.Fatalf("open book: %v", err)
	}
	t.Cleanup(func() { closeBook(t, book) })
	return book
}

func closeBook(t *testing.T, book *calllog.Book) {
	t.Helper()
	if err := book.Close(); err != nil {
		t.Errorf("close book: %v", err)
	}
}

func begin(t *testing.T, book *calllog.Book, call string) *calllog.Log {
	t.Helper()
	log, err := book.Begin(call, "clinica")
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	return log
}

// runBook runs the book until the returned function ends it and waits for it.
func runBook(t *testing.T, book *calllog.Book) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- book.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Fatalf("run: %v", err)
		}
	}
}

// lastAttempt ships what there is, as a process does that ends.
func lastAttempt(t *testing.T, book *calllog.Book) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := book.Run(ctx); err != nil {
		t.Fatalf("run: %v", err)
	}
}

func stored(t *testing.T, store calllog.Store, log string) calllog.Page {
	t.Helper()
	page, err := store.Entries(t.Context(), calllog.DefaultOrg, log, 0, math.MaxInt32)
	if err != nil {
		t.Fatalf("read store: %v", err)
	}
	return page
}

func read(t *testing.T, book *calllog.Book, log string) []turn.Entry {
	t.Helper()
	page, err := book.Read(t.Context(), log, 0, math.MaxInt32)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return page.Entries
}

func durable(entries []turn.Entry) []turn.Entry {
	var kept []turn.Entry
	for _, entry := range entries {
		if !entry.Ephemeral {
			kept = append(kept, entry)
		}
	}
	return kept
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func types(entries []turn.Entry) []string {
	var list []string
	for _, entry := range entries {
		list = append(list, entry.Type)
	}
	return list
}

// someEvent is any event of a call but its last.
func someEvent(random *rand.Rand, id int) turn.Event {
	switch random.IntN(4) {
	case 0:
		return turn.VAD{Speaking: true, AtMS: float64(id)}
	case 1:
		return turn.AgentTranscript{Delta: fmt.Sprint("d", id)}
	case 2:
		return turn.TurnUser{Text: fmt.Sprint("t", id)}
	default:
		return turn.DTMF{Digit: fmt.Sprint(id)}
	}
}

// A hundred writers at once: seqs are 1..n without a gap, each event has one,
// and the store holds the durable ones and no others, in that order.
func TestSeqsHaveNoGap(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{0, 5 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const writers, each = 100, 50
				store := &calllogtest.Store{}
				store.Slow(delay)
				book := openBook(t, calllog.Config{Dir: t.TempDir(), Window: writers*each + 2}, store, zap.NewNop())
				end := runBook(t, book)
				log := begin(t, book, "c")
				var group sync.WaitGroup
				for w := range writers {
					group.Go(func() {
						random := rand.New(rand.NewPCG(1, uint64(w)))
						for i := range each {
							log.Append(someEvent(random, w*each+i))
							if random.IntN(10) == 0 {
								time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
							}
						}
					})
				}
				group.Wait()
				log.Append(turn.CallEnded{Reason: "caller_hung_up"})
				log.Append(turn.CallSummary{})
				all := read(t, book, "c")
				seen := map[string]bool{}
				for i, entry := range all {
					if entry.Seq != int64(i+1) {
						t.Fatalf("entry %d has seq %d", i+1, entry.Seq)
					}
					seen[entry.Type+string(entry.Data)] = true
				}
				if want := writers*each + 2; len(all) != want || len(seen) != want {
					t.Fatalf("%d entries, %d of them different, want %d", len(all), len(seen), want)
				}
				for book.Stats().Logs > 0 {
					time.Sleep(time.Second)
				}
				end()
				store.Slow(0)
				equal(t, "store", calllog.Page{Entries: durable(all), Highest: writers*each + 2, Sealed: true}, stored(t, store, "c"))
			})
		})
	}
}

// Five seconds an insert cost the calls nothing, and what they wrote is there
// when the store has caught up.
func TestSlowStoreStopsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &calllogtest.Store{}
		store.Slow(5 * time.Second)
		book := openBook(t, calllog.Config{Dir: t.TempDir(), Window: 16}, store, zap.NewNop())
		end := runBook(t, book)
		began := time.Now()
		for c := range 8 {
			log := begin(t, book, fmt.Sprint("c", c))
			for i := range 200 {
				log.Append(turn.DTMF{Digit: fmt.Sprint(i)})
			}
			log.Append(turn.CallEnded{Reason: "caller_hung_up"})
			log.Append(turn.CallSummary{})
		}
		equal(t, "time that eight calls waited", 0, time.Since(began))
		for book.Stats().Logs > 0 {
			time.Sleep(70 * time.Millisecond)
		}
		// 8 × 202 entries are seven batches of 256, begun after 200 ms; 35.21 s
		// is the first look at or after 35.2 s.
		equal(t, "time until all was stored", 35210*time.Millisecond, time.Since(began))
		end()
		store.Slow(0)
		for c := range 8 {
			page := stored(t, store, fmt.Sprint("c", c))
			if len(page.Entries) != 202 || !page.Sealed {
				t.Fatalf("call %d: %d entries, sealed %v", c, len(page.Entries), page.Sealed)
			}
		}
	})
}

// A store that is away is told once, tried at most ten seconds apart, and gets
// everything when it is back.
func TestStoreComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		store := &calllogtest.Store{}
		store.Fail(errAway)
		book := openBook(t, calllog.Config{Dir: t.TempDir(), Window: 8}, store, zap.New(core))
		end := runBook(t, book)
		log := begin(t, book, "c")
		for i := range 600 {
			log.Append(turn.DTMF{Digit: fmt.Sprint(i)})
			time.Sleep(100 * time.Millisecond)
		}
		log.Seal()
		equal(t, "seqs that wait", 602, book.Stats().Unshipped)
		store.Fail(nil)
		time.Sleep(10*time.Second + time.Millisecond)
		end()
		equal(t, "book", calllog.Stats{StoreFailures: book.Stats().StoreFailures}, book.Stats())
		page := stored(t, store, "c")
		if len(page.Entries) != 602 || !page.Sealed {
			t.Fatalf("%d entries, sealed %v", len(page.Entries), page.Sealed)
		}
		var told []string
		for _, line := range logs.All() {
			told = append(told, line.Message)
		}
		equal(t, "told", []string{"log store refuses, entries wait in spools", "log store is back"}, told)
	})
}

// Run ends within two seconds whatever the store does; the next start has the rest.
func TestLastAttemptIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, store := t.TempDir(), &calllogtest.Store{}
		book := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
		log := begin(t, book, "c")
		log.Append(turn.DTMF{Digit: "1"})
		log.Append(turn.CallEnded{Reason: "drained"})
		log.Append(turn.CallSummary{})
		end := runBook(t, book)
		store.Slow(time.Hour)
		time.Sleep(time.Second)
		began := time.Now()
		end()
		equal(t, "time that the end took", 2*time.Second, time.Since(began))
		closeBook(t, book)
		store.Slow(0)
		next := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
		recovered, err := next.Recover(t.Context())
		if err != nil {
			t.Fatalf("recover: %v", err)
		}
		equal(t, "recovered", []calllog.Recovered{{Org: "default", Call: "c", Agent: "clinica", Entries: 3, Whole: true, Sealed: true}}, recovered)
		lastAttempt(t, next)
		equal(t, "stored", []string{"dtmf", "call.ended", "call.summary"}, types(stored(t, store, "c").Entries))
	})
}

func TestProbeWrites(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	book := openBook(t, calllog.Config{Dir: dir}, &calllogtest.Store{}, zap.NewNop())
	if err := book.Probe(); err != nil {
		t.Fatalf("probe: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Fatalf("the probe left %v, %v", left, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := book.Probe(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("probe of a folder that is gone: %v", err)
	}
}

func TestBeginRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	book := openBook(t, calllog.Config{Dir: dir}, &calllogtest.Store{}, zap.NewNop())
	begin(t, book, "c")
	begin(t, book, "../../etc/passwd")
	for _, call := range []string{"", "@clinica", string(make([]byte, 300))} {
		if _, err := book.Begin(call, "clinica"); err == nil {
			t.Fatalf("begin %q: no error", call)
		}
	}
	if _, err := book.Begin("c", "clinica"); !errors.Is(err, calllog.ErrOpen) {
		t.Fatalf("begin twice: %v, want %v", err, calllog.ErrOpen)
	}
	other := openBook(t, calllog.Config{Dir: dir}, &calllogtest.Store{}, zap.NewNop())
	if recovered, err := other.Recover(t.Context()); err != nil || len(recovered) > 0 {
		t.Fatalf("recover beside a living process: %v, %v", recovered, err)
	}
	if _, err := other.Begin("c", "clinica"); !errors.Is(err, calllog.ErrOpen) {
		t.Fatalf("begin another's: %v, want %v", err, calllog.ErrOpen)
	}
}

// Two processes with folders of their own wrote one call: the second is told
// and keeps its spool, and its other logs go on.
func TestConflictParksOneLog(t *testing.T) {
	t.Parallel()
	store := &calllogtest.Store{}
	first := openBook(t, calllog.Config{Dir: t.TempDir()}, store, zap.NewNop())
	begin(t, first, "c").Append(turn.DTMF{Digit: "1"})
	lastAttempt(t, first)
	core, logs := observer.New(zap.ErrorLevel)
	second := openBook(t, calllog.Config{Dir: t.TempDir()}, store, zap.New(core))
	begin(t, second, "c").Append(turn.TurnUser{Text: "another"})
	begin(t, second, "d").Seal()
	lastAttempt(t, second)
	equal(t, "contested log", []string{"dtmf"}, types(stored(t, store, "c").Entries))
	equal(t, "other log", []string{"call.ended", "call.summary"}, types(stored(t, store, "d").Entries))
	equal(t, "complaints", 1, logs.Len())
	equal(t, "logs kept", 1, second.Stats().Logs)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := (calllog.Config{Dir: "spool"}).Validate(); err != nil {
		t.Fatalf("defaults: %v", err)
	}
	err := calllog.Config{FlushEvery: -1, Batch: -1, Window: -1}.Validate()
	equal(t, "complaints", "spool folder is missing\nflush interval -1ns is negative\nbatch -1 is negative\nwindow -1 is negative", fmt.Sprint(err))
}

// TestARestEndsWithAnEntry: a book whose store has everything does nothing, and ships
// what comes after an hour as soon as what comes after a second.
func TestARestEndsWithAnEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &calllogtest.Store{}
		book := openBook(t, calllog.Config{Dir: t.TempDir()}, store, zap.NewNop())
		end := runBook(t, book)
		defer end()
		log := begin(t, book, "call-1")
		for n, rest := range []time.Duration{0, time.Second, time.Hour} {
			time.Sleep(rest)
			log.Append(turn.UserState{State: "speaking"})
			log.Append(turn.Failure{Code: "x", Recoverable: true})
			time.Sleep(200*time.Millisecond - time.Nanosecond)
			synctest.Wait()
			if got := store.Batches(); got != n {
				t.Fatalf("%d batches before the %d. entry is 200ms old, want %d", got, n+1, n)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if got := store.Batches(); got != n+1 || book.Stats().Unshipped != 0 {
				t.Fatalf("%d batches when the %d. entry is 200ms old, want %d; %d unshipped", got, n+1, n+1, book.Stats().Unshipped)
			}
		}
	})
}
