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
		var reports []knowledge.Report
		var errs []error
		done := make(chan error, 1)
		go func() {
			done <- d.push().Follow(ctx, dir, func(r knowledge.Report, err error) { reports, errs = append(reports, r), append(errs, err) })
		}()
		for i, step := range []struct {
			change func()
			pushes int
			base   []string
		}{
			{func() {}, 1, []string{"a.md: uno", "b.md: dos"}},
			{func() {}, 1, []string{"a.md: uno", "b.md: dos"}},
			{func() { write("a.md", "# A\n\nuno más") }, 2, []string{"a.md: uno más", "b.md: dos"}},
			{func() { write("c.md", "# C\n\ntres") }, 3, []string{"a.md: uno más", "b.md: dos", "c.md: tres"}},
		} {
			step.change()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if len(reports) != step.pushes || errors.Join(errs...) != nil {
				t.Fatalf("step %d: %d pushes, %v", i, len(reports), errs)
			}
			equal(t, "base", step.base, d.holds())
		}
		// A folder that goes away is told, and changes nothing.
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(errs) != 4 || !errors.Is(errs[3], os.ErrNotExist) || len(d.holds()) != 3 {
			t.Fatalf("a folder that went: %v", errs)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatalf("follow: %v", err)
		}
	})
}
