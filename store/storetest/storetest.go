// Package storetest owns the contract of package store as a test: every
// implementation runs it. It never looks inside one.
package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn"
	"headstart/worker/calllog"
)

// Store is what an implementation offers of logs.
type Store interface {
	calllog.Store
	calllog.Calls
}

// Run holds the implementation to the contract. open returns an empty store
// that lasts as long as its test.
func Run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, Store)
	}{
		{"EmptyLog", emptyLog},
		{"RoundTrip", roundTrip},
		{"AgentLog", agentLog},
		{"Paging", paging},
		{"ReplayChangesNothing", replay},
		{"ReplayOverlaps", replayOverlaps},
		{"ConflictTakesNothing", conflict},
		{"EphemeralLeavesNoRow", ephemeral},
		{"OrgsAreApart", orgs},
		{"CallFactsOnlyGrow", callFacts},
		{"SealedTakesNothingNew", sealedLog},
		{"CallsNewestFirst", newestFirst},
		{"UnknownCall", unknownCall},
		{"ManyWriters", manyWriters},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

const org = "default"

var began = time.UnixMicro(1_760_000_000_123_456)

// entry makes an entry of call, a millisecond after the one before.
func entry(call string, seq int64, kind string) turn.Entry {
	return turn.Entry{
		Seq: seq, Time: began.Add(time.Duration(seq) * time.Millisecond), Call: call, Agent: "clinica",
		Type: kind, Data: json.RawMessage(fmt.Sprintf(`{"text":"¿%d? \"ñ\"","new":{"field":[1,2.5,null]}}`, seq)),
	}
}

func entries(call string, from, to int64) []turn.Entry {
	var list []turn.Entry
	for seq := from; seq <= to; seq++ {
		list = append(list, entry(call, seq, "turn.user"))
	}
	return list
}

func add(t *testing.T, s Store, batch calllog.Batch) {
	t.Helper()
	if err := s.Append(t.Context(), batch); err != nil {
		t.Fatalf("append: %v", err)
	}
}

func page(t *testing.T, s Store, org, log string, after int64, limit int) calllog.Page {
	t.Helper()
	p, err := s.Entries(t.Context(), org, log, after, limit)
	if err != nil {
		t.Fatalf("read entries: %v", err)
	}
	return p
}

func equal[T any](t *testing.T, what string, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func emptyLog(t *testing.T, s Store) {
	equal(t, "page of a log that is not there", calllog.Page{}, page(t, s, org, "nobody", 0, 10))
	add(t, s, calllog.Batch{Org: org})
	calls, err := s.Calls(t.Context(), org, 10)
	if err != nil || len(calls) != 0 {
		t.Fatalf("calls of an empty store: %v, %v", calls, err)
	}
}

func roundTrip(t *testing.T, s Store) {
	want := []turn.Entry{entry("c", 1, "call.started"), entry("c", 2, "event.of.tomorrow"), entry("c", 5, "turn.agent")}
	add(t, s, calllog.Batch{Org: org, Entries: want})
	equal(t, "page", calllog.Page{Entries: want, Highest: 5}, page(t, s, org, "c", 0, 10))
}

func agentLog(t *testing.T, s Store) {
	mine, call := entry("", 1, "agent.configured"), entry("clinica", 1, "call.started")
	add(t, s, calllog.Batch{Org: org, Entries: []turn.Entry{mine, call}})
	equal(t, "agent's log", calllog.Page{Entries: []turn.Entry{mine}, Highest: 1}, page(t, s, org, "@clinica", 0, 10))
	equal(t, "log of a call with the agent's name", calllog.Page{Entries: []turn.Entry{call}, Highest: 1}, page(t, s, org, "clinica", 0, 10))
}

func paging(t *testing.T, s Store) {
	all := entries("c", 1, 10)
	add(t, s, calllog.Batch{Org: org, Entries: all})
	for after := range int64(12) {
		for _, limit := range []int{0, 1, 3, 100} {
			from := min(int(after), len(all))
			want := calllog.Page{Highest: 10}
			if part := all[from:min(len(all), from+limit)]; len(part) > 0 {
				want.Entries = part
			}
			equal(t, fmt.Sprintf("after %d limit %d", after, limit), want, page(t, s, org, "c", after, limit))
		}
	}
	equal(t, "after the last possible", calllog.Page{Highest: 10}, page(t, s, org, "c", math.MaxInt64-1, 1))
}

func replay(t *testing.T, s Store) {
	batch := calllog.Batch{Org: org, Entries: entries("c", 1, 5), Calls: []calllog.Call{{Org: org, ID: "c", Agent: "clinica", Started: began}}}
	for range 3 {
		add(t, s, batch)
	}
	equal(t, "page", calllog.Page{Entries: batch.Entries, Highest: 5}, page(t, s, org, "c", 0, 100))
	erased := entry("c", 3, "turn.user")
	erased.Data = json.RawMessage(`{"text":"[erased]"}`)
	add(t, s, calllog.Batch{Org: org, Entries: []turn.Entry{erased}})
	equal(t, "other words under the same seq", batch.Entries, page(t, s, org, "c", 0, 100).Entries)
}

func replayOverlaps(t *testing.T, s Store) {
	all := entries("c", 1, 9)
	add(t, s, calllog.Batch{Org: org, Entries: all[:6]})
	add(t, s, calllog.Batch{Org: org, Entries: all[3:]})
	equal(t, "entries", all, page(t, s, org, "c", 0, 100).Entries)
}

func conflict(t *testing.T, s Store) {
	all := entries("c", 1, 3)
	add(t, s, calllog.Batch{Org: org, Entries: all})
	later := entry("c", 3, "turn.user")
	later.Time = later.Time.Add(time.Second)
	for _, other := range []turn.Entry{later, entry("c", 3, "turn.agent")} {
		err := s.Append(t.Context(), calllog.Batch{
			Org: org, Entries: []turn.Entry{entry("d", 1, "call.started"), entry("c", 4, "turn.user"), other},
			Calls: []calllog.Call{{ID: "d", Agent: "clinica", Started: began}},
		})
		if !errors.Is(err, calllog.ErrConflict) {
			t.Fatalf("append over another entry: %v, want %v", err, calllog.ErrConflict)
		}
	}
	equal(t, "log after the conflict", all, page(t, s, org, "c", 0, 100).Entries)
	equal(t, "other log of the batch", calllog.Page{}, page(t, s, org, "d", 0, 100))
	if _, err := s.Call(t.Context(), org, "d"); !errors.Is(err, calllog.ErrUnknownCall) {
		t.Fatalf("call of the batch: %v, want %v", err, calllog.ErrUnknownCall)
	}
}

func ephemeral(t *testing.T, s Store) {
	vad := entry("c", 2, "vad")
	vad.Ephemeral = true
	add(t, s, calllog.Batch{Org: org, Entries: []turn.Entry{entry("c", 1, "call.started"), vad, entry("c", 3, "turn.user")}})
	want := []turn.Entry{entry("c", 1, "call.started"), entry("c", 3, "turn.user")}
	equal(t, "page", calllog.Page{Entries: want, Highest: 3}, page(t, s, org, "c", 0, 100))
}

func orgs(t *testing.T, s Store) {
	ours, theirs := entries("c", 1, 3), entries("c", 1, 2)
	for i := range theirs {
		theirs[i].Agent, theirs[i].Type = "other", "turn.agent"
	}
	add(t, s, calllog.Batch{Org: "a", Entries: ours, Calls: []calllog.Call{{Org: "a", ID: "c", Agent: "clinica", Started: began, Sealed: true}}})
	add(t, s, calllog.Batch{Org: "b", Entries: theirs, Calls: []calllog.Call{{Org: "b", ID: "c", Agent: "other", Started: began}}})
	equal(t, "org a", calllog.Page{Entries: ours, Highest: 3, Sealed: true}, page(t, s, "a", "c", 0, 10))
	equal(t, "org b", calllog.Page{Entries: theirs, Highest: 2}, page(t, s, "b", "c", 0, 10))
	equal(t, "no org", calllog.Page{}, page(t, s, "", "c", 0, 10))
	calls, err := s.Calls(t.Context(), "b", 10)
	if err != nil {
		t.Fatalf("list calls: %v", err)
	}
	equal(t, "calls of b", []calllog.Call{{Org: "b", ID: "c", Agent: "other", Started: began}}, calls)
	if _, err := s.Call(t.Context(), "elsewhere", "c"); !errors.Is(err, calllog.ErrUnknownCall) {
		t.Fatalf("call of another org: %v", err)
	}
}

func callFacts(t *testing.T, s Store) {
	open := calllog.Call{Org: org, ID: "c", Agent: "clinica", Started: began}
	ended := open
	ended.Ended, ended.Reason = began.Add(time.Minute), "caller_hung_up"
	sealed := ended
	sealed.Sealed = true
	late := open
	late.Ended, late.Reason = began.Add(time.Hour), "error"
	for _, step := range []struct{ put, want calllog.Call }{
		{open, open}, {ended, ended}, {open, ended}, {sealed, sealed}, {ended, sealed}, {open, sealed}, {late, sealed},
	} {
		add(t, s, calllog.Batch{Org: org, Calls: []calllog.Call{step.put}})
		got, err := s.Call(t.Context(), org, "c")
		if err != nil {
			t.Fatalf("read call: %v", err)
		}
		equal(t, "call", step.want, got)
	}
}

func sealedLog(t *testing.T, s Store) {
	all := entries("c", 1, 4)
	call := calllog.Call{Org: org, ID: "c", Agent: "clinica", Started: began, Sealed: true}
	last := calllog.Batch{Org: org, Entries: all, Calls: []calllog.Call{call}}
	add(t, s, last)
	add(t, s, last)
	err := s.Append(t.Context(), calllog.Batch{Org: org, Entries: entries("c", 4, 5)})
	if !errors.Is(err, calllog.ErrSealed) {
		t.Fatalf("append after the seal: %v, want %v", err, calllog.ErrSealed)
	}
	equal(t, "page", calllog.Page{Entries: all, Highest: 4, Sealed: true}, page(t, s, org, "c", 0, 10))
}

func newestFirst(t *testing.T, s Store) {
	at := func(id string, minutes int) calllog.Call {
		return calllog.Call{Org: org, ID: id, Agent: "clinica", Started: began.Add(time.Duration(minutes) * time.Minute)}
	}
	add(t, s, calllog.Batch{Org: org, Calls: []calllog.Call{at("a", 1), at("d", 2), at("c", 2), at("b", 3)}})
	calls, err := s.Calls(t.Context(), org, 3)
	if err != nil {
		t.Fatalf("list calls: %v", err)
	}
	equal(t, "calls", []calllog.Call{at("b", 3), at("c", 2), at("d", 2)}, calls)
}

func unknownCall(t *testing.T, s Store) {
	if _, err := s.Call(t.Context(), org, "nobody"); !errors.Is(err, calllog.ErrUnknownCall) {
		t.Fatalf("unknown call: %v, want %v", err, calllog.ErrUnknownCall)
	}
}

// manyWriters: calls of many writers at once, with readers between them that
// must see each log without a gap.
func manyWriters(t *testing.T, s Store) {
	const writers, count = 8, 30
	ctx := t.Context()
	var group sync.WaitGroup
	errs := make(chan error, 2*writers)
	for w := range writers {
		call := fmt.Sprintf("call-%d", w)
		group.Go(func() {
			for seq := int64(1); seq <= count; seq += 3 {
				if err := s.Append(ctx, calllog.Batch{Org: org, Entries: entries(call, seq, seq+2)}); err != nil {
					errs <- err
					return
				}
			}
		})
		group.Go(func() {
			for range 10 {
				p, err := s.Entries(ctx, org, call, 0, count)
				if err == nil && int64(len(p.Entries)) != p.Highest {
					err = fmt.Errorf("%s has %d entries and highest %d", call, len(p.Entries), p.Highest)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		t.Fatalf("writers and readers: %v", err)
	}
	for w := range writers {
		call := fmt.Sprintf("call-%d", w)
		equal(t, call, entries(call, 1, count), page(t, s, org, call, 0, 100).Entries)
	}
}
