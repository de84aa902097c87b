package calllog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

// followed checks what a follower got against the whole log: every durable
// entry above after, in order, once.
func followed(t *testing.T, who string, after int64, whole, got []turn.Entry) {
	t.Helper()
	last := after
	for _, entry := range got {
		if entry.Seq <= last {
			t.Fatalf("%s: seq %d after %d", who, entry.Seq, last)
		}
		last = entry.Seq
	}
	var want []turn.Entry
	for _, entry := range whole {
		if entry.Seq > after {
			want = append(want, entry)
		}
	}
	equal(t, who, want, durable(got))
}

// Followers of every kind come before, amid and after the writing, while
// batches go to the store and the window moves on.
func TestFollowHasNoGapAndNoRepeat(t *testing.T) {
	t.Parallel()
	for _, window := range []int{1, 16, 4096} {
		t.Run(fmt.Sprint("window ", window), func(t *testing.T) {
			t.Parallel()
			store := &calllogtest.Store{}
			book := openBook(t, calllog.Config{Dir: t.TempDir(), Window: window, FlushEvery: time.Millisecond, Batch: 32}, store, zap.NewNop())
			end := runBook(t, book)
			log := begin(t, book, "c")
			const writers, each, followers = 8, 200, 8
			got, afters := make([][]turn.Entry, followers), make([]int64, followers)
			var writing, following sync.WaitGroup
			for w := range writers {
				writing.Go(func() {
					random := rand.New(rand.NewPCG(2, uint64(w)))
					for i := range each {
						log.Append(someEvent(random, i))
					}
				})
			}
			errs := make(chan error, followers)
			for f := range followers {
				afters[f] = int64(f * 97)
				following.Go(func() {
					for entry, err := range book.Follow(t.Context(), "c", afters[f]) {
						if err != nil {
							errs <- err
							return
						}
						got[f] = append(got[f], entry)
					}
				})
			}
			writing.Wait()
			log.Seal()
			following.Wait()
			end()
			close(errs)
			for err := range errs {
				t.Fatalf("follow: %v", err)
			}
			whole := stored(t, store, "c").Entries
			for f := range followers {
				followed(t, fmt.Sprint("follower ", f), afters[f], whole, got[f])
			}
		})
	}
}

// A follower that is fast sees ephemeral entries too, the moment they are
// written; a slow one misses only those, and holds nobody up.
func TestFollowFastAndSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book := openBook(t, calllog.Config{Dir: t.TempDir(), Window: 4}, &calllogtest.Store{}, zap.NewNop())
		end := runBook(t, book)
		var fast, slow []turn.Entry
		var group sync.WaitGroup
		group.Go(func() { // comes before the call begins
			for entry, err := range book.Follow(t.Context(), "c", 0) {
				if err != nil {
					t.Errorf("follow: %v", err)
				}
				fast = append(fast, entry)
				if age := time.Since(entry.Time); entry.Seq > 1 && age >= time.Millisecond {
					t.Errorf("entry %d came after %s", entry.Seq, age)
				}
			}
		})
		synctest.Wait()
		log := begin(t, book, "c")
		log.Append(turn.TurnUser{Text: "hola"})
		time.Sleep(time.Second) // the first look at a log that was not there
		group.Go(func() {
			for entry, err := range book.Follow(t.Context(), "c", 0) {
				if err != nil {
					t.Errorf("follow: %v", err)
				}
				slow = append(slow, entry)
				time.Sleep(3 * time.Second)
			}
		})
		began := time.Now()
		for range 100 {
			log.Append(turn.VAD{})
			log.Append(turn.DTMF{Digit: "1"})
			time.Sleep(10 * time.Millisecond)
		}
		log.Seal()
		equal(t, "time of the writing", time.Second, time.Since(began))
		whole := append(read(t, book, "c")[:0:0], durable(read(t, book, "c"))...)
		group.Wait()
		end()
		equal(t, "entries of the fast follower", 203, len(fast))
		followed(t, "fast", 0, durable(whole), fast)
		followed(t, "slow", 0, durable(whole), slow)
		if len(slow) >= len(fast) {
			t.Fatalf("the slow follower missed nothing: the test tests nothing")
		}
	})
}

// A log that another process writes is followed in the store.
func TestFollowAnothersLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &calllogtest.Store{}
		writer := openBook(t, calllog.Config{Dir: t.TempDir()}, store, zap.NewNop())
		reader := calllog.NewReader(store)
		end := runBook(t, writer)
		var got []turn.Entry
		var group sync.WaitGroup
		group.Go(func() {
			for entry, err := range reader.Follow(t.Context(), "c", 1) {
				if err != nil {
					t.Errorf("follow: %v", err)
				}
				got = append(got, entry)
				if age := time.Since(entry.Time).Round(time.Millisecond); age > 700*time.Millisecond {
					t.Errorf("entry %d came after %s", entry.Seq, age)
				}
			}
		})
		log := begin(t, writer, "c")
		for range 30 {
			log.Append(turn.DTMF{Digit: "1"})
			time.Sleep(70 * time.Millisecond)
		}
		log.Seal()
		group.Wait()
		end()
		followed(t, "reader", 1, stored(t, store, "c").Entries, got)
		for range reader.Follow(t.Context(), "c", 32) {
			t.Fatalf("a sealed log has something after its end")
		}
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book := openBook(t, calllog.Config{Dir: t.TempDir()}, &calllogtest.Store{}, zap.NewNop())
		begin(t, book, "c")
		gone := errors.New("reader went away")
		for _, log := range []string{"c", "nobody"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { cancel(gone) })
			for _, err := range book.Follow(ctx, log, 0) {
				if !errors.Is(err, gone) {
					t.Fatalf("follow %s: %v, want %v", log, err, gone)
				}
			}
		}
	})
}
