package deepgram_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"headstart/turn/stt"
	"headstart/turn/stt/deepgram/deepgramtest"
	"headstart/turn/stt/line"
	"headstart/turn/stt/line/linetest"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 402, 403, 404} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, config := fake(t, horario)
				server.Break(deepgramtest.Fault{Kind: deepgramtest.Refuse, Status: status})
				began := time.Now()
				_, err := call(t.Context(), t, config, once)
				refusal, ok := errors.AsType[*line.Refusal](err)
				if !ok || refusal.Status != status || refusal.Retryable() || refusal.Text == "" {
					t.Fatalf("recognise: %v, want a refusal with %d and the vendor's text", err, status)
				}
				if waited := time.Since(began); waited != 0 || server.Record().Refused != 1 {
					t.Fatalf("refused after %v and %d tries, want one at once", waited, server.Record().Refused)
				}
			})
		})
	}
}

func TestBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, config := fake(t, horario)
		server.Break(deepgramtest.Fault{Kind: deepgramtest.Refuse, Status: 500, Times: 3})
		got, err := call(t.Context(), t, config, func(m *linetest.Mouth) {
			once(m)
			m.Silent(2 * time.Second)
		})
		if err != nil {
			t.Fatalf("recognise: %v", err)
		}
		again := linetest.Only(got, stt.Reconnected)
		if len(again) != 1 || again[0].At != 2600*ms {
			t.Fatalf("reconnected %v, want once, at 2.6s", again)
		}
		lost, ok := errors.AsType[*line.Lost](again[0].Err)
		if !ok || lost.Tries != 3 || lost.Dropped != 0 {
			t.Fatalf("reconnected because of %v, want 3 tries and no audio dropped", again[0].Err)
		}
		if linetest.Said(got) != hub {
			t.Fatalf("heard %q, want %q", linetest.Said(got), hub)
		}
	})
}

func TestGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, config := fake(t, horario)
		server.Break(deepgramtest.Fault{Kind: deepgramtest.Refuse, Status: 503})
		began := time.Now()
		_, err := call(t.Context(), t, config, func(m *linetest.Mouth) { m.Silent(2 * time.Minute) })
		refusal, ok := errors.AsType[*line.Refusal](err)
		if !ok || !refusal.Retryable() {
			t.Fatalf("recognise: %v, want the last refusal", err)
		}
		if took := time.Since(began); took != 62600*ms {
			t.Fatalf("gave up after %v, want 1m2.6s: the first try after a minute", took)
		}
	})
}

func TestFatalClosure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, config := fake(t, horario)
		server.Break(deepgramtest.Fault{Kind: deepgramtest.Close, Status: 1008, After: 100 * ms})
		_, err := call(t.Context(), t, config, once)
		closure, ok := errors.AsType[*line.Closure](err)
		if !ok || closure.Code != 1008 || closure.Text == "" {
			t.Fatalf("recognise: %v, want a closure with 1008 and the vendor's text", err)
		}
	})
}
