package main

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"headstart/store/postgres"
	"headstart/store/postgres/postgrestest"
	"headstart/worker/contacts"
)

// The same over PostgreSQL: killed before it remembered, remembered once by the
// next start, and forgotten.
func TestACallIsRememberedAfterAKillInPostgreSQL(t *testing.T) {
	url := postgrestest.Database(t)
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HEADSTART_DATABASE_URL", url)
	r := newRememberings(t)
	r.oracle.stalls.Store(true)
	w := r.start()
	id := r.tell(w, "Soy alérgica a la penicilina.")
	<-r.oracle.asked
	w.kill()
	r.oracle.stalls.Store(false)
	w = r.start()
	o := operator{base: w.api}
	r.once(o, id)
	var receipt contacts.Receipt
	if err := (elsewhere{base: o.base}).send(t.Context(), http.MethodDelete, contactPath("+34600123456"), nil, &receipt); err != nil || receipt.Facts.Erased != 1 || receipt.Logs.Calls != 1 {
		t.Fatalf("forget: %+v, %v", receipt, err)
	}
	r.forgotten(o, []string{id})
	w.terminate()
	if _, err := os.Stat(filepath.Join(r.data, "headstart.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is a SQLite database: %v", err)
	}
}
