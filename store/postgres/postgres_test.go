package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"headstart/store/postgres"
	"headstart/store/postgres/postgrestest"
	"headstart/store/storetest"
	"headstart/turn"
	"headstart/worker/calllog"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store { return open(t, migrated(t)) })
}

// One entry that no database takes as it is, and the others of its batch, land.
func TestAppendCleansText(t *testing.T) {
	t.Parallel()
	db := open(t, migrated(t))
	at := time.UnixMicro(1_760_000_000_123_456)
	texts := []string{`{"text":"a\u0000b"}`, "{\"text\":\"a\x00b\"}", "{\"text\":\"a\xffb\"}", `{"text":"\ud800"}`, "no JSON", ""}
	var batch calllog.Batch
	for i, text := range texts {
		batch.Entries = append(batch.Entries, turn.Entry{Seq: int64(i + 1), Time: at, Call: "c", Agent: "clinica", Type: "turn.user", Data: json.RawMessage(text)})
	}
	batch.Org = "default"
	for range 2 { // and again
		if err := db.Append(t.Context(), batch); err != nil {
			t.Fatalf("append: %v", err)
		}
	}
	page, err := db.Entries(t.Context(), "default", "c", 0, 10)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	var got []string
	for _, e := range page.Entries {
		got = append(got, string(e.Data))
	}
	texts[1], texts[2] = "{\"text\":\"a\uFFFDb\"}", "{\"text\":\"a\uFFFDb\"}"
	if diff := cmp.Diff(texts, got); diff != "" {
		t.Fatalf("data (-want +got):\n%s", diff)
	}
}

func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	url, ctx := postgrestest.Database(t), t.Context()
	var group sync.WaitGroup
	applied := make(chan int, 4)
	for range 4 {
		group.Go(func() {
			m, err := postgres.Migrate(ctx, url)
			if err != nil {
				t.Errorf("migrate: %v", err)
			}
			applied <- len(m.Applied)
		})
	}
	group.Wait()
	close(applied)
	who := 0
	for n := range applied {
		if n > 0 {
			who++
		}
	}
	if who != 1 {
		t.Fatalf("%d of 4 applied migrations, want 1", who)
	}
	if err := open(t, url).Ping(ctx); err != nil {
		t.Fatalf("ping: %v", err)
	}
}

// Tables of another version are refused by every operation, by name.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, make string
		migrate    bool
		want       error
	}{
		{"empty", "SELECT 1", false, postgres.ErrOlder},
		{"older", "DELETE FROM headstart_schema", true, postgres.ErrOlder},
		{"newer", "INSERT INTO headstart_schema VALUES (9999, 'tomorrow')", true, postgres.ErrNewer},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.Database(t)
			if c.migrate {
				if _, err := postgres.Migrate(t.Context(), url); err != nil {
					t.Fatalf("migrate: %v", err)
				}
			}
			raw(t, url, c.make)
			db := open(t, url)
			if err := db.Ping(t.Context()); !errors.Is(err, c.want) {
				t.Fatalf("ping: %v, want %v", err, c.want)
			}
			if _, err := db.Entries(t.Context(), "o", "c", 0, 1); !errors.Is(err, c.want) {
				t.Fatalf("read: %v, want %v", err, c.want)
			}
		})
	}
	url := migrated(t)
	raw(t, url, "INSERT INTO headstart_schema VALUES (9999, 'tomorrow')")
	if _, err := postgres.Migrate(t.Context(), url); !errors.Is(err, postgres.ErrNewer) {
		t.Fatalf("migrate a newer database: %v, want %v", err, postgres.ErrNewer)
	}
}

func raw(t testing.TB, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// A database that is away is an error of what is asked, and no more; when the
// connections of a living one are cut, the next question connects anew.
func TestAbsentDatabase(t *testing.T) {
	t.Parallel()
	away := open(t, "postgres://nobody:secret@127.0.0.1:1/none?sslmode=disable")
	err := away.Append(t.Context(), calllog.Batch{Org: "o", Calls: []calllog.Call{{ID: "c"}}})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatalf("append to a database that is away: %v", err)
	}
	url := migrated(t)
	db := open(t, url)
	for range 3 {
		if err := db.Ping(t.Context()); err != nil {
			t.Fatalf("ping: %v", err)
		}
		raw(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		// A connection that was idle when it was cut is found out by the one question
		// that it fails.
		if err := db.Ping(t.Context()); err != nil {
			if err := db.Ping(t.Context()); err != nil {
				t.Fatalf("ping after the cut: %v", err)
			}
		}
	}
}

// A statement that is given up ends on the server and leaves its connection to
// others: lookups are given up all the time.
func TestCancelKeepsConnection(t *testing.T) {
	t.Parallel()
	address := parsed(t, migrated(t))
	query := address.Query()
	query.Set("pool_max_conns", "1")
	address.RawQuery = query.Encode()
	db := open(t, address.String())
	for range 20 { // a server that is slow to hear of it loses a connection instead
		before, err := db.Backend(t.Context())
		if err != nil {
			t.Fatalf("ask: %v", err)
		}
		brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err = db.Sleep(brief)
		cancel()
		if err == nil {
			t.Fatal("a minute went by")
		}
		after, err := db.Backend(t.Context())
		if err != nil {
			t.Fatalf("ask again: %v", err)
		}
		if before == after {
			return
		}
	}
	t.Fatal("each statement that was given up took its connection with it")
}

func parsed(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("read url: %v", err)
	}
	return u
}

// A call is written while its database is not there at all: the call does not
// notice, and the log is whole when the database is.
func TestCallOverAbsentDatabase(t *testing.T) {
	t.Parallel()
	at, beside := migrated(t), postgrestest.Database(t)
	name := strings.TrimPrefix(parsed(t, at).Path, "/")
	raw(t, beside, "ALTER DATABASE "+name+" RENAME TO "+name+"_away")
	db := open(t, at)
	cfg := calllog.Config{Dir: t.TempDir(), FlushEvery: time.Millisecond, MaxBackoff: 10 * time.Millisecond, StoreTimeout: time.Minute}
	book, err := calllog.Open(cfg, db, zap.NewNop())
	if err != nil {
		t.Fatalf("open book: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- book.Run(ctx) }()
	log, err := book.Begin("c", "clinica")
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	for range 100 {
		log.Append(turn.TurnUser{Text: "quería cambiar la cita del martes"})
	}
	storetest.AwaitFailures(t, book, 2)
	raw(t, beside, "ALTER DATABASE "+name+"_away RENAME TO "+name)
	log.Seal()
	for range book.Follow(ctx, "c", 0) {
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatalf("run: %v", err)
	}
	page, err := db.Entries(t.Context(), calllog.DefaultOrg, "c", 0, 2000)
	if err != nil || len(page.Entries) != 102 || page.Highest != 102 || !page.Sealed {
		t.Fatalf("stored %d entries to %d, sealed %v, %v", len(page.Entries), page.Highest, page.Sealed, err)
	}
	if err := book.Close(); err != nil {
		t.Fatalf("close book: %v", err)
	}
}

func TestPatience(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url, Patience: time.Nanosecond})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	err = db.Append(t.Context(), calllog.Batch{Org: "o", Calls: []calllog.Call{{ID: "c"}}})
	if err == nil || !strings.Contains(err.Error(), "did not answer within 1ns") {
		t.Fatalf("append: %v", err)
	}
	if errors.Is(err, context.Canceled) {
		t.Fatalf("append: %v, and nobody cancelled", err)
	}
}

func TestOpenRefusesURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "postgres://user:secret@host:notaport/db", "not a url"} {
		_, err := postgres.Open(t.Context(), postgres.Config{URL: url})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Fatalf("open %q: %v", url, err)
		}
	}
}

// BenchmarkAppend is one batch of 256 entries.
func BenchmarkAppend(b *testing.B) {
	b.ReportAllocs()
	db := open(b, migrated(b))
	batch := calllog.Batch{Org: "o", Entries: make([]turn.Entry, 256)}
	seq := int64(0)
	for b.Loop() {
		for i := range batch.Entries {
			seq++
			batch.Entries[i] = turn.Entry{
				Seq: seq, Time: time.UnixMicro(seq), Call: "c", Agent: "clinica", Type: "turn.user",
				Data: json.RawMessage(`{"speech_id":"sp_1","text":"quería cambiar la cita del martes por la tarde","medium":"voice"}`),
			}
		}
		if err := db.Append(b.Context(), batch); err != nil {
			b.Fatalf("append: %v", err)
		}
	}
}
