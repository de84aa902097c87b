// Package recording turns what a client recorded before it was connected into
// the samples that a call hears. It reads raw 16 bit PCM, and Opus in Ogg or in
// WebM, as browsers record it.
//
// It knows nothing of rooms and keeps no state. Whatever it is given comes from a
// stranger: it never panics, works only on the last ten seconds, and fails by
// returning an error for what it cannot read.
package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"headstart/worker/room/audio"
)

// Longest is how much of a recording is heard: its end.
const Longest = 10 * time.Second

// ErrFormat says that the bytes are not what their type says.
var ErrFormat = errors.New("the recording is neither PCM nor Opus in Ogg or WebM")

// Form says what a recording's bytes are.
type Form struct {
	MIME     string
	Rate     int // in hertz, of PCM
	Channels int // of PCM, interleaved: 1 or 2
}

// Opus tells whether the form is Opus in a container; all else is PCM.
func (f Form) Opus() bool {
	return strings.HasPrefix(f.MIME, "audio/opus") || strings.Contains(f.MIME, "codecs=opus")
}

// Decode gives the last ten seconds of a recording as 16 kHz mono.
func Decode(form Form, content []byte) ([]int16, error) {
	if !form.Opus() {
		return decodePCM(form, content)
	}
	var packets [][]byte
	switch {
	case bytes.HasPrefix(content, oggMagic):
		packets = oggPackets(content)
	case bytes.HasPrefix(content, ebmlMagic):
		packets = webmPackets(content)
	default:
		return nil, fmt.Errorf("decode recording: %w", ErrFormat)
	}
	return decodeOpus(packets)
}

func decodePCM(form Form, content []byte) ([]int16, error) {
	if form.Channels < 1 || form.Channels > 2 {
		return nil, fmt.Errorf("decode recording: %d channels", form.Channels)
	}
	resampler, err := audio.NewResampler(form.Rate, audio.HeardRate)
	if err != nil {
		return nil, fmt.Errorf("decode recording: %w", err)
	}
	size := 2 * form.Channels
	content = content[:len(content)/size*size]
	content = content[max(0, len(content)-size*form.Rate*int(Longest/time.Second)):]
	mono := make([]int16, len(content)/size)
	for i := range mono {
		var sum int
		for c := range form.Channels {
			sum += int(int16(binary.LittleEndian.Uint16(content[i*size+2*c:])))
		}
		mono[i] = int16(sum / form.Channels)
	}
	return resampler.Flush(resampler.Resample(make([]int16, 0, len(mono)*audio.HeardRate/form.Rate+1), mono)), nil
}

func decodeOpus(packets [][]byte) ([]int16, error) {
	decoder, err := audio.NewDecoder()
	if err != nil {
		return nil, fmt.Errorf("decode recording: %w", err)
	}
	var pcm []int16
	var scratch [audio.HeardRate * 120 / 1000]int16
	broken := 0
	packets = lastOf(packets)
	for _, p := range packets {
		n, err := decoder.Decode(p, scratch[:])
		if err != nil {
			broken++
			continue
		}
		pcm = append(pcm, scratch[:n]...)
	}
	if broken == len(packets) {
		return nil, fmt.Errorf("decode recording: none of %d packets: %w", broken, ErrFormat)
	}
	return pcm, nil
}

// lastOf leaves out what is before the last ten seconds.
func lastOf(packets [][]byte) [][]byte {
	var length time.Duration
	for i := len(packets) - 1; i >= 0; i-- {
		if length += duration(packets[i]); length > Longest {
			return packets[i+1:]
		}
	}
	return packets
}

// duration is how long an Opus packet lasts, by its first two bytes (RFC 6716, 3.1
// and 3.2). A packet that says nothing sensible lasts as long as any may.
func duration(packet []byte) time.Duration {
	const most = 120 * time.Millisecond
	if len(packet) == 0 {
		return 0
	}
	frame := frameOf(packet[0] >> 3)
	switch packet[0] & 3 {
	case 0:
		return frame
	case 1, 2:
		return 2 * frame
	}
	if len(packet) < 2 || packet[1]&63 == 0 {
		return most
	}
	return min(most, frame*time.Duration(packet[1]&63))
}

// frameOf is the length of a frame of that configuration.
func frameOf(config byte) time.Duration {
	switch {
	case config < 12: // SILK
		return []time.Duration{10, 20, 40, 60}[config&3] * time.Millisecond
	case config < 16: // hybrid
		return []time.Duration{10, 20}[config&1] * time.Millisecond
	}
	return 2500 * time.Microsecond << (config & 3) // CELT
}
