package tts_test

import (
	"testing"

	"headstart/turn/tts"
)

type melodious struct{}

func (melodious) Fragments() bool { return false }

func TestTakesFragments(t *testing.T) {
	t.Parallel()
	if tts.TakesFragments(melodious{}) || !tts.TakesFragments(struct{}{}) {
		t.Fatal("a voice that says no takes fragments, or one that says nothing does not")
	}
}
