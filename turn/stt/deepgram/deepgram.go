// Package deepgram hears with Deepgram's streaming API (v1/listen, the Nova
// models). It owns the meaning of that protocol's messages and the options of
// its query; the connection is line's. It never decides that a turn is over: it
// passes on what Deepgram heard. It fails as line does: what another connection
// may cure is cured, and Recognise returns the rest.
package deepgram

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"

	"headstart/turn/stt"
	"headstart/turn/stt/line"
)

// Recogniser hears calls, each by its own Recognise. It has no state of its own.
type Recogniser struct{ line *line.Line }

// New makes a recogniser. It fails when the configuration does not validate.
func New(config Config, log *zap.Logger) (*Recogniser, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Recogniser{line: line.New(config.withDefaults().vendor(), log.Named("deepgram"))}, nil
}

// Recognise implements turn.Recogniser. It takes audio from the channel as fast
// as it comes, whatever the network does, and calls hear from the calling
// goroutine.
func (r *Recogniser) Recognise(ctx context.Context, audio <-chan stt.Input, hear func(stt.Event)) error {
	return r.line.Listen(ctx, audio, hear)
}

func (c Config) vendor() line.Vendor {
	return line.Vendor{
		Name: "deepgram", Address: c.address(), Header: http.Header{"Authorization": {"Token " + c.APIKey}},
		Timing: c.Timing, HTTPClient: c.HTTPClient,
		Reader: func(at func(float64) time.Duration) line.Reader { return &reader{at: at} },
		Flush:  finalize, End: closeStream,
		Idle: c.KeepAliveEvery, KeepAlive: keepAlive,
	}
}
