package embedtest_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/retrieval/embed/embedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(t *testing.T, h http.Handler, path, body string) (int, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	return w.Code, w.Body.Bytes()
}

type answer struct {
	Data []struct {
		Index     int             `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
}

func read(t *testing.T, body []byte) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatalf("read answer: %v", err)
	}
	return a
}

func TestVectorsInBothEncodings(t *testing.T) {
	t.Parallel()
	s := &embedtest.Server{Delay: -1, Dim: 64}
	_, body := ask(t, s, "/v1/embeddings", `{"model":"m","input":["abren hoy","de noche"]}`)
	a := read(t, body)
	var floats []float32
	if err := json.Unmarshal(a.Data[1].Embedding, &floats); err != nil {
		t.Fatalf("read floats: %v", err)
	}
	if diff := cmp.Diff(embedtest.Vector("de noche", 64), floats); diff != "" {
		t.Fatalf("floats (-want +got):\n%s", diff)
	}
	_, body = ask(t, s, "/v1/embeddings", `{"model":"m","input":"de noche","encoding_format":"base64","dimensions":32}`)
	var text string
	if err := json.Unmarshal(read(t, body).Data[0].Embedding, &text); err != nil {
		t.Fatalf("read base64: %v", err)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatalf("decode base64: %v", err)
	}
	var got []float32
	for i := 0; i < len(raw); i += 4 {
		got = append(got, math.Float32frombits(binary.LittleEndian.Uint32(raw[i:])))
	}
	if diff := cmp.Diff(embedtest.Vector("de noche", 32), got); diff != "" {
		t.Fatalf("base64 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"abren hoy", "de noche", "de noche"}, s.Texts()); diff != "" {
		t.Fatalf("texts (-want +got):\n%s", diff)
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestSharedWordsAreNear(t *testing.T) {
	t.Parallel()
	q, near, far := embedtest.Vector("Horario de NOCHE", 256), embedtest.Vector("el horario de noche", 256), embedtest.Vector("precio del menú", 256)
	if math.Abs(dot(q, q)-1) > 1e-6 || dot(q, near) < 0.8 || dot(q, far) > 0.2 {
		t.Fatalf("self %g, near %g, far %g", dot(q, q), dot(q, near), dot(q, far))
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := &embedtest.Server{Delay: -1}
	for _, body := range []string{``, `{"input":"a"}`, `{"model":"m"}`, `{"model":"m","input":""}`, `{"model":"m","input":["a",""]}`, `{"model":"m","input":[]}`, `{"model":"m","input":"a","encoding_format":"x"}`} {
		if code, _ := ask(t, s, "/v1/embeddings", body); code != http.StatusBadRequest {
			t.Fatalf("%s gave %d, want 400", body, code)
		}
	}
}

func TestTheDelayAndTheHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &embedtest.Server{}
		start := time.Now()
		ask(t, s, "/v1/embeddings", `{"model":"m","input":"a"}`)
		if took := time.Since(start); took != 80*time.Millisecond {
			t.Fatalf("took %s, want 80ms", took)
		}
		ask(t, s, "/fakes/embed", `{"delay_ms":200}`)
		start = time.Now()
		ask(t, s, "/v1/embeddings", `{"model":"m","input":"a"}`)
		if took := time.Since(start); took != 200*time.Millisecond {
			t.Fatalf("took %s, want 200ms", took)
		}
		s.Fail(embedtest.Faults{Fault: embedtest.Hang})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/embeddings", strings.NewReader(`{"model":"m","input":"a"}`)))
		if ctx.Err() == nil || w.Body.Len() > 0 {
			t.Fatalf("it answered %q instead of hanging", w.Body)
		}
	})
}

func TestFaultsOverASocket(t *testing.T) {
	t.Parallel()
	s := &embedtest.Server{Delay: -1, Dim: 8}
	server := httptest.NewServer(s)
	defer server.Close()
	post := func(path, body string) (int, string, error) {
		res, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		return res.StatusCode, string(data), err
	}
	question := `{"model":"m","input":["a","b"]}`
	for _, c := range []struct {
		fault string
		check func(code int, body string, err error) bool
	}{
		{"refuse", func(_ int, _ string, err error) bool { return err != nil }},
		{"error", func(code int, _ string, _ error) bool { return code == 500 }},
		{"garbage", func(_ int, body string, _ error) bool { return !json.Valid([]byte(body)) }},
		{"short", func(_ int, body string, _ error) bool { return len(read(t, []byte(body)).Data) == 1 }},
		{"dimension", func(_ int, body string, _ error) bool {
			return strings.Count(string(read(t, []byte(body)).Data[0].Embedding), ",") == 8
		}},
		{"", func(code int, body string, _ error) bool { return code == 200 && len(read(t, []byte(body)).Data) == 2 }},
	} {
		if _, _, err := post("/fakes/embed", `{"fault":"`+c.fault+`","times":1}`); err != nil {
			t.Fatalf("set %q: %v", c.fault, err)
		}
		if code, body, err := post("/v1/embeddings", question); !c.check(code, body, err) {
			t.Fatalf("%q gave %d, %s, %v", c.fault, code, body, err)
		}
	}
	if s.Requests() != 6 {
		t.Fatalf("%d requests, want 6", s.Requests())
	}
}
