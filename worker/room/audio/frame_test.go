package audio_test

import (
	"testing"
	"time"

	"headstart/worker/room/audio"
)

// still is an encoder and decoder without a codec: what is left is ours.
type still struct{}

func (still) Protect(bool) {}

func (still) Encode([]int16, []byte) (int, error)        { return 80, nil }
func (still) Decode(_ []byte, pcm []int16) (int, error)  { return audio.HeardFrame, nil }
func (still) Conceal(_ []byte, pcm []int16) (int, error) { return len(pcm), nil }

// in is the way of a frame from its packet to its reader: jitter buffer, decoder,
// ear. Each tenth packet comes late.
func in(decoder audio.Decoder, stream [][]byte) func() {
	ear := audio.NewEar(func([]int16) {})
	ear.Track(decoder)
	i := 0
	send := func(n int, at time.Duration) {
		ear.Packet(at, uint16(n), uint32(n*audio.SaidFrame), stream[n%len(stream)])
	}
	return func() {
		at := slot(i)
		switch i % 10 {
		case 4:
		case 5:
			send(i, at)
			send(i-1, at)
		default:
			send(i, at)
		}
		ear.Tick(at)
		i++
	}
}

// out is the way of a frame from its speaker to its packet: resampler, queue, encoder.
func out(t testing.TB, encoder audio.Encoder) func() {
	var queue audio.Queue
	speech, frame, packet := sine(440, 24000, 480), make([]int16, audio.SaidFrame), make([]byte, audio.MaxPacket)
	if err := queue.Put(speech, 24000); err != nil {
		t.Fatalf("put: %v", err)
	}
	return func() {
		if err := queue.Put(speech, 24000); err != nil {
			t.Fatalf("put: %v", err)
		}
		queue.Next(frame)
		if _, err := encoder.Encode(frame, packet); err != nil {
			t.Fatalf("encode: %v", err)
		}
	}
}

// TestFramesAllocateNothing: nothing but a second of frames at a time, which
// their readers keep. What the codec allocates is measured by the benchmarks.
func TestFramesAllocateNothing(t *testing.T) { // AllocsPerRun does not go with t.Parallel
	stream := packets(t, 440, 50)
	for name, step := range map[string]func(){
		"in": in(still{}, stream), "in, decoded": in(newDecoder(t), stream), "out": out(t, still{}),
	} {
		for range 500 { // the buffers find their size
			step()
		}
		if n := testing.AllocsPerRun(500, step); n > 0 {
			t.Errorf("%s: a frame allocates %v times", name, n)
		}
	}
}

func BenchmarkFrameIn(b *testing.B) {
	for name, decoder := range map[string]audio.Decoder{"ours": still{}, "with the codec": newDecoder(b)} {
		b.Run(name, func(b *testing.B) {
			step := in(decoder, packets(b, 440, 50))
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}

func BenchmarkFrameOut(b *testing.B) {
	encoder, err := audio.NewEncoder()
	if err != nil {
		b.Fatalf("new encoder: %v", err)
	}
	for name, encoder := range map[string]audio.Encoder{"ours": still{}, "with the codec": encoder} {
		b.Run(name, func(b *testing.B) {
			step := out(b, encoder)
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}
