package storetest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/calllog"
)

// secret is what a caller said, and must not be found after an erasure.
const secret = "penicilina"

// spoken is a call of a contact with words in every entry that can hold some.
func spoken(t *testing.T, s Memories, call, contact string, at time.Time) []turn.Entry {
	t.Helper()
	held := memory.Fact{ID: "f_1", Text: secret, Category: secret, Source: call, Since: at}
	var list []turn.Entry
	for i, ev := range []turn.Event{
		turn.CallStarted{Room: "call-" + contact, Channel: "phone", Contact: &memory.Contact{ID: contact, Phone: contact}, Participant: "sip_" + contact},
		turn.TurnUser{SpeechID: "speech-2", Text: secret, Medium: "voice"},
		turn.DocsSources{SpeechID: "speech-2", Query: secret, Sources: []turn.DocSource{{ID: "d", Base: "clinica", Path: secret, Excerpt: secret, Score: 1}}, TookMS: 12},
		turn.MemoryOps{SpeechID: "speech-2", Op: "recall", Contact: contact, Query: secret, Facts: []memory.Fact{held}, TookMS: 3},
		turn.TurnAgent{SpeechID: "speech-2", Text: secret, Kind: "reply", HeardMS: 800},
		turn.ToolCalled{SpeechID: "speech-2", Name: secret, Arguments: map[string]any{secret: 1}},
		turn.Failure{Code: "search_skipped", Message: secret, Recoverable: true},
		turn.CallEnded{Reason: "caller_hung_up", EndedBy: "caller", DurationS: 61.5},
		turn.MemoryOps{Op: "remember", Contact: contact, Facts: []memory.Fact{held}, Changes: []turn.MemoryChange{{Op: "add", Fact: "f_1", Quote: secret}}, Refused: []memory.Refusal{{Op: memory.Add, Text: secret, Reason: memory.BecauseForget, Words: secret}}},
		turn.CallSummary{Turns: 1, DurationS: 61.5},
	} {
		e, err := turn.NewEntry(ev)
		if err != nil {
			t.Fatal(err)
		}
		e.Seq, e.Time, e.Call, e.Agent = int64(i+1), at.Add(time.Duration(i)*time.Second), call, "clinica"
		list = append(list, e)
	}
	add(t, s, calllog.Batch{Org: org, Entries: list, Memories: []memory.Writing{taught(contact, call, secret)}, Calls: []calllog.Call{
		{Org: org, ID: call, Agent: "clinica", Started: at, Ended: at.Add(time.Minute), Reason: "caller_hung_up", Sealed: true, Contact: contact},
	}})
	return list
}

func erase(t *testing.T, s Memories, contact string, until time.Time) calllog.Erased {
	t.Helper()
	gone, err := s.Erase(t.Context(), calllog.Erasure{Org: org, Contact: contact, Until: until})
	if err != nil {
		t.Fatalf("erase: %v", err)
	}
	return gone
}

func erasesWords(t *testing.T, s Memories) {
	was := spoken(t, s, "c1", "+34600123456", began)
	equal(t, "contacts", []string{"+34600123456"}, must(s.Contacts(t.Context(), org)))
	gone := erase(t, s, "+34600123456", began.Add(time.Hour))
	equal(t, "erased", calllog.Erased{Calls: []string{"c1"}, Entries: 8, Facts: 1}, gone)
	now := page(t, s, org, "c1", 0, 100)
	for _, e := range now.Entries {
		if text := string(e.Data); strings.Contains(text, secret) || strings.Contains(text, "600123456") {
			t.Fatalf("%s still says %s", e.Type, text)
		}
	}
	equal(t, "skeleton", was, now.Entries, cmpopts.IgnoreFields(turn.Entry{}, "Data"))
	var ended turn.CallEnded
	if err := json.Unmarshal(now.Entries[7].Data, &ended); err != nil || ended != (turn.CallEnded{Reason: "caller_hung_up", EndedBy: "caller", DurationS: 61.5}) {
		t.Fatalf("end: %+v, %v", ended, err)
	}
	call, err := s.Call(t.Context(), org, "c1")
	want := calllog.Call{Org: org, ID: "c1", Agent: "clinica", Started: began, Ended: began.Add(time.Minute), Reason: "caller_hung_up", Sealed: true}
	if err != nil || call != want {
		t.Fatalf("call: %s, %v", cmp.Diff(want, call), err)
	}
	equal(t, "facts", []string{}, factTexts(history(t, s, "+34600123456")))
	equal(t, "contacts", nil, must(s.Contacts(t.Context(), org)))
	equal(t, "erased again", calllog.Erased{}, erase(t, s, "+34600123456", began.Add(time.Hour)))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The call goes on while it is erased, or its spool comes late.
func erasesWhatComesLate(t *testing.T, s Memories) {
	call := calllog.Call{Org: org, ID: "c1", Agent: "clinica", Started: began, Contact: "ana"}
	add(t, s, calllog.Batch{Org: org, Calls: []calllog.Call{call}})
	erase(t, s, "ana", began.Add(time.Minute))
	late := entry("c1", 2, "turn.user")
	call.Ended, call.Reason = began.Add(time.Hour), "caller_hung_up"
	add(t, s, calllog.Batch{Org: org, Entries: []turn.Entry{late}, Calls: []calllog.Call{call}, Memories: []memory.Writing{taught("ana", "c1", "tarde")}})
	equal(t, "entry", calllog.WithoutWords(late), page(t, s, org, "c1", 0, 10).Entries[0])
	equal(t, "facts", []string{}, factTexts(current(t, s, org, "ana")))
	write(t, s, taught("ana", "c1", "más tarde"), false)
	got, err := s.Call(t.Context(), org, "c1")
	if err != nil || got.Contact != "" || got.Reason != "caller_hung_up" {
		t.Fatalf("call: %+v, %v", got, err)
	}
}

// What began after the erasure stays: the contact has come back.
func erasesUntil(t *testing.T, s Memories) {
	spoken(t, s, "c1", "ana", began)
	back := began.Add(24 * time.Hour)
	spoken(t, s, "c2", "ana", back)
	w := taught("ana", "c3", "después")
	w.Changes[0].Fact.Since = back
	write(t, s, w, true)
	gone := erase(t, s, "ana", began.Add(time.Hour))
	equal(t, "calls", []string{"c1"}, gone.Calls)
	equal(t, "facts", []string{"después"}, factTexts(history(t, s, "ana")))
	var user turn.TurnUser
	if err := json.Unmarshal(page(t, s, org, "c2", 1, 1).Entries[0].Data, &user); err != nil || user.Text != secret {
		t.Fatalf("later call: %+v, %v", user, err)
	}
}

func erasesItsOwnOnly(t *testing.T, s Memories) {
	was := spoken(t, s, "c1", "user1", began)
	spoken(t, s, "c2", "user11", began)
	erase(t, s, "user11", began.Add(time.Hour))
	equal(t, "another's log", was, page(t, s, org, "c1", 0, 100).Entries)
	equal(t, "another's facts", []string{secret}, factTexts(current(t, s, org, "user1")))
	equal(t, "contacts", []string{"user1"}, must(s.Contacts(t.Context(), org)))
}
