package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/memory"
	"headstart/store/postgres/postgrestest"
	"headstart/turn"
	"headstart/worker/caller"
	"headstart/worker/demo"
	"headstart/worker/devserver/devservertest"
)

// What the demo shows of memory, in PostgreSQL: the second call from a number
// recalls what the first one taught, and a fact that the policy forgets, one that
// names a tool and one that was planted as an instruction are refused with reasons.
// The calls are the demo's, its worker's and its model's; they are typed, so that no
// sound that comes late changes what is heard. CI makes them aloud, on SQLite.
func TestTheDemoRemembersInPostgreSQL(t *testing.T) {
	livekit := devservertest.Start(t)
	t.Setenv("LIVEKIT_API_KEY", livekit.APIKey)
	t.Setenv("LIVEKIT_API_SECRET", livekit.APISecret)
	t.Setenv("HEADSTART_VOICE_LOOKUP_BUDGET_MS", "20000") // a slow machine may take its time
	t.Setenv("HEADSTART_DATABASE_URL", postgrestest.Database(t))
	cmd := demoCommand()
	cmd.SetContext(t.Context())
	cmd.SetOut(io.Discard)
	st, err := openStage(cmd, demoOptions{livekitURL: livekit.URL, data: "../../testdata"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.close(); err != nil {
			t.Error(err)
		}
	}()
	if !strings.Contains(st.settings.database, "headstart_scratch_") {
		t.Fatal("the demo writes into the database that was named")
	}
	first, second := st.scripts[0], st.scripts[1]
	first.Turns, second.Turns = first.Turns[1:], second.Turns[4:] // what teaches or is refused, and what recalls
	_, err = withWorker(t.Context(), st, true, func(srv *server) (struct{}, error) {
		id, learned := typed(t, st, srv, first)
		checkTaught(t, lastOf[turn.MemoryOps](learned))
		_, recalled := typed(t, st, srv, second)
		checkDemoRecall(t, eventsOf[turn.MemoryOps](recalled), id, lastOf[turn.MemoryOps](learned).Facts[0].Text)
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// typed makes a call of the demo in which its words are typed, each once the answer
// before is over, and returns its log.
func typed(t *testing.T, st *stage, srv *server, s demo.Script) (id string, entries []turn.Entry) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	room := t.Name() + "-" + s.ID
	c, err := caller.Dial(ctx, caller.Config{
		URL: st.settings.url, APIKey: st.settings.apiKey, APISecret: st.settings.apiSecret, AgentName: demoAgent, Room: room,
		Kind: caller.Phone, Number: s.From, Trunk: s.To, JobMetadata: fmt.Sprintf(`{"agent":%q}`, st.agentsByLanguage()[s.Language]), Log: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Run(context.WithoutCancel(ctx)) }() // the hang-up ends it
	err = typeAll(ctx, c, s)
	if err := errors.Join(err, c.Hangup(), <-gone); err != nil {
		t.Fatalf("call %s: %v", s.ID, err)
	}
	if id, entries, err = (bookLogs{srv}).Sealed(ctx, room); err != nil {
		t.Fatalf("call %s: %v", s.ID, err)
	}
	return id, entries
}

func typeAll(ctx context.Context, c *caller.Caller, s demo.Script) error {
	asked := c.Dialed()
	for i := 0; ; i++ {
		_, err := c.WaitSound(ctx, asked)
		if err := errors.Join(err, c.WaitSilent(ctx, time.Second)); err != nil || i == len(s.Turns) {
			return err
		}
		asked = time.Now()
		if err := c.Chat(ctx, s.Turns[i].Text); err != nil {
			return err
		}
	}
}

func lastOf[E turn.Event](entries []turn.Entry) (last E) {
	for _, ev := range eventsOf[E](entries) {
		last = ev
	}
	return last
}

func checkTaught(t *testing.T, ops turn.MemoryOps) {
	t.Helper()
	var reasons []memory.Reason
	for _, f := range ops.Refused {
		reasons = append(reasons, f.Reason)
		if f.Words == "" {
			t.Errorf("%q is refused without words", f.Text)
		}
	}
	want := []memory.Reason{memory.BecauseForget, memory.BecauseTool, memory.BecauseInstruction}
	if diff := cmp.Diff(want, reasons); diff != "" || ops.Op != turn.OpRemember || len(ops.Facts) != 1 {
		t.Fatalf("remembered %+v; reasons (-want +got):\n%s", ops, diff)
	}
}

// checkDemoRecall looks for what one call taught in the recalls of the next.
func checkDemoRecall(t *testing.T, ops []turn.MemoryOps, source, text string) {
	t.Helper()
	for _, op := range ops {
		if op.Op == "recall" && len(op.Facts) == 1 && op.Facts[0].Source == source && op.Facts[0].Text == text {
			return
		}
	}
	t.Fatalf("%q of %s was not recalled: %+v", text, source, ops)
}
