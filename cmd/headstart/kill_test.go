package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/caller"
	"headstart/worker/calllog"
)

var (
	kills    = flag.Int("kills", 5, "how often the worker is killed in the middle of a call")
	killSeed = flag.Uint64("kill-seed", 1, "of the moments at which it is")
)

// killWithin is the part of a call in which the worker is killed, from when
// operators see the call: the join, the greeting, and questions and answers.
const killWithin = 2500 * time.Millisecond

// talk types questions and presses keys until ctx ends.
func talk(ctx context.Context, c *caller.Caller) {
	for n := 0; ctx.Err() == nil; n++ {
		if n%3 == 2 {
			_ = c.DTMF(ctx, "1#") // the agent may be dead
		} else {
			_ = c.Chat(ctx, []string{"¿A qué hora abren los sábados?", "¿Qué seguros aceptan?"}[n%2])
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// victim is a call whose worker was killed.
type victim struct {
	id       string
	followed []turn.Entry // that a follower was told before the kill
	spooled  []turn.Entry // that the dead process left
}

// murder makes a call, kills its worker after a while, and looks at what it left.
func (k *killing) murder(w *process, after time.Duration) victim {
	k.t.Helper()
	o := operator{base: w.api}
	c, gone, id := k.call(w, o)
	v := victim{id: id}
	moment := time.After(after)
	var beside sync.WaitGroup
	beside.Go(func() { v.followed, _, _ = o.follow(context.WithoutCancel(k.t.Context()), "/v1/calls/"+v.id+"/log") }) // it breaks: that is the test
	talking, stop := context.WithCancel(k.t.Context())
	beside.Go(func() { talk(talking, c) })
	<-moment
	w.kill()
	stop()
	beside.Wait()
	if err := errors.Join(c.Hangup(), <-gone); err != nil {
		k.t.Fatalf("caller: %v", err)
	}
	v.spooled = k.readSpool(v.id)
	return v
}

// readSpool reads what a dead process left of a call, without the package that
// wrote it.
func (k *killing) readSpool(call string) []turn.Entry {
	k.t.Helper()
	files, err := filepath.Glob(filepath.Join(k.data, "spool", "*.spool"))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			k.t.Fatal(err)
		}
		header, rest, _ := bytes.Cut(text, []byte("\n"))
		if bytes.Contains(header, []byte(`"`+call+`"`)) {
			return k.parseSpool(rest)
		}
	}
	k.t.Fatalf("no spool of %s among %v", call, files)
	return nil
}

func (k *killing) parseSpool(text []byte) (entries []turn.Entry) {
	k.t.Helper()
	for line := range strings.Lines(string(text)) {
		line, whole := strings.CutSuffix(line, "\n")
		if !whole {
			break // torn by the kill: Append had not returned
		}
		f := strings.SplitN(line, " ", 5) // checksum, seq, microseconds, type, data
		if len(f) < 4 {
			k.t.Fatalf("spool line %q", line)
		}
		seq, err := strconv.ParseInt(f[1], 10, 64)
		micros, timeErr := strconv.ParseInt(f[2], 10, 64)
		if err := errors.Join(err, timeErr); err != nil {
			k.t.Fatalf("spool line %q: %v", line, err)
		}
		e := turn.Entry{Seq: seq, Time: time.UnixMicro(micros), Call: "", Agent: "prueba", Type: f[3], Ephemeral: len(f) == 4}
		if !e.Ephemeral {
			e.Data = json.RawMessage(f[4])
		}
		entries = append(entries, e)
	}
	return entries
}

// check holds a log against what was seen of it before the kill: no seq that a
// reader saw is missing or another entry's, and it is closed once.
func (v victim) check(t *testing.T, entries []turn.Entry, highest int64, sealed bool) {
	t.Helper()
	for i, e := range v.spooled {
		if e.Seq != int64(i+1) {
			t.Fatalf("%s: entry %d of the spool has seq %d", v.id, i+1, e.Seq)
		}
	}
	last := int64(len(v.spooled))
	if n := len(v.followed); n > 0 && v.followed[n-1].Seq > last {
		t.Fatalf("%s: a follower saw seq %d, the spool ends with %d", v.id, v.followed[n-1].Seq, last)
	}
	for _, seen := range v.followed {
		if kept := v.spooled[seen.Seq-1]; kept.Type != seen.Type || !kept.Ephemeral && string(kept.Data) != string(seen.Data) {
			t.Fatalf("%s: a follower saw %s, the spool has %s", v.id, line(seen), line(kept))
		}
	}
	if len(entries) < 2 || highest != last+2 || !sealed {
		t.Fatalf("%s: %d entries to %d, sealed %v; the spool had %d", v.id, len(entries), highest, sealed, last)
	}
	end := entries[len(entries)-2:]
	var want []string
	for _, e := range v.spooled {
		if !e.Ephemeral {
			want = append(want, line(e))
		}
	}
	var got []string
	for _, e := range entries[:len(entries)-2] {
		got = append(got, line(e))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-spool +log):\n%s", v.id, diff)
	}
	var ended turn.CallEnded
	if err := json.Unmarshal(end[0].Data, &ended); err != nil || end[0].Type != ended.EventType() || end[0].Seq != last+1 ||
		ended.Reason != "error" || ended.EndedBy != "platform" || end[1].Type != (turn.CallSummary{}).EventType() || end[1].Seq != last+2 {
		t.Fatalf("%s ends with %s, %s (%v)", v.id, line(end[0]), line(end[1]), err)
	}
}

// line is an entry in a word.
func line(e turn.Entry) string {
	return fmt.Sprint(e.Seq, " ", e.Time.UnixMicro(), " ", e.Type, " ", string(e.Data))
}

// checkThere reads the log from the worker that was started after the kill.
func (v victim) checkThere(t *testing.T, o operator) {
	t.Helper()
	var p piece
	if status := o.get(t, "/v1/calls/"+v.id+"/log?limit=1000", &p); status != 200 {
		t.Fatalf("log of %s: %d", v.id, status)
	}
	var kept []turn.Entry
	for _, e := range p.Entries {
		if !e.Ephemeral {
			kept = append(kept, e)
		}
	}
	v.check(t, kept, p.Highest, p.Sealed)
}

// A worker process is killed at random moments of its calls. Each next one
// finds the log, completes it once, and all that anybody was shown is there.
func TestAKilledWorkerLosesNothing(t *testing.T) {
	k := newKilling(t)
	random := rand.New(rand.NewPCG(*killSeed, 0))
	var victims []victim
	seen, spooled := 0, 0
	for round := range *kills {
		w := k.start()
		if round > 0 {
			victims[round-1].checkThere(t, operator{base: w.api})
		}
		v := k.murder(w, time.Duration(random.Int64N(int64(killWithin))))
		seen, spooled = seen+len(v.followed), spooled+len(v.spooled)
		victims = append(victims, v)
	}
	w := k.start()
	victims[len(victims)-1].checkThere(t, operator{base: w.api})
	w.terminate()
	k.checkStore(victims)
	t.Logf("%d kills (seed %d): %d entries in spools, %d of them seen by followers; none lost", *kills, *killSeed, spooled, seen)
}

// checkStore looks once nothing runs any more.
func (k *killing) checkStore(victims []victim) {
	t := k.t
	t.Helper()
	if left, err := os.ReadDir(filepath.Join(k.data, "spool")); err != nil || len(left) > 0 {
		t.Fatalf("spools left: %v, %v", left, err)
	}
	book, db, err := openBook(t.Context(), "", k.data, nil, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(book.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}()
	for _, v := range victims {
		page, err := db.Entries(t.Context(), calllog.DefaultOrg, v.id, 0, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		v.check(t, page.Entries, page.Highest, page.Sealed)
		if c, err := db.Call(t.Context(), calllog.DefaultOrg, v.id); err != nil || c.Reason != "error" || !c.Sealed {
			t.Fatalf("call %+v, %v", c, err)
		}
	}
	list, err := db.Calls(t.Context(), calllog.DefaultOrg, len(victims)+10)
	if err != nil || len(list) != len(victims) {
		t.Fatalf("%d calls in the store after %d kills, %v", len(list), len(victims), err)
	}
}
