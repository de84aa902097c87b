package line

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// Refusal is a handshake that the vendor answered with an HTTP error.
type Refusal struct {
	Vendor string
	Status int    // the HTTP status
	Text   string // what the vendor said, at most 1 KiB of it
}

// Error implements error.
func (e *Refusal) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s refused with %d %s: %s", e.Vendor, e.Status, http.StatusText(e.Status), e.Text))
}

// Retryable tells whether connecting again may help: it does not when the key,
// the account or the options are wrong.
func (e *Refusal) Retryable() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// Closure is a connection that the vendor closed with a close frame.
type Closure struct {
	Vendor string
	Code   int    // the websocket close code
	Text   string // its reason, such as "NET-0001"
}

// Error implements error.
func (e *Closure) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s closed with %d: %s", e.Vendor, e.Code, e.Text))
}

// fatalCodes are the close codes that blame what we sent: the same audio would
// be closed on again.
var fatalCodes = []int{
	int(websocket.StatusUnsupportedData), int(websocket.StatusInvalidFramePayloadData),
	int(websocket.StatusPolicyViolation), int(websocket.StatusMessageTooBig),
}

// Retryable tells whether connecting again may help.
func (e *Closure) Retryable() bool { return !slices.Contains(fatalCodes, e.Code) }

// Timeout is a wait that took too long.
type Timeout struct {
	What  string // what was waited for
	After time.Duration
}

// Error implements error.
func (e *Timeout) Error() string { return fmt.Sprintf("no %s within %v", e.What, e.After) }

// Timeout says so, as net.Error does.
func (e *Timeout) Timeout() bool { return true }

// Retryable tells that connecting again may help.
func (e *Timeout) Retryable() bool { return true }

// Lost is the reason of a Reconnected event: why there was no connection, and
// what became of the audio.
type Lost struct {
	Err     error         // of the last connection, or of the last try
	Tries   int           // connections tried since, the one that succeeded among them
	Dropped time.Duration // audio that no connection heard to its final since the call began: it was older than what is kept
}

// Error implements error.
func (e *Lost) Error() string {
	return fmt.Sprintf("connection lost, made anew after %d tries (%v of audio dropped): %v", e.Tries, e.Dropped, e.Err)
}

// Unwrap gives the reason.
func (e *Lost) Unwrap() error { return e.Err }

// retryable tells whether an error is worth another connection. What is not
// known to be final is: a broken network has many names.
func retryable(err error) bool {
	if told, ok := errors.AsType[interface {
		error
		Retryable() bool
	}](err); ok {
		return told.Retryable()
	}
	return true
}

// refused makes a Refusal of a handshake's answer; err stays what it is when
// there was none, or when the answer was no refusal.
func refused(vendor string, resp *http.Response, err error) error {
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return err
	}
	var text []byte
	if resp.Body != nil {
		// The library has already read it, 1 KiB of it; a short one will do.
		text, _ = io.ReadAll(resp.Body)
	}
	return &Refusal{Vendor: vendor, Status: resp.StatusCode, Text: strings.ToValidUTF8(strings.TrimSpace(string(text)), "")}
}

// closed makes a Closure of a close frame; other errors stay what they are.
func closed(vendor string, err error) error {
	if frame, ok := errors.AsType[websocket.CloseError](err); ok {
		return &Closure{Vendor: vendor, Code: int(frame.Code), Text: frame.Reason}
	}
	return err
}
