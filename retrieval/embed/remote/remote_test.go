package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/retrieval/embed/embedtest"
	"headstart/retrieval/embed/remote"
)

var vendor = remote.Vendor{
	Name: "vendor", BaseURL: "https://vendor.example/v1", Dimensions: "dimensions",
	Document: map[string]any{"kind": "document"}, Query: map[string]any{"kind": "query"},
	Inputs: 100, Tokens: 1000, Each: 400,
}

// open makes an embedder of 8 dimensions unless the test says otherwise.
func open(t *testing.T, h http.Handler, change func(*remote.Config)) *remote.Embedder {
	t.Helper()
	cfg := remote.Config{Model: "m", Key: "k", Dim: 8, Transport: embedtest.Transport(h)}
	if change != nil {
		change(&cfg)
	}
	e, err := remote.Open(t.Context(), vendor, cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func fake() *embedtest.Server { return &embedtest.Server{Delay: -1, Dim: 8} }

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// The four tries of a batch are 0.2, 0.5 and 1 s apart; a question has one more.
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	for status, again := range map[int]bool{400: false, 401: false, 404: false, 422: false, 408: true, 409: true, 429: true, 500: true, 503: true} {
		synctest.Test(t, func(t *testing.T) {
			s := fake()
			e := open(t, s, nil)
			s.Fail(embedtest.Faults{Fault: embedtest.Failing, Status: status})
			for _, c := range []struct {
				ask   func() error
				tries int
				took  time.Duration
			}{
				{func() error { _, err := e.Embed(t.Context(), []string{"hola"}); return err }, 4, 1700 * time.Millisecond},
				{func() error { _, err := e.EmbedQuery(t.Context(), "hola"); return err }, 2, 50 * time.Millisecond},
			} {
				if !again {
					c.tries, c.took = 1, 0
				}
				before, began := s.Requests(), time.Now()
				failed, ok := errors.AsType[*remote.Error](c.ask())
				if !ok || failed.Status != status || failed.Retryable() != again || failed.Tries != c.tries {
					t.Fatalf("status %d gave %+v", status, failed)
				}
				if n, took := s.Requests()-before, time.Since(began); n != c.tries || took != c.took {
					t.Fatalf("status %d: %d requests in %v, want %d in %v", status, n, took, c.tries, c.took)
				}
			}
		})
	}
}

func TestFaultsThatPass(t *testing.T) {
	t.Parallel()
	for _, fault := range []embedtest.Fault{embedtest.Refuse, embedtest.Failing, embedtest.Garbage} {
		synctest.Test(t, func(t *testing.T) {
			s := fake()
			e := open(t, s, nil)
			s.Fail(embedtest.Faults{Fault: fault, Times: 3})
			if _, err := e.Embed(t.Context(), []string{"hola"}); err != nil {
				t.Fatalf("after three of %s: %v", fault, err)
			}
			s.Fail(embedtest.Faults{Fault: fault, Times: 1})
			if _, err := e.EmbedQuery(t.Context(), "hola"); err != nil {
				t.Fatalf("after one of %s: %v", fault, err)
			}
		})
	}
}

func TestAServerThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := fake()
		e := open(t, s, nil)
		s.Fail(embedtest.Faults{Fault: embedtest.Hang})
		began := time.Now()
		_, err := e.EmbedQuery(t.Context(), "hola")
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 5*time.Second {
			t.Fatalf("a question: %v after %v, want 5s", err, took)
		}
		began = time.Now()
		_, err = e.Embed(t.Context(), []string{"hola"})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 121700*time.Millisecond {
			t.Fatalf("documents: %v after %v, want four times 30s and the pauses", err, took)
		}
		if !strings.Contains(err.Error(), "4 tries: wait for vectors of documents: timed out after 30s") {
			t.Fatalf("it says %v", err)
		}
	})
}

func TestTheContextEnds(t *testing.T) {
	t.Parallel()
	spent := errors.New("spent")
	for _, c := range []struct {
		fault embedtest.Fault
		after time.Duration
		tries int
	}{{embedtest.Hang, 250 * time.Millisecond, 1}, {embedtest.Failing, 20 * time.Millisecond, 1}, {embedtest.Failing, 300 * time.Millisecond, 2}} {
		synctest.Test(t, func(t *testing.T) {
			s := fake()
			e := open(t, s, nil)
			s.Fail(embedtest.Faults{Fault: c.fault})
			ctx, cancel := context.WithTimeoutCause(t.Context(), c.after, spent)
			defer cancel()
			began := time.Now()
			_, err := e.Embed(ctx, []string{"hola"})
			if took := time.Since(began); !errors.Is(err, spent) || took != c.after || s.Requests() != c.tries {
				t.Fatalf("%v after %v and %d requests, want the cause after %v and %d", err, took, s.Requests(), c.after, c.tries)
			}
			if _, err := e.EmbedQuery(ctx, "hola"); !errors.Is(err, spent) {
				t.Fatalf("a question after its context: %v", err)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"3": 3 * time.Second, "0": 200 * time.Millisecond, "900": 30 * time.Second, "soon": 200 * time.Millisecond, "-1": 200 * time.Millisecond,
		"Sat, 01 Jan 2000 00:00:07 GMT": 7 * time.Second, // a bubble's clock begins at midnight
		"Sat, 01 Jan 2000 01:00:00 GMT": 30 * time.Second, "Fri, 31 Dec 1999 23:00:00 GMT": 200 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			s, asked := fake(), 0
			e := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked == 1 {
					w.Header().Set("Retry-After", header)
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				s.ServeHTTP(w, r)
			}), nil)
			began := time.Now()
			if _, err := e.Embed(t.Context(), []string{"hola"}); err != nil || time.Since(began) != want {
				t.Fatalf("%q: %v after %v, want %v", header, err, time.Since(began), want)
			}
		})
	}
}

func TestBatchesKeepTheOrder(t *testing.T) {
	t.Parallel()
	s := fake()
	e := open(t, s, func(c *remote.Config) { c.Inputs, c.Tokens = 3, 100 })
	texts := []string{"uno", "", "dos", "tres", "cuatro", " \n", strings.Repeat("x ", 120), "cinco", strings.Repeat("ñ ", 2000), "seis"}
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, body := range s.Bodies() {
		var sent struct{ Input []string }
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(sent.Input))
	}
	if d := cmp.Diff([]int{3, 3, 1, 1}, sizes); d != "" {
		t.Fatalf("texts a request (-want +got):\n%s", d)
	}
	for i, text := range texts {
		if strings.TrimSpace(text) != "" && cosine(vectors[i], embedtest.Vector(text, 8)) < 0.999 {
			t.Fatalf("text %d has the vector of another", i)
		}
	}
	if d := cmp.Diff(make([]float32, 8), vectors[1]); d != "" {
		t.Fatalf("an empty text: %s", d)
	}
	if sent := s.Texts(); len(sent) != 8 || len(sent[6]) > 1200 || !strings.HasSuffix(sent[6], "ñ") {
		t.Fatalf("%d texts sent, the long one with %d bytes", len(sent), len(sent[6]))
	}
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// The server never sees numbers, addresses and accounts.
func TestMasksWhatIsSent(t *testing.T) {
	t.Parallel()
	s := fake()
	e := open(t, s, nil)
	texts := []string{"llame al 612345678", "a ana@correo.es", "ES91 2100 0418 4502 0005 1332"}
	if _, err := e.Embed(t.Context(), texts); err != nil {
		t.Fatal(err)
	}
	if _, err := e.EmbedQuery(t.Context(), "soy el 12345678Z"); err != nil {
		t.Fatal(err)
	}
	want := []string{"llame al [number]", "a [email]", "[iban]", "soy el [number]Z"}
	if d := cmp.Diff(want, s.Texts()); d != "" {
		t.Fatal(d)
	}
	if texts[0] != "llame al 612345678" {
		t.Fatal("the caller's own copy was masked")
	}
}

func TestReadsBothEncodingsByIndex(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"numbers":       `{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}]}`,
		"base64":        `{"data":[{"index":1,"embedding":"AAAAAAAAAEA="},{"index":0,"embedding":"AABAQAAAgEA="}]}`,
		"without index": `{"data":[{"embedding":[3,4]},{"embedding":"AAAAAAAAAEA="}]}`,
	} {
		e := open(t, says(answer), func(c *remote.Config) { c.Dim = 2 })
		vectors, err := e.Embed(t.Context(), []string{"a", "b"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff([][]float32{{0.6, 0.8}, {0, 1}}, vectors); d != "" {
			t.Fatalf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestRefusesOtherVectors(t *testing.T) {
	t.Parallel()
	e := open(t, says(`{"model":"large","data":[{"index":0,"embedding":[3,4,0]}]}`), func(c *remote.Config) { c.Dim = 2 })
	_, err := e.EmbedQuery(t.Context(), "a")
	if d := cmp.Diff(&remote.DimensionError{Embedder: "vendor/m", Dim: 2, Model: "large", Got: 3}, unwrap[*remote.DimensionError](err)); d != "" {
		t.Fatal(d)
	}
	if want := "embedder vendor/m has 2 dimensions, large answered with 3: set options.dim to 3 and push the bases again, or point base_url at the model that embedded them"; err.Error() != want {
		t.Fatalf("it says %q", err)
	}
	for _, data := range []string{`[]`, `[{"index":0,"embedding":[1,0]}]`, `[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]`, `[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[1,0]}]`, `[{"index":0,"embedding":[1,0]},{"index":-1,"embedding":[1,0]}]`} {
		e := open(t, says(`{"data":`+data+`}`), func(c *remote.Config) { c.Dim = 2 })
		if _, err := e.Embed(t.Context(), []string{"a", "b"}); unwrap[*remote.CountError](err) == nil {
			t.Fatalf("%s gave %v", data, err)
		}
	}
	for _, vector := range []string{`[1e39,0]`, `"AADAfwAAAAA="`, `"AAAA"`, `"%"`, `[]`, `null`, `{}`} {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, says(`{"data":[{"index":0,"embedding":`+vector+`}]}`), func(c *remote.Config) { c.Dim = 2 })
			if v, err := e.EmbedQuery(t.Context(), "a"); err == nil {
				t.Fatalf("%s gave %v", vector, v)
			}
		})
	}
}

func unwrap[E error](err error) E {
	found, _ := errors.AsType[E](err)
	return found
}

func TestLearnsItsLength(t *testing.T) {
	t.Parallel()
	s := fake()
	e := open(t, s, func(c *remote.Config) { c.Dim = 0 })
	if e.Dim() != 8 || e.Name() != "vendor/m" || s.Requests() != 1 || strings.Contains(string(s.Bodies()[0]), "dimensions") {
		t.Fatalf("%s has %d dimensions after %s", e.Name(), e.Dim(), s.Bodies())
	}
	s.Fail(embedtest.Faults{Fault: embedtest.WrongDim})
	if _, err := e.EmbedQuery(t.Context(), "hola"); unwrap[*remote.DimensionError](err) == nil {
		t.Fatalf("a longer vector: %v", err)
	}
	if _, err := remote.Open(t.Context(), vendor, remote.Config{Model: "m", Key: "k", Transport: embedtest.Transport(http.NotFoundHandler())}, zap.NewNop()); unwrap[*remote.Error](err) == nil {
		t.Fatalf("no such path: %v", err)
	}
}

// What a server says of a refusal may repeat the caller's words.
func TestErrorsHoldNoWords(t *testing.T) {
	t.Parallel()
	e := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","code":"bad secreto"}}`, body)
	}), nil)
	_, err := e.EmbedQuery(t.Context(), "secreto")
	if want := "ask embedder vendor/m: server answered 400 Bad Request, invalid_request_error"; err == nil || err.Error() != want {
		t.Fatalf("it says %v", err)
	}
}

func TestValidateTellsEverything(t *testing.T) {
	t.Parallel()
	err := remote.Config{Dim: -1, Options: map[string]any{"x": math.Inf(1)}}.Validate(vendor)
	for _, want := range []string{"model is empty", "key for https://vendor.example/v1 is empty", "negative", "write options"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if err := (remote.Config{Model: "m", BaseURL: "ftp://x"}).Validate(vendor); err == nil {
		t.Error("ftp is an http url")
	}
	if err := (remote.Config{Model: "m", BaseURL: "http://127.0.0.1:1"}).Validate(vendor); err != nil {
		t.Errorf("a server of one's own needs no key: %v", err)
	}
}

// A question finds the connection that Warm opened, and replaces one that died.
func TestConnections(t *testing.T) {
	t.Parallel()
	s := fake()
	server := httptest.NewUnstartedServer(s)
	var opened atomic.Int32
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	e := open(t, nil, func(c *remote.Config) { c.BaseURL, c.Transport = server.URL+"/v1/", nil })
	defer e.Close()
	ask := func() {
		t.Helper()
		if _, err := e.EmbedQuery(t.Context(), "hola"); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask()
	ask()
	if n := opened.Load(); n != 1 {
		t.Fatalf("%d connections, want the warm one", n)
	}
	server.CloseClientConnections()
	ask()
	s.Fail(embedtest.Faults{Fault: embedtest.Refuse, Times: 1})
	ask()
}

func TestAClosedPort(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	e := open(t, nil, func(c *remote.Config) { c.BaseURL, c.Transport = server.URL, nil })
	defer e.Close()
	_, err := e.EmbedQuery(t.Context(), "hola")
	if failed := unwrap[*remote.Error](err); failed == nil || !failed.Retryable() || failed.Tries != 2 {
		t.Fatalf("a closed port: %v", err)
	}
	if err := e.Warm(t.Context()); unwrap[*remote.Error](err) == nil {
		t.Fatalf("warm at a closed port: %v", err)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"data":[{"index":0,"embedding":[3,4]}]}`, `{"data":[{"embedding":"AABAQAAAgEA="}]}`, `{"data":null}`, `[]`, ``, `{"data":[{"index":0,"embedding":"AAAA"}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		cfg := remote.Config{Model: "m", Key: "k", Dim: 2, Transport: embedtest.Transport(says(body))}
		e, err := remote.Open(t.Context(), vendor, cfg, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond) // what may be retried is not
		defer cancel()
		v, err := e.EmbedQuery(ctx, "a")
		if err != nil {
			return
		}
		if square := cosine(v, v); len(v) != 2 || square != 0 && math.Abs(square-1) > 1e-5 {
			t.Fatalf("%q gave %v", body, v)
		}
	})
}

func BenchmarkEmbedBatch(b *testing.B) {
	s := &embedtest.Server{Delay: -1, Dim: 1536}
	e, err := remote.Open(b.Context(), vendor, remote.Config{Model: "m", Key: "k", Options: map[string]any{"encoding_format": "base64"}, Transport: embedtest.Transport(s)}, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	texts := make([]string, 64)
	for i := range texts {
		texts[i] = strings.Repeat("la revisión anual cuesta ", 20)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
}
