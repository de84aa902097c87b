package v1_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"headstart/memory"
	"headstart/memory/golden"
	v1 "headstart/worker/api/v1"
	"headstart/worker/calllog"
	"headstart/worker/contacts"
)

// files is a script of what is remembered: of one contact, one fact.
type files struct{ err error }

var since = time.UnixMicro(1_760_000_000_000_000)

func (f files) Memory(_ context.Context, contact string) (contacts.Memory, error) {
	if contact != "+49301234567" {
		return contacts.Memory{}, f.err
	}
	return contacts.Memory{
		Held:   []memory.Held{{Fact: memory.Fact{ID: "f_1", Text: "Vive en Lugo.", Category: "domicilio", Source: "call-2", Since: since, Confidence: 0.8}, Quote: "vivo en Lugo", Turn: "speech-2"}},
		Closed: []memory.Held{{Fact: memory.Fact{ID: "f_0", Text: "Vive en Vigo.", Source: "call-1", Since: since}, Until: since.Add(time.Hour), ClosedBy: "call-2"}},
	}, f.err
}

func (f files) Forget(_ context.Context, contact string) (contacts.Receipt, error) {
	if f.err != nil {
		return contacts.Receipt{}, f.err
	}
	return contacts.Receipt{At: since.UTC(), Facts: contacts.FactsReceipt{Erased: len(contact)}}, nil
}

func (f files) Correct(_ context.Context, contact, fact, text string) (memory.Held, error) {
	if text == "" {
		return memory.Held{}, contacts.ErrText
	}
	if strings.Contains(text, "4111") {
		return memory.Held{}, fmt.Errorf("correct: %w", contacts.ErrSecret)
	}
	return memory.Held{Fact: memory.Fact{ID: "f_2", Text: contact + " " + fact + " " + text, Since: since, Confidence: 1}}, f.err
}

func (f files) Delete(_ context.Context, contact, fact string) error {
	if contact != "+49301234567" || fact != "f_1" {
		return fmt.Errorf("delete: %w", memory.ErrNoFact)
	}
	return f.err
}

func body(text, kind string) func(*http.Request) {
	return func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(text))
		r.Header.Set("Content-Type", kind)
	}
}

func TestContactsOverHTTP(t *testing.T) {
	t.Parallel()
	d := newDesk(t, calllog.Config{})
	good, json := v1.Config{Contacts: files{}}, "application/json; charset=utf-8"
	broken := func(err error) v1.Config { return v1.Config{Contacts: files{err}} }
	away, noFact := errors.New("away"), fmt.Errorf("correct: %w", memory.ErrNoFact)
	for _, c := range []struct {
		name, method, path string
		cfg                v1.Config
		change             func(*http.Request)
		status             int
		says               string
	}{
		{"memory", "GET", "/v1/contacts/+49301234567/memory", good, nil, 200,
			`{"contact":"+49301234567","facts":[{"id":"f_1","text":"Vive en Lugo.","category":"domicilio","confidence":0.8,"source":"call-2","since":"2025-10-09T08:53:20Z","quote":"vivo en Lugo","turn":"speech-2"}],` +
				`"history":[{"id":"f_0","text":"Vive en Vigo.","confidence":0,"source":"call-1","since":"2025-10-09T08:53:20Z","until":"2025-10-09T09:53:20Z","closed_by":"call-2"}]}`},
		{"memory, the plus escaped", "GET", "/v1/contacts/%2B49301234567/memory", good, nil, 200, `"f_1"`},
		{"memory of a number that begins alike", "GET", "/v1/contacts/+493012345678/memory", good, nil, 200, `{"contact":"+493012345678","facts":[],"history":[]}`},
		{"an id with a slash", "GET", "/v1/contacts/a%2Fb/memory", good, nil, 200, `"contact":"a/b"`},
		{"memory of a store that is away", "GET", "/v1/contacts/ana/memory", broken(away), nil, 503, `"code":"store"`},
		{"no contacts", "GET", "/v1/contacts/ana/memory", v1.Config{}, nil, 404, `"code":"contacts"`},
		{"without the key", "DELETE", "/v1/contacts/ana", v1.Config{Key: "k", Contacts: files{}}, nil, 401, `"code":"key"`},
		{"forget", "DELETE", "/v1/contacts/ana", good, nil, 200, `"facts":{"erased":3}`},
		{"forget one who is on another's line", "DELETE", "/v1/contacts/ana", broken(calllog.ErrElsewhere), nil, 409, `"code":"elsewhere"`},
		{"forget with a store that is away", "DELETE", "/v1/contacts/ana", broken(away), nil, 503, `"code":"erasure"`},
		{"correct", "PUT", "/v1/contacts/ana/memory/f_1", good, body(`{"text":"x"}`, json), 200, `"text":"ana f_1 x"`},
		{"correct without a text", "PUT", "/v1/contacts/ana/memory/f_1", good, body(`{}`, json), 400, `"code":"text"`},
		{"correct with no JSON", "PUT", "/v1/contacts/ana/memory/f_1", good, body(`{`, json), 400, `"code":"text"`},
		{"correct to a secret", "PUT", "/v1/contacts/ana/memory/f_1", good, body(`{"text":"4111 1111 1111 1111"}`, json), 400, `"code":"secret"`},
		{"correct from a form", "PUT", "/v1/contacts/ana/memory/f_1", good, body(`{"text":"x"}`, "text/plain"), 415, `"code":"content_type"`},
		{"correct what is not held", "PUT", "/v1/contacts/ana/memory/f_1", broken(noFact), body(`{"text":"x"}`, json), 404, `"code":"fact"`},
		{"delete", "DELETE", "/v1/contacts/+49301234567/memory/f_1", good, nil, 204, ""},
		{"delete another's", "DELETE", "/v1/contacts/+493012345678/memory/f_1", good, nil, 404, `"code":"fact"`},
		{"delete with a store that is away", "DELETE", "/v1/contacts/+49301234567/memory/f_1", broken(away), nil, 503, `"code":"store"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			change := c.change
			if change == nil {
				change = func(*http.Request) {}
			}
			w := d.ask(c.cfg, c.method, c.path, change)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
				t.Fatalf("%d %s, want %d %s", w.Code, w.Body, c.status, c.says)
			}
		})
	}
}

func TestGoldensOverHTTP(t *testing.T) {
	t.Parallel()
	d := newDesk(t, calllog.Config{})
	cfg := v1.Config{EvalMemory: func(_ context.Context, agent string, questions []golden.Question) (golden.Report, error) {
		switch agent {
		case "nobody":
			return golden.Report{}, fmt.Errorf("evaluate: %w", v1.ErrNoAgent)
		case "away":
			return golden.Report{}, errors.New("away")
		}
		return golden.Report{Questions: len(questions), Answered: 1, Answers: []golden.Answer{}}, nil
	}}
	const file, json = `[{"holds":["Vive en Lugo."],"asks":"¿dónde vive?","expects":"lugo"}]`, "application/json"
	for _, c := range []struct {
		name, path string
		cfg        v1.Config
		change     func(*http.Request)
		status     int
		says       string
	}{
		{"a golden", "?agent=clinica", cfg, body(file, json), 200, `"questions":1,"answered":1`},
		{"of the first agent", "", cfg, body(file, json), 200, `"questions":1`},
		{"of an agent that is not there", "?agent=nobody", cfg, body(file, json), 404, `"code":"agent"`},
		{"with a store that is away", "?agent=away", cfg, body(file, json), 503, `"code":"store"`},
		{"no golden", "", cfg, body(`[{"asks":"x"}]`, json), 400, `"code":"golden"`},
		{"from a form", "", cfg, body(file, "text/plain"), 415, `"code":"content_type"`},
		{"where nothing is remembered", "", v1.Config{}, body(file, json), 404, `"code":"contacts"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := d.ask(c.cfg, "POST", "/v1/contacts/memory/eval"+c.path, c.change)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
				t.Fatalf("%d %s, want %d %s", w.Code, w.Body, c.status, c.says)
			}
		})
	}
}
