// Package postgrestest gives a test a real PostgreSQL with pgvector and
// pg_textsearch.
//
// It owns where the server comes from, when it starts and when it ends. The
// variable HEADSTART_TEST_POSTGRES names one that runs already, by a URL whose
// user may make databases. Without it the package runs one of its own on
// loopback, from a folder of Debian's packages that it fetches once and keeps
// in the user's cache: PostgreSQL 18 as the next Debian has it, in a chroot, as
// that folder's user "postgres". This takes Linux, root, and mmdebstrap the
// first time.
//
// It never touches a database that it did not make. Where no server can be had
// a test skips with the reason, and fails when CI=true. A server that was found
// and does not start is always a failure.
package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	fetchWithin = 10 * time.Minute // the packages, on a slow line
	askWithin   = time.Minute      // one statement, on a busy machine
)

// shared is the server of this test binary, alive while somebody uses it.
var shared struct {
	mu     sync.Mutex // guards all below: tests start and end side by side
	server *server    // nil when HEADSTART_TEST_POSTGRES names one
	url    string
	users  int
}

// suite is the tests of a binary, as goleak.VerifyTestMain takes them.
type suite struct{ m *testing.M }

// Main keeps the server, once a test has started it, until all tests of the
// binary are done, and ends it before the leak check:
// goleak.VerifyTestMain(postgrestest.Main(m)).
func Main(m *testing.M) interface{ Run() int } { return suite{m} }

// Run implements goleak.TestingM.
func (s suite) Run() int {
	shared.mu.Lock()
	shared.users++
	shared.mu.Unlock()
	code := s.m.Run()
	if err := errors.Join(dropTemplates(), release()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Database makes an empty database for the test, without tables and without
// extensions, and returns its URL. It is dropped when the test ends, whoever is
// still connected.
func Database(t testing.TB) string {
	t.Helper()
	return copyOf(t, start(t), "template1")
}

// templates are databases that tests copy, one for each way to fill one.
var templates struct {
	mu    sync.Mutex // guards all below, and held while one is filled
	names map[string]string
}

// Filled is a Database that was filled before it is handed out: once a test
// binary for each name, and copied from then on.
func Filled(t testing.TB, name string, fill func(ctx context.Context, url string) error) string {
	t.Helper()
	server := start(t)
	templates.mu.Lock()
	template, ok := templates.names[server+" "+name]
	if !ok {
		template = "headstart_template_" + strings.ToLower(rand.Text()[:12])
		execute(t, server, "CREATE DATABASE "+template)
		if err := fill(t.Context(), within(t, server, template)); err != nil {
			templates.mu.Unlock()
			t.Fatalf("fill %s: %v", name, err)
		}
		if templates.names == nil {
			templates.names = make(map[string]string)
		}
		templates.names[server+" "+name] = template
	}
	templates.mu.Unlock()
	return copyOf(t, server, template)
}

// Copy makes a database with all that another of this server holds, as a backup
// would have it, and returns its URL. Nobody may be connected to the other. It is
// dropped when the test ends.
func Copy(t testing.TB, database string) string {
	t.Helper()
	address, err := url.Parse(database)
	if err != nil {
		t.Fatalf("read postgres url: %v", err)
	}
	return copyOf(t, start(t), strings.TrimPrefix(address.Path, "/"))
}

// dropTemplates takes away what was left on a server that is not ours; ours goes
// with all it has.
func dropTemplates() error {
	templates.mu.Lock()
	defer templates.mu.Unlock()
	own := os.Getenv("HEADSTART_TEST_POSTGRES")
	if own == "" || len(templates.names) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	conn, err := pgx.Connect(ctx, own)
	if err != nil {
		return fmt.Errorf("drop templates: %w", err)
	}
	defer conn.Close(ctx)
	for _, name := range templates.names {
		if _, err := conn.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("drop template: %w", err)
		}
	}
	return nil
}

func copyOf(t testing.TB, server, template string) string {
	t.Helper()
	name := "headstart_test_" + strings.ToLower(rand.Text()[:12])
	execute(t, server, "CREATE DATABASE "+name+" TEMPLATE "+template)
	t.Cleanup(func() { execute(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	return within(t, server, name)
}

// within is the URL of a database of a server.
func within(t testing.TB, server, name string) string {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatalf("read postgres url: %v", err)
	}
	address.Path = "/" + name
	return address.String()
}

// start returns the URL of the server, which a first test starts.
func start(t testing.TB) string {
	t.Helper()
	if own := os.Getenv("HEADSTART_TEST_POSTGRES"); own != "" {
		return own
	}
	ctx, cancel := context.WithTimeout(t.Context(), fetchWithin)
	defer cancel()
	folder, err := findRoot(ctx, func(line string) { t.Log(line) })
	if err != nil {
		missing(t, err)
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		if shared.server, err = run(ctx, folder); err != nil {
			t.Fatalf("start postgres: %v", err)
		}
	}
	shared.users++
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	return shared.server.url
}

func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("no PostgreSQL, and CI=true: %v", err)
	}
	t.Skipf("no PostgreSQL: %v; HEADSTART_TEST_POSTGRES may name one", err)
}

// release ends the server with its last user.
func release() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.users--
	if shared.users > 0 || shared.server == nil {
		return nil
	}
	err := shared.server.stop()
	shared.server = nil
	if err != nil {
		return fmt.Errorf("stop postgres: %w", err)
	}
	return nil
}

func execute(t testing.TB, server, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), askWithin) // a test's end drops its database
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connect to postgres: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
