package calllog_test

import (
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

// BenchmarkShip is one batch: 256 entries, of so many calls, from memory to a
// store that costs nothing.
func BenchmarkShip(b *testing.B) {
	for _, calls := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("calls ", calls), func(b *testing.B) {
			b.ReportAllocs()
			book := benchBook(b)
			var logs []*calllog.Log
			for c := range calls {
				log, err := book.Begin(fmt.Sprint(c), "clinica")
				if err != nil {
					b.Fatalf("begin: %v", err)
				}
				logs = append(logs, log)
			}
			for b.Loop() {
				b.StopTimer()
				for i := range 256 {
					logs[i%calls].Append(turn.DTMF{Digit: "1"})
				}
				b.StartTimer()
				if err := book.Round(b.Context()); err != nil {
					b.Fatalf("ship: %v", err)
				}
			}
		})
	}
}
