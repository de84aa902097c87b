package calllog_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/zap"

	"headstart/turn"
	"headstart/worker/calllog"
	"headstart/worker/calllog/calllogtest"
)

func benchBook(b *testing.B) *calllog.Book {
	b.Helper()
	book, err := calllog.Open(calllog.Config{Dir: b.TempDir()}, &calllogtest.Store{}, zap.NewNop())
	if err != nil {
		b.Fatalf("open book: %v", err)
	}
	b.Cleanup(func() {
		if err := book.Close(); err != nil {
			b.Errorf("close book: %v", err)
		}
	})
	return book
}

// BenchmarkAppend is what an entry costs its call: the spool's write included.
func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name  string
		event turn.Event
	}{
		{"Durable", turn.TurnUser{SpeechID: "sp_1", Text: "quería cambiar la cita del martes por la tarde", Medium: "voice"}},
		{"Ephemeral", turn.VAD{Speaking: true, AtMS: 1234}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			log, err := benchBook(b).Begin("c", "clinica")
			if err != nil {
				b.Fatalf("begin: %v", err)
			}
			for b.Loop() {
				log.Append(c.event)
			}
		})
	}
}

// BenchmarkShip is a batch of 256 entries of eight calls, from their Append to
// a store that costs nothing, spools made and removed.
func BenchmarkShip(b *testing.B) {
	b.ReportAllocs()
	book := benchBook(b)
	ended, cancel := context.WithCancel(b.Context())
	cancel()
	round := 0
	for b.Loop() {
		round++
		for c := range 8 {
			log, err := book.Begin(fmt.Sprint(round, "-", c), "clinica")
			if err != nil {
				b.Fatalf("begin: %v", err)
			}
			for range 30 {
				log.Append(turn.DTMF{Digit: "1"})
			}
			log.Seal()
		}
		if err := book.Run(ended); err != nil {
			b.Fatalf("run: %v", err)
		}
	}
}
