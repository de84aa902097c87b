// Package audio is the arithmetic between a room's packets and a call's
// samples: Opus, the resampler, the ear that turns packets into an even stream
// of frames, and the queue that turns speech into frames for the pacer.
//
// Nothing here knows a room, opens a socket or starts a goroutine: every step
// is a call with a time in it, so tests step it as the loops do. It fails by
// returning an error from a constructor (a rate that it cannot convert), and
// never afterwards: a packet that does not decode is concealed and counted.
package audio

import (
	"math"
	"time"
)

const (
	// HeardRate is the rate, in hertz, of what the ear gives: what recognisers
	// and voice detectors are fed. Opus decodes straight to it.
	HeardRate = 16000
	// SaidRate is the rate, in hertz, that is encoded: RTP's clock for Opus.
	SaidRate = 48000
	// Frame is the length of every frame, in both directions.
	Frame = 20 * time.Millisecond
	// HeardFrame is the number of samples in a heard frame.
	HeardFrame = HeardRate / 50
	// SaidFrame is the number of samples in a said frame.
	SaidFrame = SaidRate / 50
	// MaxPacket is the size in bytes of the largest Opus frame (RFC 6716, 3.4).
	MaxPacket = 1275
	// longestPacket is the most samples that one packet can hold: 120 ms
	// (RFC 6716, 3.1).
	longestPacket = HeardRate * 120 / 1000
)

// Decoder turns the Opus packets of one track into 16 kHz mono. It is not safe
// for concurrent use.
type Decoder interface {
	// Decode writes the samples of a packet to pcm and tells how many; 1,920
	// (120 ms) is enough for any packet.
	Decode(packet []byte, pcm []int16) (int, error)
	// Conceal fills pcm, whole frames of the length of the last packet, for a packet
	// that was lost: from the copy that the packet after it carries, when next
	// is that one and has it, else by extrapolation. next may be nil.
	Conceal(next []byte, pcm []int16) (int, error)
}

// Encoder turns 48 kHz mono frames of 20 ms into Opus packets. It is not safe
// for concurrent use.
type Encoder interface {
	// Encode writes the packet of a frame of SaidFrame samples and returns its
	// length; MaxPacket bytes are enough.
	Encode(pcm []int16, packet []byte) (int, error)
	// Protect says whether the packets from now on carry a copy of the frame
	// before, for a listener who loses some. It costs a third of the encoding, and
	// is on until it is turned off.
	Protect(on bool)
}

// RMS is the root mean square of samples, on the scale of int16.
func RMS(pcm []int16) float64 {
	if len(pcm) == 0 {
		return 0
	}
	var sum float64
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	return math.Sqrt(sum / float64(len(pcm)))
}

// Duration is how long so many samples last at a rate in hertz.
func Duration(samples int64, rate int) time.Duration {
	return time.Duration(samples) * time.Second / time.Duration(rate)
}
