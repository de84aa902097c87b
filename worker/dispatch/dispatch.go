// Package dispatch speaks LiveKit's agent websocket for a worker: it registers
// it, says how busy it is, answers what jobs it takes, hands each assigned job
// to a Host, and reports how each one ended.
//
// It never knows what a job does, joins no room, and decides no admission: the
// Host does, in one call.
//
//	            register              yes                assignment
//	(dial) --> connected --> asked ---------> pending ----------------> running --> reported
//	  ^            |           | no, slow,       | late, link lost,        | Done or return:
//	  |            v           v panic           v terminated              v one SUCCESS or FAILED
//	  +-- backoff, lost     answered no       place released            job forgotten
//
// How it fails: a wrong key or URL ends Run at the first try with a
// ConnectError that says which to check. A server that cannot be reached, or
// is lost later, is tried again with growing pauses; running jobs go on
// meanwhile, what they report is kept and sent after the next registration,
// and Run gives up only when no job runs. A Host that panics or is slow in
// Admit refuses the job; one that panics in Run has failed it.
package dispatch

import (
	"context"
	"errors"
	"fmt"
)

// Causes that a context carries.
var (
	// ErrDraining is the cause to cancel Run's accepting context with.
	ErrDraining = errors.New("worker is draining")
	// ErrTerminated is the cause that ends a job which LiveKit terminates: its
	// dispatch was deleted, or its agent has left the room.
	ErrTerminated = errors.New("job terminated by livekit")
)

// What Run may return; see ConnectError for the details.
var (
	// ErrRegistration means that LiveKit refused the worker: trying again will
	// not help before the URL, the key or the secret change.
	ErrRegistration = errors.New("livekit refused the worker")
	// ErrUnreachable means that all tries to reach LiveKit were spent.
	ErrUnreachable = errors.New("livekit cannot be reached")
	// ErrStuck means that jobs had not returned StopWithin after their context
	// ended.
	ErrStuck = errors.New("jobs did not end")
)

// ConnectError tells why there is no connection to LiveKit. It matches
// ErrRegistration or ErrUnreachable.
type ConnectError struct {
	URL   string // the address dialled
	Tries int    // how many times
	Hint  string // what an operator should check
	Kind  error  // ErrRegistration or ErrUnreachable
	Err   error  // the last failure
}

// Error implements error.
func (e *ConnectError) Error() string {
	return fmt.Sprintf("connect to livekit at %s (%d tries): %v: %s: %v", e.URL, e.Tries, e.Kind, e.Hint, e.Err)
}

// Unwrap gives the kind and the last failure.
func (e *ConnectError) Unwrap() []error { return []error{e.Kind, e.Err} }

// Kind is when LiveKit makes a job.
type Kind string

// The kinds of jobs.
const (
	Room        Kind = "room"        // once a room, when it is made or dispatched to
	Participant Kind = "participant" // once for each participant that joins
)

// Caller is the participant that a Participant job is for.
type Caller struct {
	Identity   string
	Name       string
	Metadata   string
	Attributes map[string]string
}

// Job is what LiveKit offers.
type Job struct {
	ID         string
	DispatchID string
	Room       string // its name
	RoomSID    string
	AgentName  string            // "" when dispatched automatically
	Metadata   string            // of the dispatch; may hold personal data
	Attributes map[string]string // of the dispatch; may hold personal data
	Caller     *Caller           // nil in a Room job
	Resuming   bool              // another worker had it before
}

// Answer is how the agent will appear in the room of a job that is taken.
type Answer struct {
	Identity   string // "" is agent-<job id>
	Name       string
	Metadata   string
	Attributes map[string]string // lk.agent.name and lk.agent_name are added
	// Release gives back the place that Admit took. It is called once, and only
	// if no Run follows: the answer was too late, or no assignment came. nil
	// is nothing to give back.
	Release func()
}

// Assignment is a job that is this worker's to run.
type Assignment struct {
	Job
	Identity string // of the agent in the room
	URL      string // of the LiveKit server to join
	Token    string // to join with; valid for an hour
	// Done reports how the job ended, SUCCESS for nil and FAILED otherwise, and
	// returns when LiveKit has read it, after 3 s at the latest. Call it just
	// before the agent leaves the room: LiveKit fails a job whose agent left
	// while it was running. Only the first call counts; without one, what Run
	// returns is reported. It may be called from any goroutine.
	Done func(error)
}

// Host is the worker process as dispatch sees it. Its methods are called from
// several goroutines.
type Host interface {
	// Admit takes a job or refuses it, in one atomic decision. It must not
	// block: after Config.AnswerWithin the answer is no, whatever it says.
	Admit(Job) (Answer, bool)
	// Run does the job and returns when it has ended; nil is success. ctx ends
	// with calls' context or with ErrTerminated.
	Run(ctx context.Context, a Assignment) error
	// Load is how busy the worker is, from 0 to below 1, and whether it wants
	// no more jobs.
	Load() (load float64, full bool)
}
