package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/memory/golden"
	"headstart/turn"
	"headstart/turn/llm/openai/openaitest"
	v1 "headstart/worker/api/v1"
	"headstart/worker/caller"
	"headstart/worker/calllog"
	"headstart/worker/contacts"
)

// oracle is a model that talks as the fake does and, asked what a call taught,
// stalls or answers.
type oracle struct {
	talk   openaitest.Server
	stalls atomic.Bool
	asked  chan struct{} // one for each question what a call taught
	http   *httptest.Server

	mu     sync.Mutex // guards bodies
	bodies []string   // of the conversation's requests
}

// proposed names another contact, and an org, as a model might that was talked
// into it.
const proposed = `{"contact": "+34911111111", "org": "other", "operations": [{"op": "add", "fact": null, "contact": "+34911111111",
"text": "Es alérgica a la penicilina.", "category": "alergias", "turn": %d, "quote": "soy alérgica a la penicilina", "confidence": 0.9}]}`

func newOracle(t *testing.T) *oracle {
	t.Helper()
	o := &oracle{asked: make(chan struct{}, 100)}
	o.http = httptest.NewServer(o)
	t.Cleanup(o.http.Close)
	return o
}

func (o *oracle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte("response_format")) {
		o.mu.Lock()
		o.bodies = append(o.bodies, string(body))
		o.mu.Unlock()
		o.talk.ServeHTTP(w, r)
		return
	}
	o.asked <- struct{}{}
	if o.stalls.Load() {
		<-r.Context().Done()
		return
	}
	answers := &openaitest.Server{Text: fmt.Sprintf(proposed, saidTurn(body))}
	answers.ServeHTTP(w, r)
}

// saidTurn is the number of the caller's turn about the allergy.
func saidTurn(body []byte) int {
	var asked struct {
		Messages []struct{ Content string }
	}
	var call struct {
		Turns []struct {
			Turn int
			Text string
		}
	}
	if json.Unmarshal(body, &asked) != nil || json.Unmarshal([]byte(asked.Messages[len(asked.Messages)-1].Content), &call) != nil {
		return 0
	}
	for _, turn := range call.Turns {
		if strings.Contains(turn.Text, "penicilina") {
			return turn.Turn
		}
	}
	return 0
}

func (o *oracle) heard(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, body := range o.bodies {
		if strings.Contains(body, text) {
			return true
		}
	}
	return false
}

// rememberings kills workers whose agent remembers.
type rememberings struct {
	*killing
	oracle *oracle
	// backUp keeps what the records are now, while nothing runs, and returns what
	// brings that back.
	backUp func() (restore func())
}

func newRememberings(t *testing.T) *rememberings {
	t.Helper()
	t.Setenv("HEADSTART_VOICE_LOOKUP_BUDGET_MS", "20000") // a slow machine may take its time
	r := &rememberings{killing: newKilling(t), oracle: newOracle(t)}
	r.agent = agentFile(t, func(s string) string {
		s = strings.Replace(s, "{provider: extractive}", "{provider: openai, model: m, options: {base_url: \""+r.oracle.http.URL+"/v1\", api_key: k}}", 1)
		return s + "greeting: {say: Buenos días.}\nmemory: {remember: [alergias], forget: [tarjetas]}\ndocs: {base: clinica-norte}\n"
	})
	return r
}

// tell makes a call in which something is typed, and hangs up once the agent has
// answered it. It returns the call's id.
func (r *rememberings) tell(w *process, words string) string {
	r.t.Helper()
	o := operator{base: w.api}
	c, gone, id := r.call(w, o)
	r.until(o, id, "the greeting is heard", func(log piece) bool { return has(log, turn.TurnAgent{}) })
	answered := len(r.log(o, id).Entries)
	if err := c.Chat(r.t.Context(), words); err != nil {
		r.t.Fatal(err)
	}
	r.until(o, id, "the answer is heard", func(log piece) bool {
		return has(piece{Entries: log.Entries[min(answered, len(log.Entries)):]}, turn.TurnAgent{})
	})
	hangUp(r.t, c, gone)
	return id
}

func hangUp(t *testing.T, c *caller.Caller, gone chan error) {
	t.Helper()
	if err := errors.Join(c.Hangup(), <-gone); err != nil {
		t.Fatalf("caller: %v", err)
	}
}

func has(log piece, ev turn.Event) bool {
	for _, e := range log.Entries {
		if e.Type == ev.EventType() {
			return true
		}
	}
	return false
}

func (r *rememberings) log(o operator, id string) (log piece) {
	r.t.Helper()
	if status := o.get(r.t, "/v1/calls/"+id+"/log?limit=1000", &log); status != http.StatusOK {
		r.t.Fatalf("log of %s: %d", id, status)
	}
	return log
}

func (r *rememberings) until(o operator, id, what string, so func(piece) bool) piece {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(2 * patience); ; {
		if log := r.log(o, id); so(log) {
			return log
		}
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("waited %v until %s", 2*patience, what)
		}
	}
}

func (r *rememberings) sealed(o operator, id string) piece {
	r.t.Helper()
	return r.until(o, id, "the log is sealed", func(log piece) bool { return log.Sealed })
}

// held are the facts of the caller.
func (r *rememberings) held(o operator) v1.Memory {
	r.t.Helper()
	var m v1.Memory
	if status := o.get(r.t, "/v1/contacts/+34600123456/memory", &m); status != http.StatusOK {
		r.t.Fatalf("memory: %d", status)
	}
	return m
}

// once checks that the call was remembered, and only once.
func (r *rememberings) once(o operator, id string) {
	r.t.Helper()
	log := r.sealed(o, id)
	var end []string
	for _, e := range log.Entries {
		end = append(end, e.Type)
	}
	if got := strings.Join(end[len(end)-4:], " "); got != "call.ended metrics.llm memory.ops call.summary" {
		r.t.Fatalf("%s ends with %s", id, got)
	}
	var cost turn.MetricsLLM
	if err := json.Unmarshal(log.Entries[len(end)-3].Data, &cost); err != nil || cost.Purpose != turn.OpRemember || cost.Model == "" || cost.PromptTokens == 0 || cost.Estimated {
		r.t.Fatalf("%+v, %v", cost, err)
	}
	var ops turn.MemoryOps
	if err := json.Unmarshal(log.Entries[len(end)-2].Data, &ops); err != nil || ops.Contact != "+34600123456" || ops.Op != "remember" || len(ops.Facts) != 1 {
		r.t.Fatalf("%+v, %v", ops, err)
	}
	r.until(o, id, "the store has what it taught", func(piece) bool { return len(r.held(o).Facts) > 0 })
	m := r.held(o)
	if len(m.Facts) != 1 || m.Facts[0].Text != "Es alérgica a la penicilina." || m.Facts[0].Source != id || m.Facts[0].Quote == "" {
		r.t.Fatalf("remembered: %+v", m)
	}
	var other v1.Memory
	o.get(r.t, "/v1/contacts/+34911111111/memory", &other)
	if len(other.Facts) != 0 {
		r.t.Fatalf("of another contact: %+v", other)
	}
}

// A worker is killed between the hang-up and the remembering. The next one
// remembers the call from its log, once, for the contact that the platform knows;
// the next call recalls it; and an erasure takes it all away, for good when the
// database comes back from a backup.
func TestACallIsRememberedAfterAKillAndForgottenAfterARestore(t *testing.T) {
	for _, k := range keepings {
		t.Run(k.name, func(t *testing.T) { k.open(t).rememberAndForget() })
	}
}

func (r *rememberings) rememberAndForget() {
	id := r.killedBeforeItRemembers("Soy alérgica a la penicilina.")
	r.oracle.stalls.Store(false)
	w := r.start()
	r.once(operator{base: w.api}, id)
	w.kill()
	w = r.start()
	o := operator{base: w.api}
	r.once(o, id)

	second := r.tell(w, "¿A qué medicina soy alérgica, la penicilina?")
	r.recalled(o, second, id)
	r.evaluates(o)
	w.terminate()

	restore := r.backUp()
	w = r.start()
	r.forget(operator{base: w.api}, []string{id, second})
	w.terminate()
	r.holds(0)
	restore()
	r.holds(1)
	w = r.start()
	r.forgotten(operator{base: w.api}, []string{id, second})
	w.terminate()
}

// holds looks into the records while nothing runs.
func (r *rememberings) holds(facts int) {
	r.t.Helper()
	db, err := openDatabase(r.t.Context(), databaseOr(""), r.data, zap.NewNop())
	if err != nil {
		r.t.Fatal(err)
	}
	held, err := db.Current(r.t.Context(), calllog.DefaultOrg, "+34600123456")
	if err := errors.Join(err, db.Close()); err != nil || len(held) != facts {
		r.t.Fatalf("%d facts in the records, want %d: %v", len(held), facts, err)
	}
}

// killedBeforeItRemembers makes a call of which the model tells nothing until its
// worker is killed.
func (r *rememberings) killedBeforeItRemembers(words string) (id string) {
	r.t.Helper()
	r.oracle.stalls.Store(true)
	w := r.start()
	id = r.tell(w, words)
	<-r.oracle.asked
	w.kill()
	for _, e := range r.readSpool(id) {
		if e.Type == (turn.MemoryOps{}).EventType() && strings.Contains(string(e.Data), `"remember"`) || e.Type == (turn.CallSummary{}).EventType() {
			r.t.Fatalf("it was remembered before it was killed: %s", e.Data)
		}
	}
	return id
}

// recalled checks that a call was told what an earlier one had taught.
func (r *rememberings) recalled(o operator, call, taught string) {
	r.t.Helper()
	recalled := false
	for _, e := range r.sealed(o, call).Entries {
		var ops turn.MemoryOps
		if e.Type == ops.EventType() && json.Unmarshal(e.Data, &ops) == nil && ops.Op == "recall" {
			recalled = len(ops.Facts) == 1 && ops.Facts[0].Source == taught && ops.Contact == "+34600123456"
		}
	}
	if !recalled || !r.oracle.heard(`Es alérgica a la penicilina.`) {
		r.t.Fatalf("%s did not recall what %s taught", call, taught)
	}
}

// forget erases the caller over HTTP and looks at the receipt.
func (r *rememberings) forget(o operator, calls []string) {
	r.t.Helper()
	var receipt contacts.Receipt
	if err := (elsewhere{base: o.base}).send(r.t.Context(), http.MethodDelete, contactPath("+34600123456"), nil, &receipt); err != nil {
		r.t.Fatalf("forget: %v", err)
	}
	if receipt.Facts.Erased != 1 || receipt.Logs.Calls != len(calls) || receipt.Logs.Entries < 4 || len(receipt.Ledger) != 64 {
		r.t.Fatalf("receipt: %+v", receipt)
	}
	r.forgotten(o, calls)
}

// forgotten checks that nothing of the caller is left but the calls' skeletons.
func (r *rememberings) forgotten(o operator, calls []string) {
	r.t.Helper()
	if m := r.held(o); len(m.Facts)+len(m.History) != 0 {
		r.t.Fatalf("still remembered: %+v", m)
	}
	for _, id := range calls {
		log := r.log(o, id)
		if len(log.Entries) < 5 || !log.Sealed {
			r.t.Fatalf("%s has %d entries, sealed %v", id, len(log.Entries), log.Sealed)
		}
		for _, e := range log.Entries {
			if text := string(e.Data); strings.Contains(text, "penicilina") || strings.Contains(text, "600123456") {
				r.t.Fatalf("%s: %s still says %s", id, e.Type, text)
			}
		}
	}
	file, err := filepath.Glob(filepath.Join(r.data, "erasures", "*"))
	if err != nil || len(file) != 2 {
		r.t.Fatalf("ledger: %v, %v", file, err)
	}
}

// evaluates asks a golden of the agent's memory, whose scratch contacts leave
// nothing behind.
func (r *rememberings) evaluates(o operator) {
	r.t.Helper()
	questions := []golden.Question{
		{Holds: []golden.Hold{{Text: "Prefiere las citas por la mañana."}, {Text: "Tiene un gato."}}, Asks: "¿Cuándo prefiere las citas?", Expects: "por la  MAÑANA"},
		{Holds: []golden.Hold{{Text: "Tiene un gato."}}, Asks: "¿A qué es alérgica?", Expects: "penicilina"},
	}
	var report golden.Report
	if err := (elsewhere{base: o.base}).send(r.t.Context(), http.MethodPost, "/v1/contacts/memory/eval", questions, &report); err != nil {
		r.t.Fatalf("evaluate: %v", err)
	}
	if report.Questions != 2 || report.Answered != 1 || report.Answers[0].Rank != 1 {
		r.t.Fatalf("report: %+v", report)
	}
	if m := r.held(o); len(m.Facts) != 1 {
		r.t.Fatalf("a golden changed what is held: %+v", m)
	}
}
