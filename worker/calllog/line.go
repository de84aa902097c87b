package calllog

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"time"

	"headstart/turn"
)

// A line of a spool is
//
//	checksum SP seq SP microseconds SP type [SP data] LF
//
// with the checksum (CRC-32C, eight hex digits) over all between it and the
// line feed. JSON holds no line feed, so a line feed always ends a line. An
// ephemeral entry has no data. The first line is the header: seq 0.

const (
	checksumLen = 8
	headerType  = "spool"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the data of a spool's first line: whose entries follow.
type header struct {
	Version int    `json:"version"`
	Org     string `json:"org"`
	Call    string `json:"call,omitempty"` // empty in an agent's own log
	Agent   string `json:"agent"`
}

func headerEntry(h header, at time.Time) (turn.Entry, error) {
	h.Version = 1
	data, err := json.Marshal(h)
	if err != nil {
		return turn.Entry{}, fmt.Errorf("write spool header: %w", err)
	}
	return turn.Entry{Time: at, Type: headerType, Data: data}, nil
}

func readHeader(entry turn.Entry) (header, error) {
	var h header
	if entry.Seq != 0 || entry.Type != headerType {
		return h, errors.New("read spool header: first line is no header")
	}
	if err := json.Unmarshal(entry.Data, &h); err != nil {
		return h, fmt.Errorf("read spool header: %w", err)
	}
	if h.Version != 1 {
		return h, fmt.Errorf("read spool header: version %d is unknown", h.Version)
	}
	return h, nil
}

// appendLine adds the entry's line to b.
func appendLine(b []byte, entry turn.Entry) []byte {
	start := len(b)
	b = append(b, "00000000 "...)
	body := len(b)
	b = strconv.AppendInt(b, entry.Seq, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, entry.Time.UnixMicro(), 10)
	b = append(b, ' ')
	b = append(b, entry.Type...)
	if !entry.Ephemeral {
		b = append(b, ' ')
		b = append(b, entry.Data...)
	}
	sum := crc32.Checksum(b[body:], castagnoli)
	raw := [4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}
	hex.Encode(b[start:start+checksumLen], raw[:])
	return append(b, '\n')
}

// parseLine reads a line without its line feed; false means that the line is
// torn or was damaged. The entry's call and agent are the spool's to give.
func parseLine(line []byte) (turn.Entry, bool) {
	if len(line) <= checksumLen || line[checksumLen] != ' ' {
		return turn.Entry{}, false
	}
	var raw [4]byte
	if _, err := hex.Decode(raw[:], line[:checksumLen]); err != nil {
		return turn.Entry{}, false
	}
	body := line[checksumLen+1:]
	sum := uint32(raw[0])<<24 | uint32(raw[1])<<16 | uint32(raw[2])<<8 | uint32(raw[3])
	if crc32.Checksum(body, castagnoli) != sum {
		return turn.Entry{}, false
	}
	return parseBody(body)
}

func parseBody(body []byte) (turn.Entry, bool) {
	seqText, rest, ok := bytes.Cut(body, []byte{' '})
	if !ok {
		return turn.Entry{}, false
	}
	timeText, rest, ok := bytes.Cut(rest, []byte{' '})
	if !ok {
		return turn.Entry{}, false
	}
	kind, data, hasData := bytes.Cut(rest, []byte{' '})
	seq, err := strconv.ParseInt(string(seqText), 10, 64)
	micros, timeErr := strconv.ParseInt(string(timeText), 10, 64)
	if err != nil || timeErr != nil || seq < 0 || len(kind) == 0 {
		return turn.Entry{}, false
	}
	entry := turn.Entry{Seq: seq, Time: time.UnixMicro(micros), Type: string(kind), Ephemeral: !hasData}
	if hasData {
		entry.Data = bytes.Clone(data)
	}
	return entry, true
}

// scanLines calls found with each whole line and the offset where it begins,
// until found returns false. It skips lines that are torn or damaged, and
// returns the offset behind the last whole one.
func scanLines(r io.Reader, found func(entry turn.Entry, at int64) bool) (int64, error) {
	var at, good int64
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return good, nil // a line without its line feed is torn
		}
		if err != nil {
			return good, fmt.Errorf("read spool: %w", err)
		}
		entry, ok := parseLine(line[:len(line)-1])
		from := at
		at += int64(len(line))
		if !ok {
			continue
		}
		good = at
		if !found(entry, from) {
			return good, nil
		}
	}
}
