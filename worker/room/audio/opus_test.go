package audio_test

import (
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
