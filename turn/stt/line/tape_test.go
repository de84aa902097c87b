package line_test

import (
	"testing"

	"headstart/turn/stt/line"
)

// FuzzClock holds the tape's clock against one that notes, sample by sample,
// which of the call's samples each of the connection's was. Steps are 10 ms.
func FuzzClock(f *testing.F) {
	f.Add([]byte{0, 3, 1, 5, 2, 4, 0, 2, 3, 1, 4, 0})
	f.Add([]byte{2, 9, 0, 1, 2, 9, 2, 9, 0, 1, 3, 200, 4, 0, 2, 1})
	f.Fuzz(func(t *testing.T, script []byte) {
		const step = 160
		if len(script) > 200 {
			return
		}
		tape := line.NewTape()
		var wire []int64 // the call's sample, for each step that the connection was sent
		var next, settled int64
		for i := 0; i+1 < len(script); i += 2 {
			n := int64(script[i+1])%50 + 1
			switch script[i] % 5 {
			case 0, 1: // audio
				tape.Add(int(n * step))
				for sent := tape.Take() / step; sent > 0; sent-- {
					wire = append(wire, next)
					next += step
				}
			case 2: // silence of ours
				tape.Hush(n * step)
				for range n {
					wire = append(wire, next)
				}
			case 3: // a final
				if len(wire) > 0 {
					at := int64(script[i+1]) % int64(len(wire))
					settled = max(settled, wire[at])
					tape.Settle(at * step)
				}
			case 4: // another connection
				tape.Rewind()
				wire, next = nil, settled
				for sent := tape.Take() / step; sent > 0; sent-- {
					wire = append(wire, next)
					next += step
				}
			}
			for at, want := range wire {
				if got := tape.At(int64(at) * step); got != want {
					t.Fatalf("after step %d, sample %d of the connection is %d of the call, want %d", i/2, at*step, got, want)
				}
			}
		}
	})
}
