package speech

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// readSize is how much is read at once at most: 85 ms at 24 kHz.
const readSize = 4096

// samples turns bytes into samples over reads that may end inside one.
type samples struct {
	half []byte // the first byte of a sample, when the last read ended there
	emit func([]int16) error
}

func (s *samples) write(p []byte) error {
	if len(s.half) > 0 {
		p = append(s.half, p...)
	}
	pcm := make([]int16, len(p)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(p[2*i:]))
	}
	s.half = bytes.Clone(p[2*len(pcm):])
	if len(pcm) == 0 {
		return nil
	}
	return s.emit(pcm)
}

// decodeRaw reads PCM, bare or behind a WAV header.
func decodeRaw(body io.Reader, rate int, emit func([]int16) error) error {
	r := bufio.NewReaderSize(body, readSize)
	head, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read audio: %w", err)
	}
	var limit int64 = -1
	switch {
	case string(head) == "RIFF":
		if limit, err = readWAVHeader(r, rate); err != nil {
			return err
		}
	case isCompressed(head):
		return &formatError{what: "compressed audio"}
	}
	return readPCM(r, limit, emit)
}

// isCompressed tells the first bytes of formats that would play as noise.
func isCompressed(head []byte) bool {
	for _, magic := range []string{"ID3", "OggS", "fLaC", "\x1aE\xdf\xa3", "\xff\xfb", "\xff\xf3", "\xff\xf2", "\xff\xf1"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// readPCM hands audio on as it arrives; limit is how many bytes it has, -1 when
// its end is the body's.
func readPCM(r *bufio.Reader, limit int64, emit func([]int16) error) error {
	var in io.Reader = r
	if limit >= 0 {
		in = io.LimitReader(r, limit)
	}
	s := samples{emit: emit}
	buf := make([]byte, readSize)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if werr := s.write(buf[:n]); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read audio: %w", err)
		}
	}
}

// maxHeader bounds what may stand before the data of a WAV.
const maxHeader = 64 << 10

// readWAVHeader reads up to the data and returns its length, -1 when the
// server did not know it: a stream's header says 0 or all ones.
func readWAVHeader(r io.Reader, rate int) (int64, error) {
	var riff [12]byte
	if _, err := io.ReadFull(r, riff[:]); err != nil || string(riff[8:]) != "WAVE" {
		return 0, &formatError{what: "a broken WAV header"}
	}
	for left := maxHeader; left > 0; {
		var chunk [8]byte
		if _, err := io.ReadFull(r, chunk[:]); err != nil {
			return 0, fmt.Errorf("read WAV header: %w", err)
		}
		size := binary.LittleEndian.Uint32(chunk[4:])
		if string(chunk[:4]) == "data" {
			if size == 0 || size >= 0x7fff0000 {
				return -1, nil
			}
			return int64(size), nil
		}
		if size > uint32(left) {
			return 0, &formatError{what: "a broken WAV header"}
		}
		body := make([]byte, size+size%2)
		if _, err := io.ReadFull(r, body); err != nil {
			return 0, fmt.Errorf("read WAV header: %w", err)
		}
		if string(chunk[:4]) == "fmt " {
			if err := checkFormat(body, rate); err != nil {
				return 0, err
			}
		}
		left -= len(body) + len(chunk)
	}
	return 0, &formatError{what: "a WAV without data"}
}

func checkFormat(f []byte, rate int) error {
	if len(f) < 16 {
		return &formatError{what: "a broken WAV header"}
	}
	channels, hertz, bits := binary.LittleEndian.Uint16(f[2:]), binary.LittleEndian.Uint32(f[4:]), binary.LittleEndian.Uint16(f[14:])
	if channels != 1 || bits != 16 || int(hertz) != rate {
		return &formatError{what: fmt.Sprintf("%d channels of %d bits at %d Hz (configured rate %d)", channels, bits, hertz, rate)}
	}
	return nil
}

// maxEvent bounds one server-sent event: 1 MiB of base64 is 16 s of audio.
const maxEvent = 1 << 20

// event is what a server-sent event may carry; the audio's name differs.
type event struct {
	Type  string          `json:"type"`
	Audio string          `json:"audio"`
	Delta string          `json:"delta"`
	Error json.RawMessage `json:"error"`
}

// decodeEvents reads audio out of server-sent events.
func decodeEvents(body io.Reader, emit func([]int16) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEvent)
	s := samples{emit: emit}
	done := false
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		data = bytes.TrimSpace(data)
		if !ok || len(data) == 0 || string(data) == "[DONE]" {
			continue
		}
		over, err := hearEvent(data, &s)
		if err != nil {
			return err
		}
		done = done || over
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	if !done {
		return fmt.Errorf("read events: %w", io.ErrUnexpectedEOF)
	}
	return nil
}

// hearEvent takes one event, and tells whether it ends the audio.
func hearEvent(data []byte, s *samples) (over bool, err error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("read event: %w", err)
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		return false, errors.New("server sent an error inside the audio")
	}
	if e.Type == "speech.audio.done" {
		return true, nil
	}
	if e.Type != "speech.audio.delta" {
		return false, nil
	}
	raw, err := base64.StdEncoding.DecodeString(cmp.Or(e.Audio, e.Delta))
	if err != nil {
		return false, fmt.Errorf("read event's audio: %w", err)
	}
	return false, s.write(raw)
}
