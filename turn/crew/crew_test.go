package crew_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/turn/crew"
)

func culprit(value any) { panic(value) }

func TestGuardTellsAPanicWithoutItsWords(t *testing.T) {
	t.Parallel()
	var list []int
	failed := errors.New("failed")
	for _, tt := range []struct {
		name string
		work func() error
		want string
	}{
		{"no error", func() error { return nil }, "<nil>"},
		{"an error", func() error { return failed }, "failed"},
		{"a word", func() error { culprit("my card is 4929"); return nil }, "panic of type string"},
		{"an error's words", func() error { culprit(failed); return nil }, "panic of type *errors.errorString"},
		{"the runtime", func() error { _ = list[len(list)]; return nil }, "panic: runtime error: index out of range [0] with length 0"},
	} {
		if diff := cmp.Diff(tt.want, fmt.Sprint(crew.Guard(tt.work))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A panic goes from goroutine to goroutine up to who began the work, and its
// stack still shows who panicked.
func TestAPanicIsHandedOnWithItsStack(t *testing.T) {
	t.Parallel()
	err := crew.Guard(func() error {
		stopped := make(chan struct{})
		c := crew.Crew{Stop: func() { close(stopped) }}
		c.Do(func() { <-stopped })
		c.Do(func() {
			_ = crew.Hand(fmt.Errorf("inside: %w", crew.Guard(func() error { culprit("words"); return nil })))
		})
		c.Wait()
		return nil
	})
	p := crew.In(fmt.Errorf("outside: %w", err))
	if p == nil || p.Value != "words" || !strings.Contains(string(p.Stack), "crew_test.culprit") {
		t.Fatalf("caught %+v", p)
	}
	if crew.In(errors.New("another")) != nil || crew.In(nil) != nil {
		t.Fatal("a panic is found where none is")
	}
}

func TestACrewWithoutAPanicEnds(t *testing.T) {
	t.Parallel()
	c := crew.Crew{Stop: func() { t.Error("told to stop") }}
	done := make([]bool, 3)
	for i := range done {
		c.Do(func() { done[i] = true })
	}
	c.Wait()
	if diff := cmp.Diff([]bool{true, true, true}, done); diff != "" {
		t.Fatalf("done (-want +got):\n%s", diff)
	}
}
