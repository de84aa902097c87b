package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"headstart/turn/llm/openai"
)

// counting counts requests by path.
type counting map[string]int

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c[req.Method+" "+req.URL.Path]++
	return &http.Response{StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader("no such thing")), Header: http.Header{}, Request: req}, nil
}

func TestAConnectionIsOpenedAheadAndOnlyWhenNoneWasUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := counting{}
		m, err := openai.New(openai.Config{BaseURL: "http://model.test/v1", Key: "k", Model: "m", Transport: seen}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, 1}, {time.Second, 1}, {43 * time.Second, 1}, {2 * time.Second, 2}} {
			time.Sleep(step.after)
			if err := m.Warm(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := seen["GET /v1/models"]; got != step.want {
				t.Fatalf("%d requests after another %v, want %d", got, step.after, step.want)
			}
		}
		if len(seen) != 1 {
			t.Fatalf("requests %v: warming must cost no answer", seen)
		}
	})
}
