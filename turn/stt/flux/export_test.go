package flux

import (
	"time"

	"go.uber.org/zap"

	"headstart/turn/stt"
	"headstart/turn/stt/line"
)

// Reading is a connection whose clock is the call's.
type Reading struct {
	reader
	Broken int // how often the promise was
}

// NewReading begins one.
func NewReading() *Reading {
	r := &Reading{}
	r.reader = reader{
		at: func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }, log: zap.NewNop(),
		promiseBroken: func() { r.Broken++ },
	}
	return r
}

var _ interface {
	Read([]byte) (line.Heard, error)
	Over(bool) []stt.Event
} = (*Reading)(nil)
