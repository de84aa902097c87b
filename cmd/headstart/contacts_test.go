package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	v1 "headstart/worker/api/v1"
	"headstart/worker/contacts"
)

// taughtData is a data folder in which contacts are remembered.
func taughtData(t *testing.T, facts map[string]string) string {
	t.Helper()
	data := t.TempDir()
	book, db, err := openBook(t.Context(), "", data, nil, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for contact, text := range facts {
		since := time.UnixMicro(1_760_000_000_000_000)
		fact := memory.Held{Fact: memory.Fact{ID: "f_" + contact, Text: text, Category: "alergias", Source: "call-1", Since: since}}
		w := memory.Writing{Org: "default", Contact: contact, Call: "call-" + contact, At: since, Changes: []memory.Change{{Op: memory.Add, Fact: fact}}}
		if _, err := db.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(book.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestContactsCommands(t *testing.T) {
	t.Setenv("HEADSTART_DATABASE_URL", "")
	t.Setenv("HEADSTART_ERASURES", "")
	data := taughtData(t, map[string]string{"user1": "Alérgica al polen.", "user11": "Alérgico al níquel."})
	for _, c := range []struct {
		args []string
		want string // in what is written; of an error, after "error: "
	}{
		{[]string{"show", "user1"}, "Alérgica al polen."},
		{[]string{"show", "user"}, "nothing is remembered of user"},
		{[]string{"show"}, "error: show takes CONTACT"},
		{[]string{"show", " "}, "error: show: no contact is named"},
		{[]string{"forget", ""}, "error: forget: no contact is named"},
		{[]string{"show", "600 12 34 56"}, "nothing is remembered of 600 12 34 56; ids match exactly, and a number is written as +34"},
		{[]string{"show", "+34600123456"}, "nothing is remembered of +34600123456\n"},
		{[]string{"show", "user1", "--api", "127.0.0.1:8080"}, "error: --api 127.0.0.1:8080: want a URL"},
		{[]string{"correct", "user1", "f_user1", "Su tarjeta es 4111 1111 1111 1111"}, "error: correct fact: the text holds a number that is never kept: card number"},
		{[]string{"correct", "user1", "f_user11", "x"}, "error: correct fact: find fact f_user11: no such fact of this contact; headstart contacts show user1 lists them"},
		{[]string{"correct", "user1", "f_user1", ""}, "error: correct fact: the text of a fact is empty"},
		{[]string{"correct", "user1", "f_user1", "Alérgica a las nueces."}, "Alérgica a las nueces."},
		{[]string{"show", "user1"}, "Alérgica al polen.  (call-1; until "},
		{[]string{"delete-fact", "user11", "f_user1"}, "error: delete fact: delete fact f_user1: no such fact"},
		{[]string{"delete-fact", "user1", "f_user1"}, "deleted f_user1"},
		{[]string{"forget", "user1"}, "facts    1 erased"},
		{[]string{"forget", "user1"}, "facts    0 erased"},
		{[]string{"show", "user11"}, "Alérgico al níquel."},
	} {
		out, err := command(t, append(append([]string{"contacts"}, c.args...), "--data", data)...)
		if want, failing := strings.CutPrefix(c.want, "error: "); failing {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%v: %v, want %q", c.args, err, want)
			}
			continue
		}
		if err != nil || !strings.Contains(out, c.want) {
			t.Fatalf("%v: %q, %v; want %q", c.args, out, err, c.want)
		}
	}
	out, err := command(t, "contacts", "show", "user11", "--json", "--data", data)
	var m v1.Memory
	if err := errors.Join(err, json.Unmarshal([]byte(out), &m)); err != nil || len(m.Facts) != 1 || m.Facts[0].Source != "call-1" || m.History == nil {
		t.Fatalf("%s, %v", out, err)
	}
	out, err = command(t, "contacts", "forget", "user11", "--json", "--data", data)
	var r contacts.Receipt
	if err := errors.Join(err, json.Unmarshal([]byte(out), &r)); err != nil || r.Facts.Erased != 1 || r.Ledger == "" {
		t.Fatalf("%s, %v", out, err)
	}
}

// An agent that remembers needs a model that can be asked.
func TestAnAgentThatRemembersNeedsAModel(t *testing.T) {
	file := agentFile(t, func(s string) string { return s + "memory: {remember: [alergias]}\n" })
	agents, err := readAgents([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{settings: settings{models: t.TempDir()}, log: zap.NewNop()}
	if _, err := k.serve(t.Context(), agents[0]); err == nil || !strings.Contains(err.Error(), "memory.remember: llm.provider extractive") {
		t.Fatalf("%v", err)
	}
	agents[0].Memory = &memory.Policy{Forget: []string{"tarjetas"}} // it recalls, and keeps nothing
	if s, err := k.serve(t.Context(), agents[0]); err != nil || s.Recollect == nil || s.Learner != nil {
		t.Fatalf("%v, %v, %v", s.Recollect == nil, s.Learner, err)
	}
}

func TestRememberBudget(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 0, "8": 8 * time.Second, "2.5": 2500 * time.Millisecond, "0": -1, "-1": -1, "x": -1, "NaN": -1, "1e9": -1} {
		t.Setenv("HEADSTART_REMEMBER_BUDGET_S", value)
		s, err := settingsFromEnv()
		if want < 0 && err == nil || want >= 0 && (err != nil || s.rememberBudget != want) {
			t.Errorf("%q: %v, %v", value, s.rememberBudget, err)
		}
	}
}
