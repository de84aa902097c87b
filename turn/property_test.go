package turn

import (
	"container/heap"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"headstart/retrieval"
	"headstart/turn/llm"
)

// This test is in the package, unlike the others: it drives the step itself,
// which has no clock and so takes a hundred thousand calls in seconds.

var schedules = flag.Int("turn.schedules", 100_000, "how many random calls TestRandomSchedules makes")

// TestRandomSchedules makes random calls of speech, interims, finals, barge-ins,
// keys, slow and deaf lookups, before the answer and because the model called them, slow and
// dying models and voices, tools that read and write, are fast, slow, failing, hanging or
// without their app, and hang-ups, and holds what must be so in each of them.
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
	w := &world{rng: rng, notes: notes, turns: map[SpeechID]int{}, replies: map[int]*voicing{}, lookups: map[int]bool{}, leans: map[SpeechID][]string{}}
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
	w.planTools(&cfg)
	if w.chance(80) {
		cfg.Clips.Handover, cfg.Clips.Kept = &Clip{Text: "le paso"}, &Clip{Text: "no pude"}
	}
	w.state = newState(cfg, analyserOfWords{}, w.chance(40))
	maps.Copy(w.state.tools, prepare(cfg.Tools))
	w.plan()
	w.play()
	return w.broken
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
		w.checkFlights()
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
	case returned:
		delete(w.errands.flying, o.id)
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
	case run:
		w.runTool(a)
	case quit:
		w.quitTool(a)
	case leave:
		w.left = true
	}
	if w.audible > 1 || w.held > 1 {
		w.fail("%d replies are heard at once, %d are held", w.audible, w.held)
	}
}

func (w *world) recorded(ev Event) {
	w.toolRecorded(ev)
	switch ev := ev.(type) {
	case TurnUser:
		if _, ok := w.turns[ev.SpeechID]; ok {
			w.fail("turn %s is committed twice", ev.SpeechID)
		}
		w.turns[ev.SpeechID] = 0
		for _, u := range w.said[max(0, len(w.said)-2):] {
			w.leans[ev.SpeechID] = append(w.leans[ev.SpeechID], u.Text)
		}
		if ev.Medium != mediumKeys {
			w.said = append(w.said, ev)
		}
	case TurnAgent:
		if ev.Kind == KindReply {
			w.turns[ev.SpeechID]++
		}
	case TurnRefused:
		if ev.Outcome != "superseded" && ev.Outcome != "refused" || ev.Reason == "" {
			w.fail("refused with %+v", ev)
		}
		w.turns[ev.SpeechID]++
		if ev.Reason == lateWords {
			w.said = slices.DeleteFunc(w.said, func(u TurnUser) bool { return u.SpeechID == ev.SpeechID })
		}
	case DocsSources:
		w.checkWait(ev.WaitedMS)
	case MemoryOps:
		w.checkWait(ev.WaitedMS)
	case MetricsTurn:
		sum := ev.EndpointingMS + ev.LookupWaitMS + ev.ToolsMS + ev.FirstTokenMS + ev.FirstClauseMS + ev.FirstByteMS + ev.PlayoutMS
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
	w.checkCalls(req.Messages)
	for i, m := range req.Messages {
		if i > 0 && m.Role == req.Messages[i-1].Role && m.Role != llm.System && m.Role != llm.ToolRole {
			w.fail("two messages of %s follow each other in a request", m.Role)
		}
	}
}

func (w *world) checkHistory() {
	w.checkCalls(w.state.history)
	for i, m := range w.state.history {
		if i > 0 && m.Role == w.state.history[i-1].Role && m.Role != llm.ToolRole {
			w.fail("two messages of %s follow each other in the history", m.Role)
		}
		if strings.TrimSpace(m.Content) == "" && len(m.ToolCalls) == 0 {
			w.fail("an empty message in the history")
		}
	}
}

func (w *world) checkOutcomes() {
	w.checkErrands()
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
