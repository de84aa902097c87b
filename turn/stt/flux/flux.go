// Package flux hears with Deepgram's Flux (v2/listen), a recogniser that ends
// turns itself. It owns the meaning of that protocol's messages and the options
// of its query; the connection is line's. It never decides that a turn is over:
// it passes on when Flux did.
//
// Flux promises that the text of EndOfTurn is that of the EagerEndOfTurn
// before it, so that what was begun on the one may be kept at the other without
// comparing words. Should it break the promise, this package keeps it:
// TurnResumed goes before such an end, and one line of the log says so.
//
// Flux's clock is the audio: a pause of the audio (a muted microphone) is filled
// with silence after a second, else its turn would never end; the connection is
// pinged as well, since Flux knows no keep-alive message. Flushes are ignored.
//
// It fails as line does: what another connection may cure is cured, and
// Recognise returns the rest, such as a *Failure that blames what was sent. A
// turn that was open when the connection was lost is heard again from its
// beginning, and a guess of its end that stood is taken back.
package flux

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"headstart/turn/stt"
	"headstart/turn/stt/line"
)

// Flux's own intervals.
const (
	idleAfter = time.Second      // without audio: silence is sent
	pingEvery = 30 * time.Second // what other clients of Flux do
)

// Recogniser hears calls, each by its own Recognise.
type Recogniser struct {
	line   *line.Line
	log    *zap.Logger
	broken atomic.Bool // the promise was seen broken, and it was said
}

// New makes a recogniser. It fails when the configuration does not validate.
func New(config Config, log *zap.Logger) (*Recogniser, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	r := &Recogniser{log: log.Named("flux")}
	r.line = line.New(r.vendor(config.withDefaults()), r.log)
	return r, nil
}

// Recognise implements turn.Recogniser. It takes audio from the channel as fast
// as it comes, whatever the network does, and calls hear from the calling
// goroutine.
func (r *Recogniser) Recognise(ctx context.Context, audio <-chan stt.Input, hear func(stt.Event)) error {
	return r.line.Listen(ctx, audio, hear)
}

func (r *Recogniser) vendor(c Config) line.Vendor {
	return line.Vendor{
		Name: "flux", Address: c.address(), Header: http.Header{"Authorization": {"Token " + c.APIKey}},
		Timing: c.Timing, HTTPClient: c.HTTPClient,
		Reader: func(at func(float64) time.Duration) line.Reader {
			return &reader{at: at, log: r.log, promiseBroken: r.promiseBroken}
		},
		End: closeStream, Idle: idleAfter, PingEvery: pingEvery,
	}
}

func (r *Recogniser) promiseBroken() {
	if !r.broken.Swap(true) {
		r.log.Warn("an end of turn differs from its guess: it is taken back each time; said once")
	}
}

// Failure is an Error message: Flux gave the connection up.
type Failure struct {
	Code        string // "INTERNAL_SERVER_ERROR"
	Description string // the vendor's words
}

// Error implements error.
func (e *Failure) Error() string {
	return strings.TrimSpace(fmt.Sprintf("flux failed with %s: %s", e.Code, e.Description))
}

// blame are the codes that blame what we sent: it would be refused again.
var blame = []string{"UNPARSABLE_CLIENT_MESSAGE", "DATA-0000"}

// Retryable tells whether connecting again may help.
func (e *Failure) Retryable() bool { return !slices.Contains(blame, e.Code) }
