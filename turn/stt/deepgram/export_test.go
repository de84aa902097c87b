package deepgram

import (
	"time"

	"headstart/turn/stt"
)

// Read understands one frame as a connection's first one, with its clock that
// of the call.
func Read(frame []byte) ([]stt.Event, float64, error) {
	r := &reader{at: func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }}
	heard, err := r.Read(frame)
	return heard.Events, heard.Settles, err
}
