package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/store/sqlite"
	"headstart/store/storetest"
	"headstart/turn"
	"headstart/worker/calllog"
)

// A call is written while the database is locked, then while it is full: the
// call does not notice, and the log is whole when the database is well again.
func TestCallOverSickDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "headstart.db")
	db, raw := open(t, path), rawOpen(t, path)
	book, err := calllog.Open(calllog.Config{Dir: t.TempDir(), FlushEvery: time.Millisecond, MaxBackoff: 10 * time.Millisecond}, db, zap.NewNop())
	if err != nil {
		t.Fatalf("open book: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- book.Run(ctx) }()

	if _, err := raw.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		t.Fatalf("lock: %v", err)
	}
	log, err := book.Begin("c", "clinica")
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	say(log, 500)
	storetest.AwaitFailures(t, book, 1)
	if err := db.LimitPages(ctx, 1); err != nil { // as many as there are: no room for more
		t.Fatalf("fill: %v", err)
	}
	if _, err := raw.ExecContext(ctx, `ROLLBACK`); err != nil {
		t.Fatalf("unlock: %v", err)
	}
	say(log, 500)
	storetest.AwaitFailures(t, book, book.Stats().StoreFailures+2)
	if err := db.LimitPages(ctx, 1<<20); err != nil {
		t.Fatalf("make room: %v", err)
	}
	log.Seal()
	for range book.Follow(ctx, "c", 0) {
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatalf("run: %v", err)
	}
	page, err := db.Entries(t.Context(), calllog.DefaultOrg, "c", 0, 2000)
	if err != nil || len(page.Entries) != 1002 || page.Highest != 1002 || !page.Sealed {
		t.Fatalf("stored %d entries to %d, sealed %v, %v", len(page.Entries), page.Highest, page.Sealed, err)
	}
	if err := book.Close(); err != nil {
		t.Fatalf("close book: %v", err)
	}
}

func say(log *calllog.Log, times int) {
	for range times {
		log.Append(turn.TurnUser{Text: "quería cambiar la cita del martes"})
	}
}

// BenchmarkAppend is one batch of 256 entries, synced to the disk.
func BenchmarkAppend(b *testing.B) {
	b.ReportAllocs()
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "headstart.db"))
	if err != nil {
		b.Fatalf("open: %v", err)
	}
	batch := calllog.Batch{Org: "o", Entries: make([]turn.Entry, 256)}
	seq := int64(0)
	for b.Loop() {
		for i := range batch.Entries {
			seq++
			batch.Entries[i] = turn.Entry{Seq: seq, Time: time.UnixMicro(seq), Call: "c", Agent: "clinica", Type: "turn.user",
				Data: []byte(`{"speech_id":"sp_1","text":"quería cambiar la cita del martes por la tarde","medium":"voice"}`)}
		}
		if err := db.Append(b.Context(), batch); err != nil {
			b.Fatalf("append: %v", err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatalf("close: %v", err)
	}
}
