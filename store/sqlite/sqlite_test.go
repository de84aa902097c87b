package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"headstart/store/sqlite"
	"headstart/store/storetest"
	"headstart/turn"
	"headstart/worker/calllog"
)

// child makes the test binary play a worker, for the parent to kill.
var child = flag.String("sqlite.child", "", "folder of the worker to play")

func TestMain(m *testing.M) {
	flag.Parse()
	if *child != "" {
		os.Exit(playWorker(*child))
	}
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store { return open(t, filepath.Join(t.TempDir(), "headstart.db")) })
}

func TestMemories(t *testing.T) {
	t.Parallel()
	storetest.Memory(t, func(t *testing.T) storetest.Memories { return open(t, filepath.Join(t.TempDir(), "headstart.db")) })
}

func TestOpenAgainKeepsAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a db?#%.db")
	first, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	entry := turn.Entry{Seq: 1, Time: time.UnixMicro(1), Call: "c", Type: "dtmf", Data: []byte(`{}`)}
	if err := first.Append(t.Context(), calllog.Batch{Org: "o", Entries: []turn.Entry{entry}}); err != nil {
		t.Fatalf("append: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	page, err := open(t, path).Entries(t.Context(), "o", "c", 0, 10)
	if err != nil || page.Highest != 1 {
		t.Fatalf("page after reopening: %+v, %v", page, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("file of that very name: %v", err)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "headstart.db"))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if err := errors.Join(db.Ping(t.Context()), db.Close()); err != nil {
		t.Fatalf("ping: %v", err)
	}
	if err := db.Ping(t.Context()); err == nil {
		t.Fatal("a closed database answers")
	}
}

func TestOpenTogether(t *testing.T) {
	t.Parallel()
	path, ctx := filepath.Join(t.TempDir(), "headstart.db"), t.Context()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			db, err := sqlite.Open(ctx, path)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	group.Wait()
}

func TestOpenRefusesNewer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "headstart.db")
	open(t, path)
	raw := rawOpen(t, path)
	if _, err := raw.ExecContext(t.Context(), `INSERT INTO schema_version VALUES (9999, 'tomorrow', 0)`); err != nil {
		t.Fatalf("mark as newer: %v", err)
	}
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, sqlite.ErrNewer) {
		t.Fatalf("open a newer database: %v, want %v", err, sqlite.ErrNewer)
	}
}

func TestOpenNeedsFolder(t *testing.T) {
	t.Parallel()
	if _, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "missing", "headstart.db")); err == nil {
		t.Fatalf("open in a folder that is not there: no error")
	}
}

func rawOpen(t *testing.T, path string) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatalf("open raw: %v", err)
	}
	raw.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := raw.Close(); err != nil {
			t.Errorf("close raw: %v", err)
		}
	})
	return raw
}

// A writer of another process locks the file: writes fail within their bound,
// reads go on, and nothing is lost when the same batch is sent again.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "headstart.db")
	db, raw := open(t, path), rawOpen(t, path)
	if _, err := raw.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatalf("lock: %v", err)
	}
	batch := calllog.Batch{Org: "o", Entries: []turn.Entry{{Seq: 1, Time: time.UnixMicro(1), Call: "c", Type: "dtmf", Data: []byte(`{}`)}}}
	if err := db.Append(t.Context(), batch); err == nil {
		t.Fatalf("append to a locked database: no error")
	}
	if page, err := db.Entries(t.Context(), "o", "c", 0, 10); err != nil || page.Highest != 0 {
		t.Fatalf("read a locked database: %+v, %v", page, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Append(cancelled, batch); !errors.Is(err, context.Canceled) {
		t.Fatalf("append with a context that ended: %v", err)
	}
	if _, err := raw.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatalf("unlock: %v", err)
	}
	if err := db.Append(t.Context(), batch); err != nil {
		t.Fatalf("append after the lock: %v", err)
	}
}

// A full database: SQLite's own limit on pages stands for a full disk.
func TestFullDatabase(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "headstart.db"))
	if err := db.LimitPages(t.Context(), 40); err != nil {
		t.Fatalf("limit pages: %v", err)
	}
	big := turn.Entry{Seq: 1, Time: time.UnixMicro(1), Call: "c", Type: "dtmf", Data: make([]byte, 1<<20)}
	if err := db.Append(t.Context(), calllog.Batch{Org: "o", Entries: []turn.Entry{big}}); err == nil {
		t.Fatalf("append to a full database: no error")
	}
	if err := db.LimitPages(t.Context(), 1<<20); err != nil {
		t.Fatalf("limit pages: %v", err)
	}
	if err := db.Append(t.Context(), calllog.Batch{Org: "o", Entries: []turn.Entry{big}}); err != nil {
		t.Fatalf("append after room was made: %v", err)
	}
}
