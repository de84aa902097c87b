package knowledge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"headstart/retrieval/knowledge"
)

// A folder that is followed is pushed once, and again when it has changed.
func TestPushFollows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.md", "# A\n\nuno")
	write("b.md", "# B\n\ndos")
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ctx, cancel := context.WithCancel(t.Context())
		pushed := make(chan error, 16)
		done := make(chan error, 1)
		go func() {
			done <- d.push().Follow(ctx, dir, func(_ knowledge.Report, err error) { pushed <- err })
		}()
		for i, step := range []struct {
			change func()
			pushes int
			base   []string
		}{
			{func() {}, 1, []string{"a.md: uno", "b.md: dos"}},
			{func() {}, 0, []string{"a.md: uno", "b.md: dos"}},
			{func() { write("a.md", "# A\n\nuno más") }, 1, []string{"a.md: uno más", "b.md: dos"}},
			{func() { write("c.md", "# C\n\ntres") }, 1, []string{"a.md: uno más", "b.md: dos", "c.md: tres"}},
		} {
			step.change()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if n := len(pushed); n != step.pushes {
				t.Fatalf("step %d: %d pushes, want %d", i, n, step.pushes)
			}
			for range step.pushes {
				if err := <-pushed; err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			equal(t, "base", step.base, d.holds())
		}
		// A folder that goes away is told, and changes nothing.
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := len(pushed); n != 1 {
			t.Fatalf("a folder that went: told %d times, want once", n)
		}
		if err := <-pushed; !errors.Is(err, os.ErrNotExist) || len(d.holds()) != 3 {
			t.Fatalf("a folder that went: %v", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatalf("follow: %v", err)
		}
	})
}
