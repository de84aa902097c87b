package turn

import (
	"container/heap"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"headstart/memory"
	"headstart/retrieval"
	"headstart/turn/llm"
	"headstart/turn/stt"
)

// This test is in the package, unlike the others: it drives the step itself,
// which has no clock and so takes a hundred thousand calls in seconds.

var schedules = flag.Int("turn.schedules", 100_000, "how many random calls TestRandomSchedules makes")

// TestRandomSchedules makes random calls of speech, interims, finals, barge-ins,
// keys, slow and deaf lookups, slow and dying models and voices, and hang-ups,
// and holds what must be so in each of them.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	const chunks = 20
	for c := range chunks {
		t.Run(fmt.Sprintf("%d", c), func(t *testing.T) {
			t.Parallel()
			for i := range *schedules / chunks {
				seed := uint64(c)<<32 | uint64(i)
				if broken := playRandomCall(seed, false); broken != "" {
					t.Fatalf("seed %d: %s", seed, playRandomCall(seed, true)) // once more, with notes
				}
			}
		})
	}
}

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
	audible int
	held    int
}

// voicing is a reply that the world speaks.
type voicing struct {
	held, hushed, done bool
	text               string
	heard              bool
	fails              error
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

// analyserOfWords takes every word for a content word.
type analyserOfWords struct{}

func (analyserOfWords) Content(text string) []string {
	return strings.Fields(strings.ReplaceAll(text, "de", ""))
}
func (a analyserOfWords) WorthEarly(text string) bool { return len(a.Content(text)) >= 2 }
func (a analyserOfWords) Worth(text string) bool {
	return strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz")
}

var vocabulary = strings.Fields("quiero una cita para el lunes por la tarde de revisión vale ajá no sí uno dos tres hola precio de la consulta")

func playRandomCall(seed uint64, notes bool) (broken string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &world{rng: rng, notes: notes, turns: map[SpeechID]int{}, replies: map[int]*voicing{}, lookups: map[int]bool{}}
	cfg := Config{
		Language: []string{"es", "en", "pt"}[rng.IntN(3)], LateLookups: w.chance(10), KeysLength: rng.IntN(4),
		Timing: Timing{MaxDuration: time.Duration(5+rng.IntN(60)) * time.Second, MinInterruptionWords: rng.IntN(3)},
	}
	if w.chance(70) {
		cfg.Greeting = Greeting{Say: "hola", Interruptible: w.chance(50)}
	}
	if w.chance(90) {
		cfg.Bases = []retrieval.Attachment{{Base: "b"}}
	}
	if w.chance(80) {
		cfg.Clips = Clips{Fallback: &Clip{Text: "perdone"}, Unheard: &Clip{Text: "no le oigo"}}
	}
	if w.chance(80) {
		cfg.Clips.Goodbye = &Clip{Text: "adiós"}
	}
	w.state = newState(cfg, analyserOfWords{}, w.chance(40))
	w.plan()
	w.play()
	return w.broken
}

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

// play runs the call to its end, and a minute over, for what should have ended.
func (w *world) play() {
	for range 4000 {
		deadline := w.state.nextDeadline()
		next := never
		if len(w.queue) > 0 {
			next = w.queue[0].at
		}
		if w.left || w.broken != "" || min(next, deadline) == never {
			break
		}
		var o occurrence = ticked{}
		if next <= deadline {
			o = heap.Pop(&w.queue).(pending).o
		}
		w.now = max(w.now, min(next, deadline))
		w.note("-- %v %T%+v", w.now, o, o)
		w.happened(o)
		for _, a := range w.state.step(w.now, o) {
			w.perform(a)
		}
		w.checkHistory()
		if len(w.queue) == 0 && w.now > 90*time.Second {
			break
		}
	}
	if !w.left && w.broken == "" {
		w.stepOut()
	}
	w.checkOutcomes()
}

// stepOut ends a call that nobody has ended.
func (w *world) stepOut() {
	for o := occurrence(closed{End{Reason: "caller_hung_up", By: "caller"}}); !w.left && w.broken == ""; {
		w.note("-- %v %T", w.now, o)
		w.happened(o)
		for _, a := range w.state.step(w.now, o) {
			w.perform(a)
		}
		if w.left {
			return
		}
		if len(w.queue) == 0 {
			w.fail("the call was closed and does not end")
			return
		}
		p := heap.Pop(&w.queue).(pending)
		w.now, o = max(w.now, p.at), p.o
	}
}

// happened keeps the world's own books of what it tells the step.
func (w *world) happened(o occurrence) {
	switch o := o.(type) {
	case finished:
		v := w.replies[o.id]
		if !v.done {
			v.done = true
			if v.held {
				w.held--
			} else {
				w.audible--
			}
		}
	case found:
		w.lookups[o.id] = false
	case progressed:
		if o.stage == stageSounding {
			w.replies[o.id].heard = true
		}
	}
}

func (w *world) perform(a action) {
	w.note("   %T%+v", a, a)
	if w.left {
		w.fail("%T after the call had ended", a)
	}
	switch a := a.(type) {
	case record:
		w.recorded(a.event)
	case look:
		w.look(a)
	case drop:
		w.cancel(a)
	case speak:
		w.speak(a)
	case hold:
		w.replies[a.id].held = true
		w.audible--
		w.held++
	case release:
		v := w.replies[a.id]
		if w.state.closing != nil {
			w.fail("reply %d is let go after the call was closed", a.id)
		}
		if v.held {
			v.held = false
			w.held--
			w.audible++
			w.goOn(a.id)
		}
	case hush:
		w.hush(a.id)
	case leave:
		w.left = true
	}
	if w.audible > 1 || w.held > 1 {
		w.fail("%d replies are heard at once, %d are held", w.audible, w.held)
	}
}

func (w *world) look(l look) {
	w.lookups[l.id] = true
	took := w.upTo([]int{5, 150, 600}[w.rng.IntN(3)])
	out := findings{docs: retrieval.Result{Passages: []retrieval.Passage{{ID: fmt.Sprint(w.rng.IntN(3)), Text: "x"}}}}
	switch {
	case l.kind == recall:
		out = findings{facts: []memory.Fact{{Text: "f"}}}
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
	if w.lookups[d.id] && w.chance(80) {
		w.after(w.upTo(30), found{d.id, findings{err: d.cause}})
	}
}

// speak decides how a reply will go.
func (w *world) speak(s speak) {
	switch {
	case w.state.closing != nil:
		w.fail("the agent begins to speak after the call was closed")
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
	if !s.held {
		w.goOn(s.id)
	} else if v.fails != nil && w.chance(70) {
		w.after(w.upTo(600), finished{s.id, outcome{err: v.fails, code: CodeLLM}})
	}
}

// goOn lets a reply sound, and end, or not.
func (w *world) goOn(id int) {
	v := w.replies[id]
	if w.chance(10) {
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
		w.after(first+w.upTo(4000), finished{id, outcome{text: v.text, heard: time.Second, whole: v.fails == nil, err: v.fails, code: CodeTTS}})
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
		}
		kept = append(kept, p)
	}
	w.queue = kept
	heap.Init(&w.queue)
}

func (w *world) recorded(ev Event) {
	switch ev := ev.(type) {
	case TurnUser:
		if _, ok := w.turns[ev.SpeechID]; ok {
			w.fail("turn %s is committed twice", ev.SpeechID)
		}
		w.turns[ev.SpeechID] = 0
	case TurnAgent:
		if ev.Kind == KindReply {
			w.turns[ev.SpeechID]++
		}
	case TurnRefused:
		if ev.Outcome != "superseded" && ev.Outcome != "refused" || ev.Reason == "" {
			w.fail("refused with %+v", ev)
		}
		w.turns[ev.SpeechID]++
	case DocsSources:
		w.checkWait(ev.WaitedMS)
	case MemoryOps:
		w.checkWait(ev.WaitedMS)
	case MetricsTurn:
		sum := ev.EndpointingMS + ev.LookupWaitMS + ev.FirstTokenMS + ev.FirstClauseMS + ev.FirstByteMS + ev.PlayoutMS
		if d := sum - ev.FirstAudioMS; d > 0.01 || d < -0.01 {
			w.fail("the stages add up to %v of %v", sum, ev.FirstAudioMS)
		}
	}
}

func (w *world) checkWait(ms float64) {
	if ms > 260 {
		w.fail("a turn waited %v ms for a lookup", ms)
	}
}

// checkRequest holds what providers demand: sides that alternate, and no tool
// call without its result.
func (w *world) checkRequest(req llm.Request) {
	for i, m := range req.Messages {
		if len(m.ToolCalls) > 0 {
			if i+1 >= len(req.Messages) || req.Messages[i+1].ToolCallID != m.ToolCalls[0].ID {
				w.fail("a tool call without its result")
			}
		}
		if i > 0 && m.Role == req.Messages[i-1].Role && m.Role != llm.System {
			w.fail("two messages of %s follow each other in a request", m.Role)
		}
	}
}

func (w *world) checkHistory() {
	for i, m := range w.state.history {
		if i > 0 && m.Role == w.state.history[i-1].Role {
			w.fail("two messages of %s follow each other in the history", m.Role)
		}
		if strings.TrimSpace(m.Content) == "" {
			w.fail("an empty message in the history")
		}
	}
}

func (w *world) checkOutcomes() {
	for id, n := range w.turns {
		if n != 1 {
			w.fail("turn %s has %d outcomes", id, n)
		}
	}
}

func (w *world) note(format string, args ...any) {
	if w.notes && len(w.log) < 3000 {
		w.log = append(w.log, fmt.Sprintf(format, args...))
	}
}

func (w *world) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...) + "\n" + strings.Join(w.log, "\n")
	}
}
