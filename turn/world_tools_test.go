package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"headstart/retrieval"
	"headstart/turn/llm"
)

// errands are what the app does in one random call, and the books that are kept of it.
type errands struct {
	made    int               // calls that the model made
	open    map[string]string // calls of the log without a result, and their turns
	called  ToolCalled        // the last
	sought  map[string]*seek  // searches that the model called, and that have no result
	sources map[string]bool   // of those that had, the ones that the log has sources of
	ended   map[string]bool   // calls of the log with one
	flying  map[int]flight
	started map[string]bool // arguments of what was run, where the model gave a call its own
	wrote   []string        // calls that write and were run
}

// flight is a call that the app has.
type flight struct {
	writes bool
	call   llm.ToolCall
	due    time.Duration
}

// numbered is a schema of a required n, compiled once for all calls.
var numbered = sync.OnceValue(func() schema {
	s, err := compileSchema(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		panic(err)
	}
	return s
})

// planTools gives the agent tools of every kind.
func (w *world) planTools(cfg *Config) {
	w.errands = errands{open: map[string]string{}, ended: map[string]bool{}, flying: map[int]flight{}, started: map[string]bool{}, sought: map[string]*seek{}, sources: map[string]bool{}}
	if w.chance(50) {
		cfg.ToolBases = []retrieval.Attachment{{Base: "t"}}
	}
	if !w.chance(60) {
		return
	}
	for _, t := range []Tool{{Name: "find", SideEffect: SideEffectRead}, {Name: "book"}, {Name: "pay", SideEffect: SideEffectIrreversible}} {
		t.Timeout = time.Duration(500+w.rng.IntN(8000)) * time.Millisecond
		if w.chance(40) {
			t.Announce = "un momento"
		}
		if w.chance(40) {
			t.Confirm = "hecho {{n}} {{result.when}}"
		}
		cfg.Tools = append(cfg.Tools, t)
	}
	if w.chance(40) {
		cfg.Hangup = &Hangup{}
	}
}

// prepare stands in for prepareTools, which would compile three schemas a call.
func prepare(tools []Tool) map[string]tool {
	prepared := map[string]tool{}
	for _, t := range tools {
		prepared[t.Name] = tool{t, numbered()}
	}
	return prepared
}

// anyCalls lets the model call tools, which it does as it likes.
func (w *world) anyCalls(req llm.Request) []llm.ToolCall {
	if len(req.Tools) == 0 || !w.chance(50) {
		return nil
	}
	var calls []llm.ToolCall
	for range 1 + w.rng.IntN(3)*w.rng.IntN(2) {
		w.errands.made++
		c := llm.ToolCall{
			ID:        fmt.Sprint("c", w.rng.IntN(3)),
			Name:      []string{"find", "find", "book", "book", "pay", "unheard_of", endCall, "search", "search", "search"}[w.rng.IntN(10)],
			Arguments: json.RawMessage([]string{fmt.Sprintf(`{"n":%d}`, 1+w.errands.made), `{"n":1}`, `{}`}[w.rng.IntN(10)/4%3]),
		}
		if c.Name == "search" {
			c.Arguments = json.RawMessage([]string{`{"query":"precio"}`, `{"query":"precio"}`, `{"query":"12"}`, `{"query":"precio","org":"other"}`, `{}`}[w.rng.IntN(5)])
		}
		calls = append(calls, c)
	}
	return calls
}

// call has the model call tools at the end of its answer, and end there when it says
// nothing besides.
func (w *world) call(id int, v *voicing) {
	at := w.upTo([]int{50, 900}[w.rng.IntN(2)])
	v.calledAt = w.now + at
	w.after(at, called{id, v.calls, v.said})
	if !v.said {
		w.after(at, finished{id, outcome{whole: true, calls: v.calls}})
	}
}

// runTool lets the app do what it is asked: at once, slowly, never, or not at all.
func (w *world) runTool(r run) {
	f := flight{call: r.call, writes: r.call.Name != "find", due: w.now + r.timeout}
	key := r.call.Name + string(r.call.Arguments)
	own := string(r.call.Arguments) != `{"n":1}`
	switch {
	case w.state.closing != nil:
		w.fail("a tool is run after the call was closed")
	case r.call.Name == "search":
		w.fail("the app is asked to search")
	case !w.committed(r.call.ID):
		w.fail("%s is run before its turn is committed", r.call.Name)
	case own && w.errands.started[key]:
		w.fail("%s is run twice", key)
	}
	for _, other := range w.errands.flying {
		if f.writes && other.call.Name == r.call.Name && string(other.call.Arguments) == string(r.call.Arguments) {
			w.fail("%s is run while it runs", key)
		}
	}
	w.errands.started[key] = true
	if f.writes {
		w.errands.wrote = append(w.errands.wrote, r.call.ID)
	}
	w.errands.flying[r.id] = f
	took := w.upTo([]int{20, 3000, 12000}[w.rng.IntN(3)])
	switch w.rng.IntN(10) {
	case 0: // it hangs
	case 1:
		w.after(took, returned{r.id, ToolOutput{Error: "no free slot"}, nil})
	case 2:
		w.after(took, returned{r.id, ToolOutput{}, errors.New("the app has gone")})
	case 3:
		w.after(took, returned{r.id, ToolOutput{Output: json.RawMessage("{")}, nil})
	default:
		w.after(took, returned{r.id, ToolOutput{Output: json.RawMessage(`{"when":"lunes"}`)}, nil})
	}
}

// committed tells whether the turn of a call has been committed.
func (w *world) committed(call string) bool {
	_, ok := w.turns[SpeechID(w.errands.open[call])]
	return ok
}

// seek is a search that the model called.
type seek struct {
	look    int
	due     time.Duration
	dropped bool // it was cancelled
}

// dropSeek holds that a search is cancelled once.
func (w *world) dropSeek(d drop) {
	for id, s := range w.errands.sought {
		if s.look != d.id {
			continue
		}
		if s.dropped {
			w.fail("the search %s is cancelled twice", id)
		}
		s.dropped = true
	}
}

// search makes a search that the model called for.
func (w *world) search(l look) {
	switch called := w.errands.called; {
	case w.state.closing != nil:
		w.fail("a search is made after the call was closed")
	case !w.committed(called.CallID):
		w.fail("a search is made before its turn is committed")
	case called.Name != "search" || l.query != "precio":
		w.fail("%q is searched for %s%s", l.query, called.Name, called.Arguments)
	case !slices.Equal(l.before, w.leans[called.SpeechID]):
		w.fail("%q leans on %q, said was %q", l.query, l.before, w.leans[called.SpeechID])
	}
	w.errands.sought[w.errands.called.CallID] = &seek{look: l.id, due: w.now + w.state.cfg.Timing.LookupBudget + lookupGrace}
}

// quitTool cancels a call; the app may answer it all the same.
func (w *world) quitTool(q quit) {
	f, ok := w.errands.flying[q.id]
	if !ok {
		w.fail("call %d is cancelled and does not run", q.id)
	}
	if f.writes && !errors.Is(q.cause, errToolLate) && w.state.closing == nil {
		w.fail("%s, which writes, is cancelled: %v", f.call.Name, q.cause)
	}
	delete(w.errands.flying, q.id)
	if w.chance(50) {
		w.after(w.upTo(300), returned{q.id, ToolOutput{}, q.cause})
	}
}

// checkFlights holds that the app is waited for no longer than the tool's timeout.
func (w *world) checkFlights() {
	for _, f := range w.errands.flying {
		if w.now >= f.due {
			w.fail("%s is waited for until %v, due was %v", f.call.Name, w.now, f.due)
		}
	}
	for id, s := range w.errands.sought {
		if w.now >= s.due {
			w.fail("the search %s is waited for until %v, due was %v", id, w.now, s.due)
		}
	}
}

func (w *world) writing() bool {
	for _, f := range w.errands.flying {
		if f.writes {
			return true
		}
	}
	return false
}

// toolRecorded holds that each call in the log has one result, after it.
func (w *world) toolRecorded(ev Event) {
	switch ev := ev.(type) {
	case ToolCalled:
		if _, ok := w.errands.open[ev.CallID]; ok || w.errands.ended[ev.CallID] {
			w.fail("two calls have the id %s", ev.CallID)
		}
		w.errands.open[ev.CallID] = string(ev.SpeechID)
		w.errands.called = ev
	case DocsSources:
		if ev.CallID != "" && (w.errands.sought[ev.CallID] == nil || w.errands.open[ev.CallID] != string(ev.SpeechID)) {
			w.fail("sources of %s in %s, which does not search", ev.CallID, ev.SpeechID)
		}
		w.errands.sources[ev.CallID] = true
	case ToolResulted:
		if w.errands.open[ev.CallID] != string(ev.SpeechID) {
			w.fail("a result of %s in %s without its call", ev.CallID, ev.SpeechID)
		}
		if (ev.Output == nil) == (ev.Error == "") {
			w.fail("the result %+v is not one of an output and an error", ev)
		}
		if chunks, _ := ev.Output.(json.RawMessage); strings.Contains(string(chunks), `"path"`) && !w.errands.sources[ev.CallID] {
			w.fail("%s was found and the log has no sources", chunks)
		}
		if s := w.errands.sought[ev.CallID]; s != nil && !s.dropped && w.lookups[s.look] {
			w.fail("the search %s has its result and runs on", ev.CallID)
		}
		delete(w.errands.sought, ev.CallID)
		delete(w.errands.open, ev.CallID)
		w.errands.ended[ev.CallID] = true
	}
}

// checkCalls holds that each call of a tool is followed by its result, in order, and
// that there is no other result.
func (w *world) checkCalls(list []llm.Message) {
	var due []string
	for _, m := range list {
		if m.Role == llm.ToolRole {
			if len(due) == 0 || due[0] != m.ToolCallID || m.Content == "" {
				w.fail("a result of %s, due are %q", m.ToolCallID, due)
				return
			}
			due = due[1:]
			continue
		}
		if len(due) > 0 {
			break
		}
		for _, c := range m.ToolCalls {
			due = append(due, c.ID)
		}
	}
	if len(due) > 0 {
		w.fail("tool calls %q are without their results", due)
	}
}

// checkErrands holds, of a call that is over, that nothing is left of what the app did.
func (w *world) checkErrands() {
	if len(w.errands.open) > 0 {
		w.fail("calls without a result: %v", w.errands.open)
	}
	if len(w.errands.flying) > 0 {
		w.fail("calls that nobody waits for: %v", w.errands.flying)
	}
	for _, id := range w.errands.wrote {
		if !slices.ContainsFunc(w.state.history, func(m llm.Message) bool { return m.ToolCallID == id }) {
			w.fail("the history has no result of %s, which wrote", id)
		}
	}
	if n := slices.IndexFunc(w.state.history, func(m llm.Message) bool { return strings.Contains(m.Content, `"running"`) }); n >= 0 {
		w.fail("message %d of the history has no result at the end", n)
	}
}
