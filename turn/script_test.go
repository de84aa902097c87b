package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/turn"
)

var clauses = []string{"¿Sí? Claro, ", "los sábados abrimos de nueve a dos. ", "Y los domingos, no."}

// What was heard is whole words, and only grows.
func TestPlaybackReachesWholeWords(t *testing.T) {
	t.Parallel()
	text := strings.Join(clauses, "")
	for _, whole := range []bool{true, false} {
		reached, told := turn.Playback(whole, clauses...), 0
		for heard := time.Duration(0); heard <= 10*time.Second; heard += 7 * time.Millisecond {
			delta := reached(heard, told)
			if !strings.HasPrefix(text[told:], delta) {
				t.Fatalf("%v: %q does not follow %q", heard, delta, text[:told])
			}
			told += len(delta)
			if rest := text[told:]; rest != "" && told > 0 && rest[0] != ' ' && text[told-1] != ' ' {
				t.Fatalf("%v: a word is cut: %q and %q", heard, text[:told], rest)
			}
		}
		if told != len(text) {
			t.Fatalf("at the end %q was heard", text[:told])
		}
	}
}

func TestPlaybackAtAMoment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		heard time.Duration
		want  string
	}{
		{0, ""},
		{100 * time.Millisecond, ""},
		{1500 * time.Millisecond, "¿Sí?"},            // the sixth of twelve characters
		{2990 * time.Millisecond, "¿Sí? Claro, "},    // within a frame of the end
		{3010 * time.Millisecond, "¿Sí? Claro, "},    // nothing of the next clause yet
		{3500 * time.Millisecond, "¿Sí? Claro, los"}, // the sixth of its 36
		{4200 * time.Millisecond, "¿Sí? Claro, los sábados"},
		{9 * time.Second, strings.Join(clauses, "")},
	} {
		if diff := cmp.Diff(tt.want, turn.Playback(true, clauses...)(tt.heard, 0)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.heard, diff)
		}
	}
}

// BenchmarkLookAtPlayback is what the watcher asks at a look at a reply of three
// clauses, in the middle of the last, of which nothing new was heard.
func BenchmarkLookAtPlayback(b *testing.B) {
	reached := turn.Playback(false, clauses...)
	told := len(reached(7*time.Second, 0))
	b.ReportAllocs()
	for b.Loop() {
		reached(7*time.Second, told)
	}
}
