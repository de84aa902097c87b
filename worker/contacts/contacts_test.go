package contacts_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"headstart/memory"
	"headstart/store/sqlite"
	"headstart/turn"
	"headstart/worker/calllog"
	"headstart/worker/contacts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// office is a desk on a real store, and its logs.
type office struct {
	*contacts.Desk
	t    *testing.T
	db   *sqlite.DB
	book *calllog.Book
	dir  string
}

func open(t *testing.T, dir string) *office {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "headstart.db"))
	if err != nil {
		t.Fatal(err)
	}
	book, err := calllog.Open(calllog.Config{Dir: filepath.Join(dir, "spool")}, db, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := contacts.OpenLedger(filepath.Join(dir, "erasures"))
	if err != nil {
		t.Fatal(err)
	}
	return &office{&contacts.Desk{Org: "default", Facts: db, Editor: db, Eraser: db, Spools: book, Ledger: ledger}, t, db, book, dir}
}

func (o *office) close() {
	o.t.Helper()
	if err := errors.Join(o.book.Close(), o.db.Close()); err != nil {
		o.t.Fatal(err)
	}
}

// teach keeps facts of a contact, as calls do.
func (o *office) teach(contact string, since time.Time, texts ...string) (ids []string) {
	o.t.Helper()
	for _, text := range texts {
		call := contact + " says " + text
		id := memory.FactID("default", contact, call, 0)
		fact := memory.Held{Fact: memory.Fact{ID: id, Text: text, Category: "domicilio", Since: since, Source: call}, Org: "default", Contact: contact}
		w := memory.Writing{Org: "default", Contact: contact, Call: call, At: since, Changes: []memory.Change{{Op: memory.Add, Fact: fact}}}
		if did, err := o.db.Write(o.t.Context(), w); err != nil || !did {
			o.t.Fatalf("teach: %v, %v", did, err)
		}
		ids = append(ids, id)
	}
	return ids
}

func (o *office) texts(contact string) (held, closed []string) {
	o.t.Helper()
	m, err := o.Memory(o.t.Context(), contact)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, f := range m.Held {
		held = append(held, f.Text)
	}
	for _, f := range m.Closed {
		closed = append(closed, f.Text)
	}
	return held, closed
}

func (o *office) expect(contact string, held, closed []string) {
	o.t.Helper()
	gotHeld, gotClosed := o.texts(contact)
	if diff := cmp.Diff([][]string{held, closed}, [][]string{gotHeld, gotClosed}); diff != "" {
		o.t.Fatalf("memory of %s (-want +got):\n%s", contact, diff)
	}
}

var earlier = time.UnixMicro(1_760_000_000_000_000)

func TestCorrectAndDelete(t *testing.T) {
	t.Parallel()
	o := open(t, t.TempDir())
	defer o.close()
	ids := o.teach("ana", earlier, "Vive en Vigo.", "Tiene un gato.")
	for text, want := range map[string]error{"": contacts.ErrText, " \n": contacts.ErrText, strings.Repeat("ñ", 501): contacts.ErrText,
		"Su tarjeta es 4111 1111 1111 1111": contacts.ErrSecret, "Su DNI es 12345678Z": contacts.ErrSecret} {
		if _, err := o.Correct(t.Context(), "ana", ids[0], text); !errors.Is(err, want) {
			t.Fatalf("correct to %q: %v", text, err)
		}
	}
	for _, other := range []string{"anaa", "an", ""} {
		_, correctErr := o.Correct(t.Context(), other, ids[0], "Vive en Lugo.")
		if err := o.Delete(t.Context(), other, ids[0]); !errors.Is(err, memory.ErrNoFact) || !errors.Is(correctErr, memory.ErrNoFact) {
			t.Fatalf("of %q: %v, %v", other, correctErr, err)
		}
	}
	f, err := o.Correct(t.Context(), "ana", ids[0], " Vive en Lugo. ")
	if err != nil || f.Text != "Vive en Lugo." || f.Category != "domicilio" || f.Confidence != 1 || f.ID == ids[0] || f.Source != "" {
		t.Fatalf("corrected: %+v, %v", f, err)
	}
	o.expect("ana", []string{"Tiene un gato.", "Vive en Lugo."}, []string{"Vive en Vigo."})
	if _, err := o.Correct(t.Context(), "ana", ids[0], "otra vez"); !errors.Is(err, memory.ErrNoFact) {
		t.Fatalf("correct history: %v", err)
	}
	for _, id := range []string{ids[0], ids[1]} {
		if err := o.Delete(t.Context(), "ana", id); err != nil {
			t.Fatal(err)
		}
	}
	o.expect("ana", []string{"Vive en Lugo."}, nil)
}

// A receipt says what was erased where, and names nobody; asking again finds
// nothing more.
func TestForgetGivesAReceipt(t *testing.T) {
	t.Parallel()
	o := open(t, t.TempDir())
	defer o.close()
	log, err := o.book.Begin("call-1", "clinica")
	if err != nil {
		t.Fatal(err)
	}
	log.Append(turn.CallStarted{Contact: &memory.Contact{ID: "user1"}})
	log.Append(turn.TurnUser{Text: "soy alérgica"})
	o.teach("user1", earlier, "una", "dos")
	o.teach("user11", earlier, "de otro")
	r, err := o.Forget(t.Context(), "user1")
	if err != nil {
		t.Fatal(err)
	}
	if r.Facts.Erased != 2 || r.Spools != (contacts.SpoolsReceipt{Logs: 1, Entries: 2}) || r.Logs.Calls != 0 || r.At.IsZero() {
		t.Fatalf("receipt %+v", r)
	}
	if raw, err := hex.DecodeString(r.Ledger); err != nil || len(raw) != 32 {
		t.Fatalf("mark %q", r.Ledger)
	}
	o.expect("user1", nil, nil)
	o.expect("user11", []string{"de otro"}, nil)
	again, err := o.Forget(t.Context(), "user1")
	if err != nil || again.Facts.Erased+again.Spools.Logs+again.Logs.Calls != 0 || again.Ledger != r.Ledger {
		t.Fatalf("again: %+v, %v", again, err)
	}
	if _, err := o.Forget(t.Context(), ""); err == nil {
		t.Fatal("nobody was forgotten")
	}
	ledger, err := os.ReadFile(filepath.Join(o.dir, "erasures", "erasures"))
	if err != nil || bytes.Contains(ledger, []byte("user1")) || bytes.Count(ledger, []byte(r.Ledger)) != 2 {
		t.Fatalf("ledger %s, %v", ledger, err)
	}
}

// A database from before the erasure is cleaned at the next start; what the
// contact taught after coming back stays, and others keep all.
func TestARestoredDatabaseForgetsAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := open(t, dir)
	o.teach("user1", earlier, "de antes")
	o.teach("user11", earlier, "de otro")
	o.close()
	backup, err := os.ReadFile(filepath.Join(dir, "headstart.db"))
	if err != nil {
		t.Fatal(err)
	}
	o = open(t, dir)
	if n, err := o.Reapply(t.Context()); n != 0 || err != nil {
		t.Fatalf("before any erasure: %d, %v", n, err)
	}
	if _, err := o.Forget(t.Context(), "user1"); err != nil {
		t.Fatal(err)
	}
	o.close()
	if err := os.WriteFile(filepath.Join(dir, "headstart.db"), backup, 0o600); err != nil {
		t.Fatal(err)
	}
	o = open(t, dir)
	o.teach("user1", time.Now().Add(time.Hour), "de después")
	o.expect("user1", []string{"de antes", "de después"}, nil)
	for _, want := range []int{1, 0} {
		if n, err := o.Reapply(t.Context()); n != want || err != nil {
			t.Fatalf("erased again %d contacts, %v; want %d", n, err, want)
		}
	}
	o.expect("user1", []string{"de después"}, nil)
	o.expect("user11", []string{"de otro"}, nil)
	o.close()
}

func TestLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := ledger(t, dir)
	mark, err := l.Record("default", "user1", earlier)
	if err != nil || !l.Knows("default", "user1") {
		t.Fatalf("record: %v", err)
	}
	if l.Knows("default", "user11") || l.Knows("other", "user1") || l.Knows("defaultu", "ser1") {
		t.Fatal("another is in the ledger")
	}
	file, err := os.OpenFile(filepath.Join(dir, "erasures"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(mark[:20]); err != nil { // torn by a crash
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger(t, dir).Record("default", "user2", earlier.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	again := ledger(t, dir)
	for contact, want := range map[string]time.Time{"user1": earlier, "user2": earlier.Add(time.Hour)} {
		if at, found := again.Erased("default", contact); !found || !at.Equal(want) {
			t.Fatalf("%s: %v, %v", contact, at, found)
		}
	}
	for _, key := range [][]byte{nil, []byte("short")} {
		if err := os.Remove(filepath.Join(dir, "erasures.key")); err != nil {
			t.Fatal(err)
		}
		if key != nil {
			if err := os.WriteFile(filepath.Join(dir, "erasures.key"), key, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := contacts.OpenLedger(dir); err == nil || !strings.Contains(err.Error(), "erasures.key") {
			t.Fatalf("a ledger whose key is gone: %v", err)
		}
		if key == nil {
			if err := os.WriteFile(filepath.Join(dir, "erasures.key"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

type knowing struct{ *contacts.Ledger }

// Knows tells whether somebody is in the ledger.
func (l knowing) Knows(org, contact string) bool {
	_, found := l.Erased(org, contact)
	return found
}

func ledger(t *testing.T, dir string) knowing {
	t.Helper()
	l, err := contacts.OpenLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	return knowing{l}
}
