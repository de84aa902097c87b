package recording_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"headstart/worker/room/audio"
	"headstart/worker/room/recording"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sine(hertz float64, rate int, d time.Duration) []int16 {
	pcm := make([]int16, int(d*time.Duration(rate)/time.Second))
	for i := range pcm {
		pcm[i] = int16(16384 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
	}
	return pcm
}

// packets encodes a tone of half of full scale.
func packets(t testing.TB, d time.Duration) [][]byte {
	t.Helper()
	encoder, err := audio.NewEncoder()
	if err != nil {
		t.Fatalf("new encoder: %v", err)
	}
	var out [][]byte
	buffer := make([]byte, audio.MaxPacket)
	for frame := range slices.Chunk(sine(440, audio.SaidRate, d), audio.SaidFrame) {
		n, err := encoder.Encode(frame, buffer)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		out = append(out, slices.Clone(buffer[:n]))
	}
	return out
}

// ogg writes packets to pages of so many segments (RFC 3533).
func ogg(packets [][]byte, segments int) []byte {
	packets = append([][]byte{[]byte("OpusHead"), []byte("OpusTags")}, packets...)
	var table, body []byte
	var file bytes.Buffer
	flush := func() {
		file.WriteString("OggS")
		file.Write(make([]byte, 22))
		file.WriteByte(byte(len(table)))
		file.Write(table)
		file.Write(body)
		table, body = nil, nil
	}
	for _, p := range packets {
		for {
			n := min(len(p), 255)
			table, body, p = append(table, byte(n)), append(body, p[:n]...), p[n:]
			if len(table) == segments {
				flush()
			}
			if n < 255 {
				break
			}
		}
	}
	flush()
	return file.Bytes()
}

// webm writes packets as a recorder does that does not know how long it will go on.
func webm(packets [][]byte) []byte {
	unknown := []byte{0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	element := func(id []byte, content ...byte) []byte {
		size := binary.BigEndian.AppendUint32(nil, 0x10000000|uint32(len(content)))
		return slices.Concat(id, size, content)
	}
	file := element([]byte{0x1a, 0x45, 0xdf, 0xa3}, []byte("\x42\x82\x84webm")...)
	file = append(append(file, 0x18, 0x53, 0x80, 0x67), unknown...)
	file = append(file, element([]byte{0x16, 0x54, 0xae, 0x6b}, make([]byte, 40)...)...) // tracks
	for i, p := range packets {
		if i%50 == 0 {
			file = append(append(file, 0x1f, 0x43, 0xb6, 0x75), unknown...)
			file = append(file, element([]byte{0xe7}, 0, 0)...) // time code
		}
		block := append([]byte{0x81, 0, 0, 0x80}, p...)
		if i%2 == 0 {
			file = append(file, element([]byte{0xa3}, block...)...)
		} else {
			file = append(file, element([]byte{0xa0}, element([]byte{0xa1}, block...)...)...)
		}
	}
	return file
}

func pcm16(channels int, pcm []int16) []byte {
	var content []byte
	for _, v := range pcm {
		for range channels {
			content = binary.LittleEndian.AppendUint16(content, uint16(v))
		}
	}
	return content
}

// expectTone fails unless pcm is d of the tone.
func expectTone(t *testing.T, pcm []int16, d time.Duration) {
	t.Helper()
	if got := audio.Duration(int64(len(pcm)), audio.HeardRate); got != d {
		t.Fatalf("%v are heard, want %v", got, d)
	}
	k := 2 * math.Cos(2*math.Pi*440/audio.HeardRate)
	var s1, s2 float64
	for _, v := range pcm {
		s1, s2 = float64(v)+k*s1-s2, s1
	}
	at := math.Sqrt(2*(s1*s1+s2*s2-k*s1*s2)) / float64(len(pcm))
	if rms := audio.RMS(pcm); rms < 10000 || rms > 13000 || at < 0.9*rms {
		t.Fatalf("RMS %.0f, of which %.0f at 440 Hz; want 11585", rms, at)
	}
}

func TestEveryForm(t *testing.T) {
	t.Parallel()
	opus := packets(t, 2*time.Second)
	for name, c := range map[string]struct {
		form    recording.Form
		content []byte
	}{
		"pcm 16k":     {recording.Form{MIME: "audio/pcm", Rate: 16000, Channels: 1}, pcm16(1, sine(440, 16000, 2*time.Second))},
		"pcm 48k":     {recording.Form{MIME: "", Rate: 48000, Channels: 1}, pcm16(1, sine(440, 48000, 2*time.Second))},
		"pcm stereo":  {recording.Form{MIME: "audio/wav", Rate: 44100, Channels: 2}, pcm16(2, sine(440, 44100, 2*time.Second))},
		"ogg":         {recording.Form{MIME: "audio/ogg;codecs=opus"}, ogg(opus, 50)},
		"ogg, spread": {recording.Form{MIME: "audio/opus"}, ogg(opus, 1)},
		"webm":        {recording.Form{MIME: "audio/webm;codecs=opus", Rate: 48000, Channels: 2}, webm(opus)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pcm, err := recording.Decode(c.form, c.content)
			if err != nil {
				t.Fatal(err)
			}
			expectTone(t, pcm, 2*time.Second)
		})
	}
}

func TestOnlyTheEndOfALongOneIsHeard(t *testing.T) {
	t.Parallel()
	long := append(sine(3000, 16000, 30*time.Second), sine(440, 16000, 10*time.Second)...)
	pcm, err := recording.Decode(recording.Form{Rate: 16000, Channels: 1}, pcm16(1, long))
	if err != nil {
		t.Fatal(err)
	}
	expectTone(t, pcm, 10*time.Second)
	pcm, err = recording.Decode(recording.Form{MIME: "audio/opus"}, webm(slices.Concat(slices.Repeat([][]byte{{0xf8, 0xff, 0xfe}}, 5000), packets(t, 10*time.Second))))
	if err != nil {
		t.Fatal(err)
	}
	expectTone(t, pcm, 10*time.Second)
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		form    recording.Form
		content []byte
	}{
		"no container":  {recording.Form{MIME: "audio/opus"}, []byte("ftypmp42")},
		"empty":         {recording.Form{MIME: "audio/opus"}, nil},
		"no packets":    {recording.Form{MIME: "audio/opus"}, ogg(nil, 1)},
		"no rate":       {recording.Form{Channels: 1}, make([]byte, 100)},
		"no channels":   {recording.Form{Rate: 16000}, make([]byte, 100)},
		"many channels": {recording.Form{Rate: 16000, Channels: 1 << 40}, make([]byte, 100)},
	} {
		if pcm, err := recording.Decode(c.form, c.content); err == nil {
			t.Errorf("%s: %d samples", name, len(pcm))
		}
	}
}

func FuzzDecode(f *testing.F) {
	opus := [][]byte{{0xf8, 0xff, 0xfe}, {0xfb, 0x03, 0xff}, {}}
	f.Add(true, ogg(opus, 2))
	f.Add(true, webm(opus))
	f.Add(false, []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, opus bool, content []byte) {
		form := recording.Form{Rate: 16000, Channels: 2}
		if opus {
			form.MIME = "audio/opus"
		}
		pcm, err := recording.Decode(form, content)
		if got := audio.Duration(int64(len(pcm)), audio.HeardRate); err == nil && got > recording.Longest {
			t.Fatalf("%v of %d bytes", got, len(content))
		}
	})
}
