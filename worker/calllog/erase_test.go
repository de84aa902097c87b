package calllog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

// said is what must not be found after an erasure.
const said = "penicilina"

// speaks appends a call of a contact, with words.
func speaks(log *calllog.Log, contact string) {
	log.Append(turn.CallStarted{Room: "call-" + contact, Contact: &memory.Contact{ID: contact}})
	for range 3 {
		log.Append(turn.TurnUser{SpeechID: "speech-2", Text: said})
		log.Append(turn.VAD{})
	}
}

// onDisk is all that the spools of a folder hold.
func onDisk(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

func wipe(t *testing.T, book *calllog.Book, contact string) calllog.Spooled {
	t.Helper()
	gone, err := book.Erase(calllog.Erasure{Org: "default", Contact: contact, Until: time.Now()})
	if err != nil {
		t.Fatalf("erase: %v", err)
	}
	return gone
}

// A call that is on loses its words in memory and on the disk, and goes on
// without any; the calls of others keep theirs.
func TestEraseOfACallThatIsOn(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), &calllogtest.Store{}
	book := openBook(t, calllog.Config{Dir: dir, Window: 2}, store, zap.NewNop())
	hers, his := begin(t, book, "c1"), begin(t, book, "c2")
	speaks(hers, "user1")
	speaks(his, "user11")
	equal(t, "erased", calllog.Spooled{Logs: 1, Entries: 4}, wipe(t, book, "user1"))
	hers.Append(turn.TurnUser{Text: said})
	hers.Remember(lesson("c1"))
	hers.Append(turn.CallEnded{Reason: "caller_hung_up", EndedBy: "caller"})
	hers.Append(turn.CallSummary{})
	equal(t, "erased again", calllog.Spooled{}, wipe(t, book, "user1"))
	if disk := onDisk(t, dir); bytes.Count(disk, []byte(said)) != 3 || bytes.Count(disk, []byte("user1\"")) != 0 {
		t.Fatalf("spools hold\n%s", disk)
	}
	for _, e := range read(t, book, "c1") {
		if bytes.Contains(e.Data, []byte(said)) || bytes.Contains(e.Data, []byte("user1")) {
			t.Fatalf("%s still says %s", e.Type, e.Data)
		}
	}
	lastAttempt(t, book)
	page := stored(t, store, "c1")
	equal(t, "log", []string{"call.started", "turn.user", "turn.user", "turn.user", "turn.user", "memory.ops", "call.ended", "call.summary"}, types(page.Entries))
	var ended turn.CallEnded
	if err := json.Unmarshal(page.Entries[6].Data, &ended); err != nil || ended.Reason != "caller_hung_up" || page.Highest != 11 {
		t.Fatalf("end %+v, highest %d, %v", ended, page.Highest, err)
	}
	if w, _ := store.Taught("default", "c1"); len(w.Changes) != 0 {
		t.Fatalf("an erased call taught %+v", w)
	}
	equal(t, "his words", said, firstWords(t, stored(t, store, "c2").Entries))
}

func firstWords(t *testing.T, entries []turn.Entry) string {
	t.Helper()
	var user turn.TurnUser
	if err := json.Unmarshal(entries[1].Data, &user); err != nil {
		t.Fatal(err)
	}
	return user.Text
}

// What a dead process left is erased by whoever took it over, and stays so over
// starts; what a living one writes is not ours to erase.
func TestEraseOfSpoolsThatWereLeft(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), &calllogtest.Store{}
	store.Fail(errAway)
	first := openBook(t, calllog.Config{Dir: dir}, store, zap.NewNop())
	speaks(begin(t, first, "c1"), "user1")
	second := openBook(t, calllog.Config{Dir: dir, Remembers: func(string) bool { return true }}, store, zap.NewNop())
	if _, err := second.Erase(calllog.Erasure{Org: "default", Contact: "user1", Until: time.Now()}); !errors.Is(err, calllog.ErrElsewhere) {
		t.Fatalf("erase a living process's call: %v", err)
	}
	equal(t, "another's", calllog.Spooled{}, wipe(t, second, "user11"))
	closeBook(t, first) // it dies
	store.Fail(nil)
	if _, err := second.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "erased", calllog.Spooled{Logs: 1, Entries: 4}, wipe(t, second, "user1"))
	closeBook(t, second)
	third := openBook(t, calllog.Config{Dir: dir, Remembers: func(string) bool { return true }}, store, zap.NewNop())
	recovered, err := third.Recover(t.Context())
	if err != nil || len(recovered) != 1 || !recovered[0].Sealed {
		t.Fatalf("recover: %v, %v: nobody is left to be remembered", recovered, err)
	}
	lastAttempt(t, third)
	equal(t, "words", calllog.Gone, firstWords(t, stored(t, store, "c1").Entries))
}

// FuzzWithoutWords: no text of an entry outlives an erasure, whatever its shape,
// and a second one changes nothing.
func FuzzWithoutWords(f *testing.F) {
	for _, seed := range []string{
		`{"text":"penicilina"}`, `{"a":[{"b":["penicilina",1,null,true]}]}`, `"penicilina"`, `{"arguments":{"penicilina":1}}`,
		`{"contact":{"id":"penicilina"}}`, `penicilina`, `{"changes":[{"quote":"penicilina"}]}`, ``, `{}`, `{"text":"penicilina"} x`,
		`{"op":"penicilina"}`, `{"facts":"penicilina"}`,
	} {
		f.Add("turn.user", seed)
	}
	f.Fuzz(func(t *testing.T, kind, data string) {
		once := calllog.WithoutWords(turn.Entry{Seq: 7, Type: kind, Data: []byte(data)})
		if len(data) > 0 && !json.Valid(once.Data) {
			t.Fatalf("%q became %q", data, once.Data)
		}
		twice := calllog.WithoutWords(once)
		if once.Seq != 7 || once.Type != kind || !bytes.Equal(once.Data, twice.Data) {
			t.Fatalf("%q became %q, then %q", data, once.Data, twice.Data)
		}
	})
}
