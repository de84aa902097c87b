package turn

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/turn/llm"
	"headstart/turn/stt"
)

// world is all that surrounds the step in one random call.
type world struct {
	rng   *rand.Rand
	state *state
	now   time.Duration
	queue occurrences
	order int

	notes   bool // written, for a call that is known to break something
	log     []string
	broken  string
	left    bool
	turns   map[SpeechID]int // committed turns, and how many outcomes each has
	replies map[int]*voicing
	lookups map[int]bool // running
	errands errands
	said    []TurnUser            // committed and not taken back
	leans   map[SpeechID][]string // what was said before each turn
	audible int
	held    int
}

// voicing is a reply that the world speaks.
type voicing struct {
	held, hushed, done bool
	text               string
	heard              bool
	fails              error
	calls              []llm.ToolCall // of the model's answer
	calledAt           time.Duration
	said               bool // the answer has words
}

type pending struct {
	at    time.Duration
	order int
	o     occurrence
}

type occurrences []pending

func (q occurrences) Len() int { return len(q) }
func (q occurrences) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q occurrences) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *occurrences) Push(x any)   { *q = append(*q, x.(pending)) }
func (q *occurrences) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func (w *world) after(d time.Duration, o occurrence) {
	w.order++
	heap.Push(&w.queue, pending{w.now + d, w.order, o})
}

func (w *world) upTo(ms int) time.Duration { return time.Duration(w.rng.IntN(ms+1)) * time.Millisecond }
func (w *world) chance(percent int) bool   { return w.rng.IntN(100) < percent }

// plan writes what comes from outside: the caller, mostly.
func (w *world) plan() {
	w.after(w.upTo(800), began{})
	at := w.upTo(3000)
	for range 1 + w.rng.IntN(5) {
		at = w.planUtterance(at)
		at += w.upTo(5000)
	}
	for range w.rng.IntN(3) {
		w.after(w.upTo(12000), typed{w.words(1 + w.rng.IntN(5))})
	}
	for range w.rng.IntN(4) {
		w.after(w.upTo(12000), pressed{string("0123456789#"[w.rng.IntN(11)])})
	}
	if w.chance(15) {
		w.after(w.upTo(10000), deafened{errors.New("socket")})
	}
	if w.chance(25) {
		w.after(w.upTo(12000), offering{[]string{"find", "book"}[w.rng.IntN(3):]})
	}
	if w.chance(15) {
		w.after(w.upTo(12000), handedOver{make(chan struct{})})
		w.after(w.upTo(20000), kept{})
	}
	switch end := (End{Reason: "caller_hung_up", By: "caller"}); {
	case w.chance(60):
		w.after(w.upTo(20000), closed{end})
	case w.chance(50):
		w.after(w.upTo(15000), dismissed{End{Reason: "drained", By: "platform"}})
	}
}

// planUtterance makes the caller speak once, in one of the many ways that
// detectors and recognisers tell it.
func (w *world) planUtterance(at time.Duration) time.Duration {
	length := 50*time.Millisecond + w.upTo(2500)
	end := at + length
	detected := w.chance(90)
	if detected {
		w.after(at+64*time.Millisecond, voiced{true, at})
		if length > 500*time.Millisecond {
			w.after(at+500*time.Millisecond, lasted{})
		}
		if w.chance(50) {
			w.after(end+160*time.Millisecond, paused{end})
			if w.chance(40) {
				w.after(end+160*time.Millisecond+w.upTo(600), spokeOn{})
			}
		}
		if w.chance(95) {
			w.after(end+256*time.Millisecond, voiced{false, end})
		}
	}
	if w.chance(15) {
		return end // not a word of it is understood
	}
	text := w.words(1 + w.rng.IntN(6))
	told := strings.Fields(text)
	for i := range told {
		if w.chance(60) {
			w.after(at+length*time.Duration(i+1)/time.Duration(len(told))+w.upTo(200), heard{stt.Event{Kind: stt.Interim, Text: strings.Join(told[:i+1], " ")}})
		}
	}
	late := end + w.upTo(1500)
	switch w.rng.IntN(10) {
	case 0: // its final never comes
	case 1, 2: // the recogniser ends turns
		w.after(end+w.upTo(200), heard{stt.Event{Kind: stt.EagerEndOfTurn, Text: text}})
		if w.chance(30) {
			w.after(end+w.upTo(400), heard{stt.Event{Kind: stt.TurnResumed}})
			text += " " + w.words(1)
		}
		w.after(late, heard{stt.Event{Kind: stt.EndOfTurn, Text: text}})
	case 3: // the final comes in two pieces
		half := len(told) / 2
		w.after(late, heard{stt.Event{Kind: stt.Final, Text: strings.Join(told[:half], " ")}})
		w.after(late+w.upTo(900), heard{stt.Event{Kind: stt.Final, Text: strings.Join(told[half:], " ")}})
	default:
		w.after(late, heard{stt.Event{Kind: stt.Final, Text: text}})
		w.after(late, heard{stt.Event{Kind: stt.EndOfSpeech}})
	}
	return end
}

func (w *world) words(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = vocabulary[w.rng.IntN(len(vocabulary))]
	}
	return strings.Join(list, " ") + []string{"", ".", "?", ","}[w.rng.IntN(4)]
}

// checkBefore holds that a lookup leans on the last two turns of the caller, and
// never on its own.
func (w *world) checkBefore(l look) {
	said := w.said
	leans := func(said []TurnUser) bool {
		var texts []string
		for _, u := range said[max(0, len(said)-2):] {
			texts = append(texts, u.Text)
		}
		return slices.Equal(texts, l.before)
	}
	if n := len(said); n > 0 && said[n-1].Text == l.query && leans(said[:n-1]) {
		return // it is looked up at its commit
	}
	if !leans(said) {
		w.fail("%q leans on %q, said was %+v", l.query, l.before, said)
	}
}

func (w *world) look(l look) {
	switch {
	case len(l.bases) > 0 && l.bases[0].Base == "t":
		w.search(l)
	case l.kind == search && len(l.bases) == 0:
		w.fail("nothing is searched")
	default:
		w.checkBefore(l)
	}
	w.lookups[l.id] = true
	took := w.upTo([]int{5, 150, 600}[w.rng.IntN(3)])
	out := findings{docs: retrieval.Result{Passages: []retrieval.Passage{{ID: fmt.Sprint(w.rng.IntN(3)), Text: "x"}}}}
	switch {
	case l.kind == recall:
		out = findings{memory: memory.Recalled{Facts: []memory.Fact{{Text: "f"}}}}
	case w.chance(20):
		out = findings{}
	case w.chance(10):
		out = findings{err: errors.New("broken")}
	}
	if w.chance(8) {
		return // it never comes back, not even when it is cancelled
	}
	w.after(took, found{l.id, out})
}

// cancel makes a lookup come back soon after it was cancelled.
func (w *world) cancel(d drop) {
	w.dropSeek(d)
	if !w.lookups[d.id] || w.chance(20) {
		return
	}
	out := findings{err: d.cause}
	if errors.Is(d.cause, retrieval.ErrBudgetSpent) && w.chance(40) {
		out = findings{docs: retrieval.Result{Passages: []retrieval.Passage{{ID: "w", Text: "x"}}, Degraded: d.cause}}
	}
	w.after(w.upTo(30), found{d.id, out})
}

// speak decides how a reply will go.
func (w *world) speak(s speak) {
	switch {
	case w.state.closing != nil:
		w.fail("the agent begins to speak after the call was closed")
	case s.held && w.writing():
		w.fail("an answer is begun before its turn is committed while a tool writes")
	case w.state.handover != nil && w.state.farewell == nil && s.clip != w.state.cfg.Clips.Handover:
		w.fail("the agent speaks while the caller is passed on")
	case s.say == "" && s.clip == nil:
		w.checkRequest(s.request)
	}
	v := &voicing{held: s.held, text: "una respuesta"}
	w.replies[s.id] = v
	if s.held {
		w.held++
	} else {
		w.audible++
	}
	if s.clip != nil {
		v.text = s.clip.Text
	} else if w.chance(20) {
		v.fails = errors.New("broken")
	}
	if s.say == "" && s.clip == nil && v.fails == nil {
		v.calls, v.said = w.anyCalls(s.request), w.chance(50)
	}
	if len(v.calls) > 0 {
		w.call(s.id, v)
	}
	if !s.held {
		w.goOn(s.id)
	} else if v.fails != nil && w.chance(70) {
		w.after(w.upTo(600), finished{s.id, outcome{err: v.fails, code: CodeLLM}})
	}
}

// goOn lets a reply sound, and end, or not.
func (w *world) goOn(id int) {
	v := w.replies[id]
	if len(v.calls) > 0 && !v.said || w.chance(10) {
		return // nothing is ever heard of it
	}
	first := w.upTo([]int{100, 2000, 7000}[w.rng.IntN(3)])
	if v.fails != nil && w.chance(50) {
		w.after(first, finished{id, outcome{err: v.fails, code: CodeLLM}})
		return
	}
	w.after(first, progressed{id, stageToken, ""})
	w.after(first, progressed{id, stageSounding, ""})
	w.after(first, progressed{id, stageWords, v.text})
	if w.chance(95) {
		last := max(first+w.upTo(4000), v.calledAt-w.now)
		w.after(last, finished{id, outcome{text: v.text, heard: time.Second, whole: v.fails == nil, err: v.fails, code: CodeTTS, calls: v.calls}})
	}
}

func (w *world) hush(id int) {
	v := w.replies[id]
	if v.hushed {
		w.fail("reply %d is stopped twice", id)
	}
	v.hushed = true
	if v.held && !v.heard { // a draft: it no longer counts
		v.done = true
		w.held--
	}
	out := outcome{}
	if v.heard {
		out = outcome{text: "una", heard: time.Second / 2}
	}
	w.dropReply(id)
	w.after(w.upTo(50), finished{id, out})
}

// dropReply forgets what a reply would have done.
func (w *world) dropReply(id int) {
	kept := w.queue[:0]
	for _, p := range w.queue {
		switch o := p.o.(type) {
		case progressed:
			if o.id == id {
				continue
			}
		case finished:
			if o.id == id {
				continue
			}
		case called: // one on its way may still come
			if o.id == id && w.chance(70) {
				continue
			}
		}
		kept = append(kept, p)
	}
	w.queue = kept
	heap.Init(&w.queue)
}
