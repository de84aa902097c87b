package aura_test

import (
	"slices"
	"strings"
	"testing"

	"headstart/turn/tts"
	"headstart/turn/tts/aura"
)

// FuzzShares holds that no sample is lost, repeated or moved, that clauses come
// in order and end once each, and that none but the last takes more than its
// share once its successor is known. A byte below 128 adds a clause of so many
// characters, another one brings audio.
func FuzzShares(f *testing.F) {
	f.Add([]byte{5, 200, 0, 7, 255, 255}, uint16(10))
	f.Add([]byte{0, 0, 3, 129, 130, 131, 0, 4, 250}, uint16(1))
	f.Fuzz(func(t *testing.T, script []byte, per uint16) {
		s, p := aura.NewShares(float64(per)/8), &player{}
		var want []int16
		clauses := 0
		take := func(pieces []tts.Audio) {
			for _, a := range pieces {
				if a.Clause >= clauses && (clauses > 0 || a.Clause > 0) {
					t.Fatalf("audio of clause %d of %d", a.Clause, clauses)
				}
				if err := p.play(a); err != nil {
					t.Fatalf("play %d samples of clause %d: %v", len(a.PCM), a.Clause, err)
				}
			}
		}
		for _, b := range script {
			if b < 128 {
				s.Add(strings.Repeat("a", int(b)))
				clauses++
				continue
			}
			pcm := make([]int16, int(b)-127)
			for i := range pcm {
				pcm[i] = int16(len(want) + i)
			}
			want = append(want, pcm...)
			take(s.Share(pcm))
		}
		take(s.Finish())
		if !slices.Equal(p.pcm, want) {
			t.Fatalf("%d samples played, want %d in their order", len(p.pcm), len(want))
		}
		if clauses > 0 && (len(p.last) != clauses || slices.Contains(p.last, false)) {
			t.Fatalf("clauses ended %v, want all %d", p.last, clauses)
		}
	})
}

func BenchmarkShares(b *testing.B) {
	pcm := make([]int16, 480)
	b.ReportAllocs()
	for b.Loop() {
		s := aura.NewShares(1700)
		s.Add("Abrimos a las nueve,")
		s.Add("y cerramos a las ocho.")
		for range 150 {
			s.Share(pcm)
		}
		s.Finish()
	}
}
