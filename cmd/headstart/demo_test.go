package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/store/postgres/postgrestest"
	"headstart/worker/demo"
	"headstart/worker/devserver/devservertest"
)

// What the demo shows of memory, in PostgreSQL: the second call from a number
// recalls what the first one taught, and a fact that the policy forgets, one that
// names a tool and one that was planted as an instruction are refused with reasons.
// CI runs the whole demo on SQLite.
func TestTheDemoRemembersInPostgreSQL(t *testing.T) {
	server := devservertest.Start(t)
	t.Setenv("LIVEKIT_API_KEY", server.APIKey)
	t.Setenv("LIVEKIT_API_SECRET", server.APISecret)
	t.Setenv("HEADSTART_VOICE_LOOKUP_BUDGET_MS", "20000") // a slow machine may take its time
	t.Setenv("HEADSTART_DATABASE_URL", postgrestest.Database(t))
	cmd := demoCommand()
	cmd.SetContext(t.Context())
	cmd.SetOut(io.Discard)
	st, err := openStage(cmd, demoOptions{livekitURL: server.URL, data: "../../testdata"})
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
	st.scripts = st.scripts[:2]
	st.scripts[0].Turns = st.scripts[0].Turns[1:] // what teaches, and what is refused
	st.scripts[1].Turns = st.scripts[1].Turns[4:] // what recalls
	report, err := st.calls(true)
	if err != nil {
		t.Fatal(err)
	}
	checkTaught(t, report)
}

func checkTaught(t *testing.T, r demo.Report) {
	t.Helper()
	first, second := r.Calls[0], r.Calls[1]
	var reasons []string
	for _, f := range first.Refused {
		reasons = append(reasons, f.Reason)
		if f.Words == "" {
			t.Errorf("%q is refused without words", f.Text)
		}
	}
	if diff := cmp.Diff([]string{"forget", "tool", "instruction"}, reasons); diff != "" || len(first.Taught) != 1 {
		t.Fatalf("taught %+v; reasons (-want +got):\n%s", first.Taught, diff)
	}
	want := []demo.Fact{{Text: first.Taught[0].Text, Source: first.ID}}
	last := r.Turns[len(r.Turns)-1]
	if diff := cmp.Diff(want, last.Recalled); diff != "" || last.Call != second.Script {
		t.Fatalf("recalled by %s (-want +got):\n%s\n%+v", last.Call, diff, r.Calls)
	}
}
