package worker_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"headstart/turn"
	"headstart/worker"
	"headstart/worker/caller"
	"headstart/worker/room/audio"
)

// hearTo waits until the agent, from a moment on, has spoken and fallen silent.
func hearTo(t *testing.T, c *caller.Caller, after time.Time) time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	at, err := c.WaitSound(ctx, after)
	if err != nil {
		t.Fatalf("the agent said nothing: %v", err)
	}
	if err := c.WaitSilent(ctx, 800*time.Millisecond); err != nil {
		t.Fatalf("the agent did not fall silent: %v", err)
	}
	return at
}

func TestAWebVisitorTypesAndHearsTheAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, "", nil) // automatic dispatch
	visitor := b.dial("web", nil)
	hearTo(t, visitor, visitor.Dialed())
	typedAt := time.Now()
	if err := visitor.Chat(t.Context(), "¿A qué hora abren los sábados?"); err != nil {
		t.Fatalf("chat: %v", err)
	}
	hearTo(t, visitor, typedAt)
	if rms := audio.RMS(caller.PCM(visitor.Heard(typedAt, time.Time{}))); rms < 100 {
		t.Fatalf("the answer has an RMS of %.0f: that is no speech", rms)
	}
	if err := visitor.Hangup(); err != nil {
		t.Fatalf("hang up: %v", err)
	}

	entries := b.log("web")
	started := first[turn.CallStarted](entries)
	if started.Channel != "web" || started.Contact != nil {
		t.Fatalf("started %+v: want a web call of nobody", started)
	}
	user, docs, agent := first[turn.TurnUser](entries), first[turn.DocsSources](entries), all[turn.TurnAgent](entries)
	if user.Medium != "text" || len(docs.Sources) == 0 || docs.Sources[0].Path != "horarios.md" || docs.SpeechID != user.SpeechID {
		t.Fatalf("user %+v, docs %+v", user, docs)
	}
	if len(agent) != 2 || agent[0].Text != greeting || agent[1].SpeechID != user.SpeechID || agent[1].Interrupted {
		t.Fatalf("agent's turns %+v", agent)
	}
	checkOrder(t, entries)
}

// checkOrder holds what is so of every log: seq from 1 and rising, started
// first, the summary last, and nothing said after the end.
func checkOrder(t *testing.T, entries []turn.Entry) {
	t.Helper()
	var types []string
	last := int64(0)
	for _, e := range entries {
		if e.Seq <= last {
			t.Fatalf("seq %d follows %d", e.Seq, last)
		}
		last = e.Seq
		types = append(types, e.Type)
	}
	if types[0] != "call.started" || entries[0].Seq != 1 {
		t.Fatalf("the log begins with %s, seq %d", types[0], entries[0].Seq)
	}
	ended := slices.Index(types, "call.ended")
	if ended < 0 || types[len(types)-1] != "call.summary" || slices.Index(types[:len(types)-1], "call.summary") >= 0 {
		t.Fatalf("the log ends with %v", types[max(0, len(types)-4):])
	}
	for _, after := range types[ended+1:] {
		if after != "call.summary" {
			t.Fatalf("%s stands after call.ended", after)
		}
	}
	user, docs, agent := slices.Index(types, "turn.user"), slices.Index(types, "docs.sources"), lastIndex(types, "turn.agent")
	if docs >= 0 && docs < user || agent > user && agent < docs {
		t.Fatalf("turn.user, docs.sources and turn.agent are out of order:\n%s", strings.Join(types, "\n"))
	}
}

func lastIndex(types []string, want string) int {
	for i := len(types) - 1; i >= 0; i-- {
		if types[i] == want {
			return i
		}
	}
	return -1
}

func TestAPhoneCallWithABargeIn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "clinica", nil) // explicit dispatch
	ana := b.dial("phone", phone)
	hearTo(t, ana, ana.Dialed())
	said, err := ana.Say(t.Context(), recording(t, "es-2/01-colonoscopia.wav"), 16000)
	if err != nil {
		t.Fatalf("say: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := ana.WaitSound(ctx, said.Add(4200*time.Millisecond)); err != nil {
		t.Fatalf("no answer: %v", err)
	}
	barged, err := ana.Say(t.Context(), recording(t, "es-2/02-cancelacion.wav"), 16000)
	if err != nil {
		t.Fatalf("barge in: %v", err)
	}
	// The agent must be silent while the caller still speaks: interrupted
	// after 500 ms of speech, which begins 180 ms into the recording.
	loud := caller.PCM(ana.Heard(barged.Add(2500*time.Millisecond), barged.Add(4*time.Second)))
	if rms := audio.RMS(loud); rms > 100 {
		t.Fatalf("the agent goes on over the caller: RMS %.0f", rms)
	}
	hearTo(t, ana, barged.Add(4600*time.Millisecond))
	if err := ana.Hangup(); err != nil {
		t.Fatalf("hang up: %v", err)
	}

	entries := b.log("phone")
	checkOrder(t, entries)
	started := first[turn.CallStarted](entries)
	if started.Channel != "phone" || started.Contact == nil || started.Contact.ID != "+34600123456" {
		t.Fatalf("started %+v", started)
	}
	docs := all[turn.DocsSources](entries)
	if len(docs) != 2 || docs[0].Sources[0].Path != "preparacion-colonoscopia.md" || docs[1].Sources[0].Path != "cancelaciones.md" {
		t.Fatalf("sources %+v", docs)
	}
	for _, d := range docs {
		if d.StartedMS >= 0 || d.WaitedMS > 1 {
			t.Errorf("lookup of %q began %v ms from the end of speech, and cost %v ms", d.Query, d.StartedMS, d.WaitedMS)
		}
	}
	agent := all[turn.TurnAgent](entries)
	if len(agent) != 3 || !agent[1].Interrupted || agent[2].Interrupted {
		t.Fatalf("agent's turns %+v", agent)
	}
	if ended := first[turn.CallEnded](entries); ended.Reason != "caller_hung_up" || ended.EndedBy != "caller" {
		t.Fatalf("ended %+v", ended)
	}
}

func TestDigitsRunNoLookup(t *testing.T) {
	t.Parallel()
	b := newBench(t, "digits", nil)
	ana := b.dial("phone", phone)
	hearTo(t, ana, ana.Dialed())
	said, err := ana.Say(t.Context(), recording(t, "es-2/04-telefono.wav"), 16000)
	if err != nil {
		t.Fatalf("say: %v", err)
	}
	hearTo(t, ana, said.Add(3700*time.Millisecond))
	if err := ana.Hangup(); err != nil {
		t.Fatalf("hang up: %v", err)
	}
	entries := b.log("phone")
	if docs := all[turn.DocsSources](entries); len(docs) != 0 {
		t.Fatalf("digits were looked up: %+v", docs)
	}
	if user := first[turn.TurnUser](entries); !strings.HasPrefix(user.Text, "seis cero cero") {
		t.Fatalf("user's turn %+v", user)
	}
	if agent := all[turn.TurnAgent](entries); !strings.HasPrefix(agent[len(agent)-1].Text, "Gracias, tomo nota de seis cero cero") {
		t.Fatalf("agent's turns %+v", agent)
	}
}

func TestAppNamesTheContact(t *testing.T) {
	t.Parallel()
	b := newBench(t, "contact", nil)
	metadata, _ := json.Marshal(map[string]string{"contact": "paciente-42"})
	ana := b.dial("phone", func(cfg *caller.Config) {
		phone(cfg)
		cfg.JobMetadata = string(metadata)
	})
	hearTo(t, ana, ana.Dialed())
	if err := ana.Hangup(); err != nil {
		t.Fatalf("hang up: %v", err)
	}
	contact := first[turn.CallStarted](b.log("phone")).Contact
	if contact == nil || contact.ID != "paciente-42" || contact.Phone != "+34600123456" {
		t.Fatalf("contact %+v", contact)
	}
}

func TestDrainLetsTheCallGoOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		drain   time.Duration
		stop    bool // a second signal
		goodbye bool
	}{
		{"until the drain timeout, then says goodbye", 4 * time.Second, false, true},
		{"until a second signal, then ends at once", time.Minute, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newDrainingBench(t, "drain-"+strconv.FormatBool(tt.stop), tt.drain, nil)
			ana := b.dial("phone", phone)
			hearTo(t, ana, ana.Dialed())
			b.drain()
			asked := time.Now()
			if err := ana.Chat(t.Context(), "¿Qué seguros aceptan para las consultas?"); err != nil {
				t.Fatalf("chat: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if _, err := ana.WaitSound(ctx, asked); err != nil { // a draining worker still answers
				t.Fatalf("no answer: %v", err)
			}
			if tt.stop {
				b.stop()
			}
			entries := b.log("phone")
			select {
			case err := <-b.served:
				b.served <- nil // for the clean-up
				if err != nil {
					t.Fatalf("serve: %v", err)
				}
			case <-time.After(patience):
				t.Fatal("the worker goes on after its last log was sealed")
			}
			if ended := first[turn.CallEnded](entries); ended.Reason != "drained" || ended.EndedBy != "platform" {
				t.Fatalf("ended %+v", ended)
			}
			agent := all[turn.TurnAgent](entries)
			if last := agent[len(agent)-1]; (last.Kind == turn.KindGoodbye && !last.Interrupted) != tt.goodbye {
				t.Fatalf("last said %+v", last)
			}
			checkOrder(t, entries)
		})
	}
}

func TestTheCeilingEndsTheCallForTheCallerToo(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ceiling", func(_ *worker.Config, s *worker.Served) { s.Agent.MaxDurationS = 3 })
	ana := b.dial("phone", phone)
	var closed caller.Closed
	b.eventually("the caller is hung up on", func() bool {
		select {
		case ev := <-ana.Events():
			c, ok := ev.(caller.Closed)
			closed = c
			return ok
		default:
			return false
		}
	})
	if closed.Reason != "ROOM_DELETED" {
		t.Fatalf("the caller's line was closed by %s", closed.Reason)
	}
	if ended := first[turn.CallEnded](b.log("phone")); ended.Reason != "timeout" {
		t.Fatalf("ended %+v", ended)
	}
}
