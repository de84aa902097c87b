package postgres_test

import (
	"net/url"
	"testing"

	"headstart/store/postgres"
	"headstart/store/postgres/postgrestest"
)

// A scratch database has its tables, is apart from the one that was named, and is
// gone when it is dropped, though somebody is connected.
func TestScratch(t *testing.T) {
	t.Parallel()
	named := postgrestest.Database(t)
	for _, at := range []string{named, keywords(t, named)} {
		scratch, err := postgres.Scratch(t.Context(), at)
		if err != nil {
			t.Fatalf("scratch of %q: %v", at, err)
		}
		db := open(t, scratch)
		if err := db.Ping(t.Context()); err != nil {
			t.Fatalf("its tables: %v", err)
		}
		if err := open(t, at).Ping(t.Context()); err == nil {
			t.Fatal("the database that was named has tables now")
		}
		for range 2 { // what is gone already is no failure
			if err := postgres.DropScratch(t.Context(), at, scratch); err != nil {
				t.Fatalf("drop: %v", err)
			}
		}
		if err := db.Ping(t.Context()); err == nil {
			t.Fatal("it is still there")
		}
	}
}

// keywords writes a URL as libpq's keywords and values.
func keywords(t *testing.T, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	return "host=" + u.Hostname() + " port=" + u.Port() + " user=" + u.User.Username() + " password=" + password + " dbname=" + u.Path[1:] + " sslmode=disable"
}

func TestScratchFails(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"", "postgres://u:sec%zzret@db/h", "postgres://nobody@127.0.0.1:1/none?sslmode=disable"} {
		if _, err := postgres.Scratch(t.Context(), at); err == nil {
			t.Errorf("a scratch database of %q", at)
		}
	}
}
