package audio_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/room/audio"
)

var ratios = []struct{ from, to int }{
	{24000, 48000}, {22050, 48000}, {16000, 48000}, {8000, 48000}, {44100, 48000},
	{48000, 16000}, {48000, 8000}, {24000, 16000}, {44100, 16000},
}

func convert(t *testing.T, from, to int, pcm []int16, block int) []int16 {
	t.Helper()
	r, err := audio.NewResampler(from, to)
	if err != nil {
		t.Fatalf("new resampler: %v", err)
	}
	var out []int16
	for i := 0; i < len(pcm); i += block {
		out = r.Resample(out, pcm[i:min(i+block, len(pcm))])
	}
	return r.Flush(out)
}

// middle leaves out what the filter makes of the stream's ends.
func middle(pcm []int16) []int16 { return pcm[len(pcm)/10 : len(pcm)*9/10] }

func TestResampleKeepsTone(t *testing.T) {
	t.Parallel()
	for _, r := range ratios {
		t.Run(fmt.Sprintf("%d to %d", r.from, r.to), func(t *testing.T) {
			t.Parallel()
			out := convert(t, r.from, r.to, sine(1000, r.from, r.from), r.from)
			signal, noise := tone(middle(out), 1000, r.to)
			if snr := decibel(signal, noise); snr < 85 {
				t.Fatalf("1 kHz comes out at %.1f dB above the noise, want 85", snr)
			}
			edge := 0.4 * float64(min(r.from, r.to))
			out = convert(t, r.from, r.to, sine(edge, r.from, r.from), r.from)
			signal, _ = tone(middle(out), edge, r.to)
			if loss := decibel(signal, audio.RMS(sine(edge, r.from, r.from))); loss < -0.5 || loss > 0.5 {
				t.Fatalf("%.0f Hz comes out at %.2f dB, want 0 ±0.5", edge, loss)
			}
		})
	}
}

func TestResampleStopsAliases(t *testing.T) {
	t.Parallel()
	for _, r := range ratios {
		for _, part := range []float64{0.6, 0.75, 0.9} {
			hertz := part * float64(r.to)
			if hertz >= float64(r.from)/2 {
				continue
			}
			in := sine(hertz, r.from, r.from)
			if level := decibel(audio.RMS(middle(convert(t, r.from, r.to, in, r.from)))+1e-9, audio.RMS(in)); level > -80 {
				t.Errorf("%.0f Hz aliases from %d to %d at %.1f dB, want -80", hertz, r.from, r.to, level)
			}
		}
	}
}

func TestResampleBlocksDoNotMatter(t *testing.T) {
	t.Parallel()
	for _, r := range ratios {
		in := sine(1234, r.from, r.from/2+7)
		whole := convert(t, r.from, r.to, in, len(in))
		for _, block := range []int{1, 7, 441, 997} {
			if diff := cmp.Diff(whole, convert(t, r.from, r.to, in, block)); diff != "" {
				t.Fatalf("%d to %d in blocks of %d (-whole +blocks):\n%s", r.from, r.to, block, diff)
			}
		}
	}
}

func TestResampleLength(t *testing.T) {
	t.Parallel()
	for _, r := range ratios {
		if got := len(convert(t, r.from, r.to, make([]int16, r.from), 480)); got != r.to {
			t.Errorf("one second from %d to %d Hz is %d samples", r.from, r.to, got)
		}
	}
}

func TestResampleAgainAfterFlush(t *testing.T) {
	t.Parallel()
	r, err := audio.NewResampler(24000, 48000)
	if err != nil {
		t.Fatalf("new resampler: %v", err)
	}
	in := sine(440, 24000, 2400)
	first := r.Flush(r.Resample(nil, in))
	second := r.Flush(r.Resample(nil, in))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Fatalf("a stream leaves something behind (-first +second):\n%s", diff)
	}
}

func TestResampleRefuses(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ from, to int }{{0, 48000}, {48000, 0}, {-1, 48000}, {47999, 48000}, {1 << 30, 48000}} {
		if _, err := audio.NewResampler(r.from, r.to); err == nil {
			t.Errorf("%d to %d Hz is taken", r.from, r.to)
		}
	}
}

func TestResampleClips(t *testing.T) {
	t.Parallel()
	in := make([]int16, 4800) // a square wave at full scale overshoots
	for i := range in {
		in[i] = 32767
		if i/24%2 == 1 {
			in[i] = -32768
		}
	}
	for i, v := range convert(t, 24000, 48000, in, 480) {
		if inside := i % 96; inside > 20 && inside < 28 && v < 30000 {
			t.Fatalf("sample %d wrapped to %d", i, v)
		}
	}
}

func BenchmarkResample(b *testing.B) {
	for _, r := range ratios {
		b.Run(fmt.Sprintf("%d-%d", r.from, r.to), func(b *testing.B) {
			rs, err := audio.NewResampler(r.from, r.to)
			if err != nil {
				b.Fatalf("new resampler: %v", err)
			}
			in := sine(440, r.from, r.from/50)
			out := rs.Resample(make([]int16, 0, r.to/10), in)
			b.ReportAllocs()
			for b.Loop() {
				out = rs.Resample(out[:0], in)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N)*50, "ms/s-of-audio")
		})
	}
}
