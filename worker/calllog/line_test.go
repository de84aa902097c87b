package calllog_test

import (
	"bytes"
	"testing"
	"time"

	"headstart/turn"
	"headstart/worker/calllog"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, entry := range []turn.Entry{
		{Seq: 1, Time: time.UnixMicro(1_760_000_000_123_456), Type: "turn.user", Data: []byte(`{"text":"a b  c"}`)},
		{Seq: 1 << 62, Time: time.UnixMicro(-1), Type: "vad", Ephemeral: true},
	} {
		line := calllog.AppendLine(nil, entry)
		got, ok := calllog.ParseLine(bytes.TrimSuffix(line, []byte{'\n'}))
		if !ok {
			t.Fatalf("line %q is not read", line)
		}
		equal(t, string(line), entry, got)
		for i := range len(line) - 1 {
			damaged := bytes.Clone(line[:len(line)-1])
			damaged[i] ^= 0x11
			if got, ok := calllog.ParseLine(damaged); ok {
				t.Fatalf("damaged line %q is read as %+v", damaged, got)
			}
		}
	}
}

// What is read from a line is written back as that line.
func FuzzLine(f *testing.F) {
	f.Add([]byte("00000000 1 2 vad"))
	f.Add(bytes.TrimSpace(calllog.AppendLine(nil, turn.Entry{Seq: 1, Time: time.UnixMicro(2), Type: "dtmf", Data: []byte(`{"digit":"1"}`)})))
	f.Add([]byte("zzzzzzzz "))
	f.Fuzz(func(t *testing.T, line []byte) {
		entry, ok := calllog.ParseLine(line)
		if !ok {
			return
		}
		again, ok := calllog.ParseLine(bytes.TrimSuffix(calllog.AppendLine(nil, entry), []byte{'\n'}))
		if !ok {
			t.Fatalf("line %q is read, and what is written of it is not", line)
		}
		equal(t, string(line), entry, again)
	})
}
