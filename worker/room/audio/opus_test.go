package audio_test

import (
	"math"
	"testing"

	"headstart/worker/room/audio"
)

// packets encodes a tone, one packet a frame.
func packets(t testing.TB, hertz float64, frames int) [][]byte {
	t.Helper()
	encoder, err := audio.NewEncoder()
	if err != nil {
		t.Fatalf("new encoder: %v", err)
	}
	pcm := sine(hertz, audio.SaidRate, frames*audio.SaidFrame)
	out := make([][]byte, frames)
	buffer := make([]byte, audio.MaxPacket)
	for i := range out {
		n, err := encoder.Encode(pcm[i*audio.SaidFrame:(i+1)*audio.SaidFrame], buffer)
		if err != nil {
			t.Fatalf("encode frame %d: %v", i, err)
		}
		out[i] = append([]byte(nil), buffer[:n]...)
	}
	return out
}

func newDecoder(t testing.TB) audio.Decoder {
	t.Helper()
	decoder, err := audio.NewDecoder()
	if err != nil {
		t.Fatalf("new decoder: %v", err)
	}
	return decoder
}

func TestOpusKeepsTone(t *testing.T) {
	t.Parallel()
	decoder := newDecoder(t)
	pcm := make([]int16, 1920)
	var heard []int16
	var bytes int
	for _, p := range packets(t, 440, 100) {
		n, err := decoder.Decode(p, pcm)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		heard, bytes = append(heard, pcm[:n]...), bytes+len(p)
	}
	if len(heard) != 2*audio.HeardRate {
		t.Fatalf("2 s of packets are %d samples", len(heard))
	}
	signal, noise := tone(middle(heard), 440, audio.HeardRate)
	if level := decibel(signal, 16384/1.41421356); level < -1 || level > 1 || decibel(signal, noise) < 15 {
		t.Fatalf("440 Hz comes out at %.1f dB, %.1f dB above the noise", level, decibel(signal, noise))
	}
	if rate := bytes * 8 / 2; rate < 16000 || rate > 48000 {
		t.Fatalf("a tone takes %d bit/s, want about 32000", rate)
	}
}

func TestOpusSurvivesGarbage(t *testing.T) {
	t.Parallel()
	decoder := newDecoder(t)
	pcm := make([]int16, 1920)
	for i, p := range [][]byte{{0xff}, {3, 255, 255}, {0xfb, 0x3f}, make([]byte, 1500)} {
		if n, err := decoder.Decode(p, pcm); err == nil && n > len(pcm) {
			t.Fatalf("packet %d gives %d samples", i, n)
		}
	}
	if n, err := decoder.Conceal(nil, pcm[:320]); err != nil || n != 320 {
		t.Fatalf("conceal after garbage: %d samples, %v", n, err)
	}
}

// voiced is a second of syllables: overtones of a pitch that glides, six swells.
func voiced() []int16 {
	pcm := make([]int16, audio.SaidRate)
	phase := 0.0
	for i := range pcm {
		at := float64(i) / audio.SaidRate
		phase += 2 * math.Pi * (150 + 50*math.Sin(2*math.Pi*3*at)) / audio.SaidRate
		for overtone := 1.0; overtone < 30; overtone++ {
			pcm[i] += int16(2000 / overtone * math.Sin(phase*overtone) * math.Sin(math.Pi*6*at))
		}
	}
	return pcm
}

func TestUnprotectedEncodingAllocatesNothing(t *testing.T) { // and so runs alone
	encoder, err := audio.NewEncoder()
	if err != nil {
		t.Fatalf("new encoder: %v", err)
	}
	encoder.Protect(false)
	pcm, packet := voiced(), make([]byte, audio.MaxPacket)
	at := 0
	encode := func() {
		if _, err := encoder.Encode(pcm[at:at+audio.SaidFrame], packet); err != nil {
			t.Fatalf("encode: %v", err)
		}
		at = (at + audio.SaidFrame) % len(pcm)
	}
	for range 100 { // its own buffers grow first
		encode()
	}
	if allocations := testing.AllocsPerRun(200, encode); allocations != 0 {
		t.Fatalf("%v allocations a frame", allocations)
	}
}

// A frame that was lost is heard from the copy in the packet after it, when there
// is one, and is made up otherwise.
func TestProtectionIsHeardAfterALoss(t *testing.T) {
	t.Parallel()
	heard := map[bool]float64{}
	for _, on := range []bool{true, false} {
		encoder, err := audio.NewEncoder()
		if err != nil {
			t.Fatalf("new encoder: %v", err)
		}
		encoder.Protect(on)
		heard[on] = likeness(t, encoder, voiced())
	}
	t.Logf("likeness of what stands for lost frames: %.3f with copies, %.3f without", heard[true], heard[false])
	if heard[true] < heard[false]+0.05 {
		t.Fatalf("lost frames are as like with copies (%.3f) as without (%.3f)", heard[true], heard[false])
	}
}

// likeness is the correlation of frames that were lost, one in five, with what is
// heard without a loss.
func likeness(t *testing.T, encoder audio.Encoder, pcm []int16) float64 {
	t.Helper()
	clean, lossy := newDecoder(t), newDecoder(t)
	var all, one, two float64
	var packets [][]byte
	for from := 0; from < len(pcm); from += audio.SaidFrame {
		packet := make([]byte, audio.MaxPacket)
		n, err := encoder.Encode(pcm[from:from+audio.SaidFrame], packet)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		packets = append(packets, packet[:n])
	}
	want, got := make([]int16, audio.HeardFrame), make([]int16, audio.HeardFrame)
	for i, p := range packets {
		if _, err := clean.Decode(p, want); err != nil {
			t.Fatalf("decode: %v", err)
		}
		if i%5 != 3 || i+1 == len(packets) {
			if _, err := lossy.Decode(p, got); err != nil {
				t.Fatalf("decode: %v", err)
			}
			continue
		}
		if _, err := lossy.Conceal(packets[i+1], got); err != nil {
			t.Fatalf("conceal: %v", err)
		}
		for k := range got {
			all += float64(want[k]) * float64(got[k])
			one += float64(want[k]) * float64(want[k])
			two += float64(got[k]) * float64(got[k])
		}
	}
	return all / math.Sqrt(one*two)
}

func BenchmarkEncode(b *testing.B) {
	encoder, err := audio.NewEncoder()
	if err != nil {
		b.Fatalf("new encoder: %v", err)
	}
	pcm, packet := sine(440, audio.SaidRate, audio.SaidFrame), make([]byte, audio.MaxPacket)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encoder.Encode(pcm, packet); err != nil {
			b.Fatalf("encode: %v", err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N)*50, "ms/s-of-audio")
}

func BenchmarkDecode(b *testing.B) {
	stream, decoder, pcm := packets(b, 440, 50), newDecoder(b), make([]int16, 1920)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := decoder.Decode(stream[i%len(stream)], pcm); err != nil {
			b.Fatalf("decode: %v", err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N)*50, "ms/s-of-audio")
}
