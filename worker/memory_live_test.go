package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/retrieval/embed"
	"headstart/turn"
	"headstart/turn/llm"
	"headstart/worker"
	"headstart/worker/caller"
)

// parrot is a model that proposes what callers said of themselves, word by word,
// and in the name of somebody else.
type parrot struct{}

func (parrot) Extract(_ context.Context, r memory.Request) (memory.Answer, error) {
	var asked struct {
		Turns []struct {
			Turn      int
			Who, Text string
		}
	}
	if err := json.Unmarshal([]byte(r.User), &asked); err != nil {
		return memory.Answer{}, err
	}
	var list []string
	for _, t := range asked.Turns {
		if t.Who == "caller" && strings.HasPrefix(t.Text, "Soy") {
			list = append(list, fmt.Sprintf(`{"op":"add","contact":"user1","text":%q,"category":"alergias","turn":%d}`, t.Text, t.Turn))
		}
	}
	return memory.Answer{Text: `{"contact":"+49301234567","operations":[` + strings.Join(list, ",") + `]}`}, nil
}

// meddler is a model that asks for another contact's memory, and keeps what it
// was handed.
type meddler struct {
	mu    sync.Mutex
	asked []string
}

func (m *meddler) Reply(_ context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	text, err := json.Marshal(req)
	if err != nil {
		return llm.Result{}, err
	}
	m.mu.Lock()
	m.asked = append(m.asked, string(text))
	m.mu.Unlock()
	emit("De acuerdo.")
	calls := []llm.ToolCall{{ID: "t1", Name: "recall", Arguments: json.RawMessage(`{"query":"alergia","contact":"+49301234567","id":"user1"}`)}}
	return llm.Result{Finish: "tool_calls", ToolCalls: calls}, nil
}

func (m *meddler) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.asked...)
}

// remembers gives an agent a memory.
func remembers(s *worker.Served, e retrieval.Embedder) {
	s.Agent.Memory = &memory.Policy{Remember: []string{"alergias"}}
	s.Learner = learner(func(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
		return memory.Learn(ctx, l, parrot{}, e)
	})
	s.Recollect = func(_ context.Context, held []memory.Held) (turn.Recaller, error) {
		return memory.NewIndex(memory.Reading{Language: "es", Embedder: e, At: time.Now()}, held)
	}
}

// somebody calls as one contact: by number, or named by the app.
func somebody(contact string) func(*caller.Config) {
	return func(cfg *caller.Config) {
		cfg.Kind, cfg.Number, cfg.Trunk = caller.Phone, "+34600123456", "+34910000001"
		if strings.HasPrefix(contact, "+") {
			cfg.Number = contact
			return
		}
		cfg.JobMetadata = fmt.Sprintf(`{"contact":%q}`, contact)
	}
}

// types is a call in which a contact types something and hears the answer.
func (b *bench) types(room, contact, words string) []turn.Entry {
	b.t.Helper()
	c := b.dial(room, somebody(contact))
	hearTo(b.t, c, c.Dialed())
	at := time.Now()
	if err := c.Chat(b.t.Context(), words); err != nil {
		b.t.Fatal(err)
	}
	hearTo(b.t, c, at)
	if err := c.Hangup(); err != nil {
		b.t.Fatal(err)
	}
	return b.log(room)
}

// A caller of the test and what they tell of themselves; the name ties a request
// to the model to who was on the line.
type teller struct{ contact, name, allergy string }

// Contacts whose ids begin alike.
var tellers = []teller{
	{"+49301234567", "Ana", "las nueces"}, {"+493012345678", "Bea", "el polen"},
	{"user1", "Carla", "la lactosa"}, {"user11", "Dora", "los gatos"},
}

// Contacts whose ids begin alike never see each other's facts, whatever the model
// writes: neither when a call is remembered nor when it asks for another's. Beside
// them a call of which the model makes nothing is sealed when its budget is over.
func TestContactsNeverSeeEachOthersFacts(t *testing.T) {
	t.Parallel()
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) { // one after the other: each makes nine calls
			contactsApart(t, store.open(t), "contacts-"+strings.ToLower(store.name))
		})
	}
}

func contactsApart(t *testing.T, db records, name string) {
	model := &meddler{}
	b := newBenchOn(t, db, name, time.Minute, func(_ *worker.Config, s *worker.Served) {
		shared := embed.Shared(embed.Hashing(256))
		s.Model = model
		s.Searcher = searcherOf(t, shared)
		remembers(s, shared)
		s.Learner = stalling{s.Learner, "user111"}
	})
	var stalled sync.WaitGroup
	stalled.Go(func() { checkStalled(t, b.types("stalled", "user111", "Soy alérgico a todo.")) })
	eachTeller(func(c teller) { b.types("first-"+c.contact, c.contact, "Soy alérgico a "+c.allergy+".") })
	if t.Failed() {
		return
	}
	eachTeller(func(c teller) {
		checkRecall(t, b.types("second-"+c.contact, c.contact, "¿A qué soy alérgica yo, "+c.name+"?"), c)
	})
	for _, c := range tellers {
		model.checkTold(t, c)
	}
	stalled.Wait()
}

func eachTeller(do func(teller)) {
	var calls sync.WaitGroup
	for _, c := range tellers {
		calls.Go(func() { do(c) })
	}
	calls.Wait()
}

// checkTold looks at what the model was handed in the calls in which a name was said.
func (m *meddler) checkTold(t *testing.T, c teller) {
	t.Helper()
	told := false
	for _, request := range m.requests() {
		if !strings.Contains(request, c.name) {
			continue
		}
		for _, other := range tellers {
			if other.contact != c.contact && strings.Contains(request, other.allergy) {
				t.Fatalf("%s was told of %s: %s", c.contact, other.contact, request)
			}
		}
		told = told || strings.Contains(request, c.allergy)
	}
	if !told {
		t.Fatalf("%s was not told of their own fact", c.contact)
	}
}

// stalling is a learner that has no answer for one contact.
type stalling struct {
	worker.Learner
	contact string
}

func (s stalling) Learn(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
	if l.Contact != s.contact {
		return s.Learner.Learn(ctx, l)
	}
	<-ctx.Done()
	return memory.Learned{}, context.Cause(ctx)
}

// checkStalled holds the end of a call to the budget that was over.
func checkStalled(t *testing.T, entries []turn.Entry) {
	t.Helper()
	end := entries[max(0, len(entries)-3):]
	if got := kinds(end); got != "call.ended error call.summary" {
		t.Errorf("the log ends with %s", got)
		return
	}
	if f := first[turn.Failure](end); f.Code != turn.CodeRememberFailed || !f.Recoverable || f.Message != "not remembered within 8s" {
		t.Errorf("failure %+v", f)
	}
}

// checkRecall holds a second call's log to what the first one taught.
func checkRecall(t *testing.T, entries []turn.Entry, c teller) {
	t.Helper()
	ops := all[turn.MemoryOps](entries)
	if len(ops) != 2 || ops[0].Op != "recall" || ops[1].Op != "remember" {
		t.Errorf("%s: operations %+v", c.contact, ops)
		return
	}
	for _, op := range ops {
		if op.Contact != c.contact {
			t.Errorf("%s: an operation on %s", c.contact, op.Contact)
		}
	}
	if len(ops[0].Facts) != 1 || ops[0].Facts[0].Text != "Soy alérgico a "+c.allergy+"." || ops[0].Facts[0].Source == "" || ops[0].Query == "" {
		t.Errorf("%s recalled %+v", c.contact, ops[0])
	}
	called, resulted := first[turn.ToolCalled](entries), first[turn.ToolResulted](entries)
	if called.Name != "recall" || resulted.Error == "" || resulted.Output != nil {
		t.Errorf("%s: the model's own recall: %+v, %+v", c.contact, called, resulted)
	}
}

// searcherOf searches the sample clinic.
func searcherOf(t *testing.T, e retrieval.Embedder) *retrieval.Searcher {
	t.Helper()
	segment, _, err := retrieval.LoadFolder(t.Context(), knowledgeDir, "clinica-norte", "es", e, nil)
	if err != nil {
		t.Fatal(err)
	}
	library := &retrieval.Library{}
	library.Put("default", segment)
	return retrieval.NewSearcher(library, e)
}

// A hang-up gives the place back before the call is remembered: the next caller
// is taken although the model stalls.
func TestRememberingHoldsNoPlace(t *testing.T) {
	t.Parallel()
	stalled, release := make(chan struct{}, 2), make(chan struct{})
	b := newBench(t, "places", func(cfg *worker.Config, s *worker.Served) {
		cfg.MaxCalls = 1
		remembers(s, nil)
		s.Learner = learner(func(ctx context.Context, l memory.Lesson) (memory.Learned, error) {
			stalled <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return memory.Learned{Writing: memory.Writing{Org: l.Org, Contact: l.Contact, Call: l.Call, At: l.At}}, nil
		})
	})
	c := b.dial("one", phone)
	hearTo(t, c, c.Dialed())
	at := time.Now()
	if err := c.Chat(t.Context(), "Soy alérgico a las nueces."); err != nil {
		t.Fatal(err)
	}
	hearTo(t, c, at)
	if err := c.Hangup(); err != nil {
		t.Fatal(err)
	}
	<-stalled
	if n := b.worker.Calls(); n != 0 {
		t.Fatalf("%d places are taken while a call is remembered", n)
	}
	close(release)
	entries := b.log("one")
	if ops := first[turn.MemoryOps](entries); ops.Op == "" {
		t.Fatalf("not remembered: %v", kinds(entries))
	}
}
