// Package encodertest gives a test a real sentence encoder behind OpenAI's
// embeddings: the small English one, of 512 dimensions, that stands with the
// shared files and runs on Node.
//
// It owns where the encoder comes from (tools/embedder in the folder that
// HEADSTART_SHARED names, installed once by npm into the user's cache), when its
// process starts and ends, and the vectors that it gave before: they are kept in
// the cache too, by the encoder's own files and the SHA-256 of the text, so that a
// text costs its 10 to 100 ms once a machine. It never makes a vector up and never
// writes to the shared files.
//
// Where the shared files, node or npm are missing a test skips with the reason,
// and fails when CI=true. An encoder that is there and does not install, start or
// answer is always a failure, with the last of what it wrote.
package encodertest

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/retrieval"
	"headstart/retrieval/embed/openai"
)

const (
	// beginWithin bounds what comes before a test's own time: npm on a slow line, and
	// the start of a process that a busy machine hardly runs.
	beginWithin = 5 * time.Minute
	// embedWithin bounds one request with documents, which the encoder takes its time
	// for: a batch of passages is some seconds on an idle core.
	embedWithin = 5 * time.Minute
	// inputs are the texts of one request.
	inputs = 32
)

// Dim is the length of the encoder's vectors.
const Dim = 512

// shared is the encoder of this test binary, alive while a test uses it.
var shared struct {
	mu      sync.Mutex // guards all below: tests start and end side by side
	encoder *encoder
	before  *cached
	front   *httptest.Server
	users   int
}

// URL is the base URL of the encoder of this test binary, which answers from the
// cache what it has answered before. It ends with the last test that uses it.
func URL(t testing.TB) string {
	t.Helper()
	at := find(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.encoder == nil {
		shared.encoder = run(t, at, 0)
		shared.before = &cached{folder: at.vectors, encoder: shared.encoder.url}
		shared.front = httptest.NewServer(shared.before)
	}
	shared.users++
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Errorf("stop encoder: %v", err)
		}
	})
	return shared.front.URL + "/v1"
}

func release() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return nil
	}
	shared.front.Close()
	shared.before.client.CloseIdleConnections()
	err := shared.encoder.child.End()
	shared.encoder, shared.before, shared.front = nil, nil, nil
	return err
}

// Slow is the base URL of an encoder of the test's own, which waits before each
// answer and whose answers are kept nowhere.
func Slow(t testing.TB, delay time.Duration) string {
	t.Helper()
	e := run(t, find(t), delay)
	t.Cleanup(func() {
		if err := e.child.End(); err != nil {
			t.Errorf("stop encoder: %v", err)
		}
	})
	return e.url + "/v1"
}

// Open is the encoder as the product asks it, but patient with questions too: it
// measures what a search finds, and a question that a busy machine answers late
// would be a search by half. Its turn's budget is no matter of such a test.
func Open(t testing.TB) retrieval.Embedder {
	t.Helper()
	e, err := openai.Open(t.Context(), openai.Config{BaseURL: URL(t), Model: "encoder", Dim: Dim, Inputs: inputs, Timeout: embedWithin}, zap.NewNop())
	if err != nil {
		t.Fatalf("open encoder: %v", err)
	}
	t.Cleanup(e.Close)
	return patient{e}
}

// patient has no EmbedQuery: a question is asked as a document is, with its deadline.
type patient struct{ retrieval.Embedder }

// find returns the encoder installed, which it does where it was not.
func find(t testing.TB) installed {
	t.Helper()
	root := os.Getenv("HEADSTART_SHARED")
	if root == "" {
		missing(t, errors.New("HEADSTART_SHARED is unset: needs the encoder in its tools/embedder"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), beginWithin)
	defer cancel()
	at, err := install(ctx, filepath.Join(root, "tools", "embedder"), t.Logf)
	if errors.Is(err, errMissing) {
		missing(t, err)
	}
	if err != nil {
		t.Fatalf("install encoder: %v", err)
	}
	return at
}

func run(t testing.TB, at installed, delay time.Duration) *encoder {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), beginWithin)
	defer cancel()
	e, err := start(ctx, at, delay)
	if err != nil {
		t.Fatalf("start encoder: %v", err)
	}
	return e
}

func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("no encoder, and CI=true: %v", err)
	}
	t.Skipf("no encoder: %v", err)
}
