//go:build !libopus

package audio

import (
	"fmt"

	"github.com/thesyncim/gopus"
)

const (
	// bitrate is what phone-like speech needs at 48 kHz with error correction in it.
	bitrate = 32000
	// complexity 5 costs two thirds of 10 and measures the same on speech.
	complexity = 5
	// expectedLoss makes the encoder spend bits on the copy of the frame before.
	expectedLoss = 10
)

type gopusDecoder struct {
	decoder *gopus.Decoder
	scratch []float32
}

// NewDecoder makes a decoder in pure Go.
func NewDecoder() (Decoder, error) {
	decoder, err := gopus.NewDecoder(gopus.DefaultDecoderConfig(HeardRate, 1))
	if err != nil {
		return nil, fmt.Errorf("make opus decoder: %w", err)
	}
	return &gopusDecoder{decoder: decoder, scratch: make([]float32, longestPacket)}, nil
}

// Decode implements Decoder.
func (d *gopusDecoder) Decode(packet []byte, pcm []int16) (int, error) {
	n, err := d.decoder.Decode(packet, d.scratch)
	if err != nil {
		return 0, fmt.Errorf("decode opus: %w", err)
	}
	return toInt16(pcm, d.scratch[:n]), nil
}

// Conceal implements Decoder.
func (d *gopusDecoder) Conceal(next []byte, pcm []int16) (int, error) {
	want := d.scratch[:min(len(pcm), longestPacket)]
	n, err := d.decoder.DecodeWithFEC(next, want, next != nil)
	if err != nil {
		return 0, fmt.Errorf("conceal opus: %w", err)
	}
	return toInt16(pcm, want[:n]), nil
}

type gopusEncoder struct{ encoder *gopus.Encoder }

// NewEncoder makes an encoder in pure Go: speech at 32 kb/s, with forward error
// correction against one packet in ten lost.
func NewEncoder() (Encoder, error) {
	encoder, err := gopus.NewEncoder(gopus.EncoderConfig{SampleRate: SaidRate, Channels: 1, Application: gopus.ApplicationVoIP})
	if err != nil {
		return nil, fmt.Errorf("make opus encoder: %w", err)
	}
	if err := encoder.SetBitrate(bitrate); err != nil {
		return nil, fmt.Errorf("set opus bitrate: %w", err)
	}
	if err := encoder.SetComplexity(complexity); err != nil {
		return nil, fmt.Errorf("set opus complexity: %w", err)
	}
	if err := encoder.SetPacketLoss(expectedLoss); err != nil {
		return nil, fmt.Errorf("set opus loss: %w", err)
	}
	encoder.SetFEC(true)
	return gopusEncoder{encoder: encoder}, nil
}

// Encode implements Encoder.
func (e gopusEncoder) Encode(pcm []int16, packet []byte) (int, error) {
	n, err := e.encoder.EncodeInt16(pcm, packet)
	if err != nil {
		return 0, fmt.Errorf("encode opus: %w", err)
	}
	return n, nil
}

// Protect implements Encoder. Without the copies nothing is allocated.
func (e gopusEncoder) Protect(on bool) { e.encoder.SetFEC(on) }

// toInt16 rounds samples of ±1 to int16 and clips what is louder.
func toInt16(dst []int16, src []float32) int {
	n := min(len(dst), len(src))
	for i, s := range src[:n] {
		dst[i] = clip(s * 32768)
	}
	return n
}
