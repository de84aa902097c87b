package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/calllog"
)

// Memories is what an implementation offers of contacts.
type Memories interface {
	Store
	memory.Facts
	memory.Notebook
	memory.Editor
	calllog.Eraser
}

// Memory holds the implementation to the contract of what is remembered of
// contacts. open returns an empty store that lasts as long as its test.
func Memory(t *testing.T, open func(t *testing.T) Memories) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, Memories)
	}{
		{"NobodyIsKnown", nobodyIsKnown},
		{"FactsRoundTrip", factsRoundTrip},
		{"ContactsMatchExactly", contactsMatchExactly},
		{"ContradictionsClose", contradictionsClose},
		{"ClosesItsOwnOnly", closesItsOwnOnly},
		{"OnceACall", onceACall},
		{"OnceAmongManyWriters", onceAmongManyWriters},
		{"NothingTaughtIsKept", nothingTaught},
		{"WithItsEntry", withItsEntry},
		{"Corrections", corrections},
		{"Deletions", deletions},
		{"Forgetting", forgetting},
		{"ErasesWords", erasesWords},
		{"ErasesWhatComesLate", erasesWhatComesLate},
		{"ErasesUntil", erasesUntil},
		{"ErasesItsOwnOnly", erasesItsOwnOnly},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

// taught is a writing of one new fact.
func taught(contact, call, text string) memory.Writing {
	return memory.Writing{Org: org, Contact: contact, Call: call, At: began, Changes: []memory.Change{{Op: memory.Add, Fact: fact(contact, call, text)}}}
}

func fact(contact, call, text string) memory.Held {
	return memory.Held{
		Fact: memory.Fact{
			ID: memory.FactID(org, contact, call, 0), Text: text, Category: "alergias", Source: call, Since: began, Confidence: 0.9,
		},
		Org: org, Contact: contact, Quote: "soy alérgica a la «penicilina»", Turn: "speech-2",
		Model: "hashing-3", Vector: []float32{0.6, -0.8, 1e-7},
	}
}

func write(t *testing.T, s Memories, w memory.Writing, want bool) {
	t.Helper()
	if applied, err := s.Write(t.Context(), w); err != nil || applied != want {
		t.Fatalf("write: %v, %v, want %v", applied, err, want)
	}
}

func current(t *testing.T, s Memories, org, contact string) []memory.Held {
	t.Helper()
	facts, err := s.Current(t.Context(), org, contact)
	if err != nil {
		t.Fatalf("read facts: %v", err)
	}
	return facts
}

func history(t *testing.T, s Memories, contact string) []memory.Held {
	t.Helper()
	facts, err := s.History(t.Context(), org, contact)
	if err != nil {
		t.Fatalf("read history: %v", err)
	}
	return facts
}

// factTexts are what facts say, in order.
func factTexts(facts []memory.Held) []string {
	list := []string{}
	for _, f := range facts {
		list = append(list, f.Text)
	}
	return list
}

func count(t *testing.T, s Memories, org string) int {
	t.Helper()
	n, err := s.Count(t.Context(), org)
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	return n
}

func nobodyIsKnown(t *testing.T, s Memories) {
	equal(t, "facts of nobody", nil, current(t, s, org, "+34600123456"))
	equal(t, "history of nobody", nil, history(t, s, "+34600123456"))
	equal(t, "facts of an org", 0, count(t, s, org))
	if written, err := s.Written(t.Context(), org, "c"); err != nil || written {
		t.Fatalf("written: %v, %v", written, err)
	}
	contacts, err := s.Contacts(t.Context(), org)
	if err != nil || len(contacts) != 0 {
		t.Fatalf("contacts: %v, %v", contacts, err)
	}
	if _, err := s.Erase(t.Context(), calllog.Erasure{Org: org, Contact: "+34600123456", Until: began}); err != nil {
		t.Fatalf("erase nobody: %v", err)
	}
}

func factsRoundTrip(t *testing.T, s Memories) {
	w := taught("ana", "c1", "Alérgica a la penicilina.")
	plain := memory.Held{Fact: memory.Fact{ID: "f_2", Text: "Prefiere las mañanas 🌞", Category: "preferencias", Source: "c1", Since: began.Add(-time.Hour)}, Org: org, Contact: "ana"}
	w.Changes = append(w.Changes, memory.Change{Op: memory.Add, Fact: plain})
	write(t, s, w, true)
	equal(t, "facts, the oldest first", []memory.Held{plain, w.Changes[0].Fact}, current(t, s, org, "ana"))
	without := w.Changes[0].Fact
	without.Vector = nil
	equal(t, "history", []memory.Held{plain, without}, history(t, s, "ana"))
	equal(t, "facts of the org", 2, count(t, s, org))
	if written, err := s.Written(t.Context(), org, "c1"); err != nil || !written {
		t.Fatalf("written: %v, %v", written, err)
	}
}

// Ids match exactly: no number is another's beginning, nothing is folded.
func contactsMatchExactly(t *testing.T, s Memories) {
	ids := []string{"+49301234567", "+493012345678", "user1", "user11", "user", "User1", "user1 ", " user1", "user%", "user_", "\u00fcser", "u\u0308ser", "ana", "Ana"}
	for i, id := range ids {
		write(t, s, taught(id, fmt.Sprint("c", i), "dicho por "+id), true)
	}
	for _, id := range ids {
		equal(t, "facts of "+id, []string{"dicho por " + id}, factTexts(current(t, s, org, id)))
	}
	equal(t, "facts of nobody", []string{}, factTexts(current(t, s, org, "")))
	equal(t, "in another org", []string{}, factTexts(current(t, s, "other", "user1")))
	equal(t, "in another org", 0, count(t, s, "other"))
	other := taught("user1", "c2", "de otra casa")
	other.Org = "other"
	write(t, s, other, true)
	equal(t, "in the other org", []string{"de otra casa"}, factTexts(current(t, s, "other", "user1")))
	equal(t, "in ours", []string{"dicho por user1"}, factTexts(current(t, s, org, "user1")))
}

func contradictionsClose(t *testing.T, s Memories) {
	first := taught("ana", "c1", "Vive en Vigo.")
	write(t, s, first, true)
	later := taught("ana", "c2", "Vive en Lugo.")
	later.At = began.Add(24 * time.Hour)
	later.Changes[0].Op, later.Changes[0].Closes, later.Changes[0].Fact.Since = memory.Update, first.Changes[0].Fact.ID, later.At
	write(t, s, later, true)
	equal(t, "current", []string{"Vive en Lugo."}, factTexts(current(t, s, org, "ana")))
	all := history(t, s, "ana")
	equal(t, "history", []string{"Vive en Vigo.", "Vive en Lugo."}, factTexts(all))
	if !all[0].Until.Equal(later.At) || all[0].ClosedBy != "c2" || !all[1].Current() {
		t.Fatalf("history: %+v", all)
	}
	last := memory.Writing{Org: org, Contact: "ana", Call: "c3", At: later.At.Add(time.Hour), Changes: []memory.Change{
		{Op: memory.Invalidate, Closes: later.Changes[0].Fact.ID, Fact: memory.Held{Quote: "ya no vivo en Lugo"}},
		{Op: memory.Invalidate, Closes: first.Changes[0].Fact.ID}, // closed already: it keeps its date
	}}
	write(t, s, last, true)
	equal(t, "current", []string{}, factTexts(current(t, s, org, "ana")))
	all = history(t, s, "ana")
	if len(all) != 2 || !all[0].Until.Equal(later.At) || !all[1].Until.Equal(last.At) || all[1].ClosedBy != "c3" {
		t.Fatalf("history: %+v", all)
	}
	equal(t, "held in the org", 0, count(t, s, org))
}

func closesItsOwnOnly(t *testing.T, s Memories) {
	hers := taught("user1", "c1", "suya")
	write(t, s, hers, true)
	his := taught("user11", "c2", "de otro")
	his.Changes[0].Op, his.Changes[0].Closes = memory.Update, hers.Changes[0].Fact.ID
	write(t, s, his, true)
	equal(t, "hers", []string{"suya"}, factTexts(current(t, s, org, "user1")))
	equal(t, "his", []string{"de otro"}, factTexts(current(t, s, org, "user11")))
}

func onceACall(t *testing.T, s Memories) {
	write(t, s, taught("ana", "c1", "una"), true)
	again := taught("ana", "c1", "otra")
	again.Changes[0].Fact.ID = "f_other"
	write(t, s, again, false)
	equal(t, "facts", []string{"una"}, factTexts(current(t, s, org, "ana")))
}

func onceAmongManyWriters(t *testing.T, s Memories) {
	const writers = 8
	ctx := t.Context()
	var group sync.WaitGroup
	applied := make(chan bool, writers)
	errs := make(chan error, writers)
	for i := range writers {
		group.Go(func() {
			w := taught("ana", "c1", fmt.Sprint("versión ", i))
			w.Changes[0].Fact.ID = fmt.Sprint("f_", i)
			did, err := s.Write(ctx, w)
			if err != nil {
				errs <- err
			}
			applied <- did
		})
	}
	group.Wait()
	close(applied)
	close(errs)
	for err := range errs {
		t.Fatalf("write: %v", err)
	}
	n := 0
	for did := range applied {
		if did {
			n++
		}
	}
	equal(t, "writers that wrote", 1, n)
	equal(t, "facts", 1, len(current(t, s, org, "ana")))
}

func nothingTaught(t *testing.T, s Memories) {
	write(t, s, memory.Writing{Org: org, Contact: "ana", Call: "c1", At: began}, true)
	write(t, s, taught("ana", "c1", "tarde"), false)
	equal(t, "facts", []string{}, factTexts(current(t, s, org, "ana")))
}

// A writing comes and goes with its entry.
func withItsEntry(t *testing.T, s Memories) {
	batch := calllog.Batch{Org: org, Entries: []turn.Entry{entry("c1", 1, "call.started"), entry("c1", 2, "memory.ops")}, Memories: []memory.Writing{taught("ana", "c1", "una")}}
	broken := batch
	broken.Entries = append([]turn.Entry{entry("c0", 1, "turn.agent")}, batch.Entries...)
	add(t, s, calllog.Batch{Org: org, Entries: []turn.Entry{entry("c0", 1, "turn.user")}})
	if err := s.Append(t.Context(), broken); !errors.Is(err, calllog.ErrConflict) {
		t.Fatalf("append: %v", err)
	}
	equal(t, "facts after a batch that was refused", []string{}, factTexts(current(t, s, org, "ana")))
	for range 3 {
		add(t, s, batch)
	}
	equal(t, "facts", []string{"una"}, factTexts(current(t, s, org, "ana")))
	equal(t, "entries", batch.Entries, page(t, s, org, "c1", 0, 10).Entries)
}

func corrections(t *testing.T, s Memories) {
	write(t, s, taught("ana", "c1", "Vive en Vigo."), true)
	id := memory.FactID(org, "ana", "c1", 0)
	by := memory.Held{Fact: memory.Fact{ID: "f_by", Text: "Vive en Lugo.", Category: "domicilio", Confidence: 1}}
	at := began.Add(time.Hour)
	for _, c := range []struct{ org, contact, id string }{{org, "anaa", id}, {"other", "ana", id}, {org, "ana", "f_none"}} {
		if err := s.Correct(t.Context(), c.org, c.contact, c.id, by, at); !errors.Is(err, memory.ErrNoFact) {
			t.Fatalf("correct %v: %v", c, err)
		}
	}
	if err := s.Correct(t.Context(), org, "ana", id, by, at); err != nil {
		t.Fatalf("correct: %v", err)
	}
	if err := s.Correct(t.Context(), org, "ana", id, by, at); !errors.Is(err, memory.ErrNoFact) {
		t.Fatalf("correct what is closed: %v", err)
	}
	want := by
	want.Org, want.Contact, want.Since = org, "ana", at
	equal(t, "current", []memory.Held{want}, current(t, s, org, "ana"))
	all := history(t, s, "ana")
	if len(all) != 2 || !all[0].Until.Equal(at) || all[0].ClosedBy != "" {
		t.Fatalf("history: %+v", all)
	}
}

func deletions(t *testing.T, s Memories) {
	write(t, s, taught("ana", "c1", "una"), true)
	write(t, s, taught("ana", "c2", "dos"), true)
	id := memory.FactID(org, "ana", "c1", 0)
	if err := s.Delete(t.Context(), org, "eva", id); !errors.Is(err, memory.ErrNoFact) {
		t.Fatalf("delete another's: %v", err)
	}
	for i, want := range []error{nil, memory.ErrNoFact} {
		if err := s.Delete(t.Context(), org, "ana", id); !errors.Is(err, want) {
			t.Fatalf("delete, time %d: %v", i+1, err)
		}
	}
	equal(t, "history", []string{"dos"}, factTexts(history(t, s, "ana")))
}

func forgetting(t *testing.T, s Memories) {
	write(t, s, taught("user1", "c1", "una"), true)
	write(t, s, taught("user11", "c2", "dos"), true)
	for _, want := range []int{1, 0} {
		if n, err := s.Forget(t.Context(), org, "user1"); err != nil || n != want {
			t.Fatalf("forget: %d, %v, want %d", n, err, want)
		}
	}
	equal(t, "history", []string{}, factTexts(history(t, s, "user1")))
	equal(t, "another's", []string{"dos"}, factTexts(current(t, s, org, "user11")))
	write(t, s, taught("user1", "c1", "otra vez"), false)
}
