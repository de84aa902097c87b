// Package transfer says what may be asked of passing a caller on to somebody else,
// and why it did not happen. It owns the address that a caller can be sent to, and
// the one error that the worker, its API and the command share. It passes nobody on
// (package worker does) and never fails but by Error.
package transfer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"headstart/memory"
)

// Code is why a caller was not passed on, for programs.
type Code string

// The codes. After the first four nothing has happened; after the others the agent
// went on with the caller.
const (
	NoAddress Code = "to"            // what was named is no telephone and no SIP address
	NoCall    Code = "call"          // no such call is on in this process
	NoPhone   Code = "no_phone"      // the caller came by no telephone
	Busy      Code = "not_now"       // they are not on the line yet or any more, or are being passed on
	Refused   Code = "not_taken"     // the other side said no
	Late      Code = "not_answered"  // nobody there answered in time
	NoService Code = "no_sip"        // LiveKit has no SIP service that could do it
	Failed    Code = "failed"        // something else broke
	Left      Code = "call_is_ended" // the call ended first
)

// Error is why a caller was not passed on.
type Error struct {
	Code     Code
	Sentence string // for people
}

// Error is the sentence.
func (e *Error) Error() string { return e.Sentence }

// New makes an Error.
func New(code Code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// CodeOf is the code of an error; Failed for what is no Error.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Failed
}

// sipAddress is user@host as SIP networks write it; angle brackets and white space
// would end the header that it is written into.
var sipAddress = regexp.MustCompile(`^(?i:sips?):[^\s<>"@]+@[^\s<>"@]+$`)

// Address is where a REFER can send a caller, "tel:+34910000002" or a SIP address as
// it stands. A number without a country prefix is one of the region ("ES"); without
// a region it is none.
func Address(to, region string) (string, error) {
	to = strings.TrimSpace(to)
	if sipAddress.MatchString(to) {
		return to, nil
	}
	number := to
	if scheme, rest, ok := strings.Cut(to, ":"); ok {
		if !strings.EqualFold(scheme, "tel") {
			return "", New(NoAddress, "%q is neither a telephone number nor a SIP address.", to)
		}
		number = rest
	}
	e164, ok := memory.E164(number, region)
	if !ok {
		return "", New(NoAddress, "%q is no telephone number; write it with its country, +34910000002, or name a SIP address, sip:desk@example.org.", to)
	}
	return "tel:" + e164, nil
}
