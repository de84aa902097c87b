package replay

import (
	"encoding/binary"
	"errors"
	"fmt"

	"headstart/turn/stt"
)

// ErrWAV says that a file is not the one kind of WAV that recordings have.
var ErrWAV = errors.New("not a 16 kHz mono 16-bit WAV file")

// ReadWAV gives the samples of a WAV file: 16 kHz, mono, 16-bit PCM. Chunks
// other than "fmt " and "data" are skipped. Whatever else it is given is
// ErrWAV. It is exported for the simulated callers that speak the recordings.
func ReadWAV(file []byte) ([]int16, error) {
	if len(file) < 12 || string(file[:4]) != "RIFF" || string(file[8:12]) != "WAVE" {
		return nil, ErrWAV
	}
	known := false
	for rest := file[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), int(binary.LittleEndian.Uint32(rest[4:8]))
		rest = rest[8:]
		body := rest[:min(size, len(rest))] // a recorder that was stopped leaves a size too large
		switch {
		case id == "fmt ":
			known = plain(body)
		case id == "data" && known:
			return samples(body), nil
		case id == "data":
			return nil, ErrWAV
		}
		rest = rest[min(len(body)+size%2, len(rest)):]
	}
	return nil, fmt.Errorf("%w: no data", ErrWAV)
}

// plain tells whether a format chunk is of the kind that we read.
func plain(format []byte) bool {
	const pcm, mono, bits = 1, 1, 16
	return len(format) >= 16 &&
		binary.LittleEndian.Uint16(format) == pcm &&
		binary.LittleEndian.Uint16(format[2:]) == mono &&
		binary.LittleEndian.Uint32(format[4:]) == stt.SampleRate &&
		binary.LittleEndian.Uint16(format[14:]) == bits
}

func samples(body []byte) []int16 {
	pcm := make([]int16, len(body)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(body[2*i:]))
	}
	return pcm
}
