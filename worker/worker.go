/*
Package worker owns the process: which calls it takes, one goroutine tree per
call, how a call begins and ends, and its log. It never talks to a model: the
conversation does, in package turn, and the wiring says with what.

	         Admit            assignment              caller there
	offered -------> reserved ----------> joining ------------------> talking
	   | full, draining, |  no assignment    | nobody, join failed       | hung up, gone for 20 s,
	   v unknown agent   v                   v                           v room closed, ceiling, drained
	refused           released            ended <--- call.ended ------ ended
	                                        |  the job's status is told, the room is left
	                                        v
	                                  what it taught is kept: 8 s, and no place taken
	                                        v
	                                   call.summary: sealed

How it fails. A call that cannot begin, or panics, ends with reason error and
its log is sealed all the same; no other call notices. Once call.ended stands
in the log nothing is spoken; the room is left within 2 s.

A caller on a telephone may be passed on to somebody else: see Transfer. Who is not
taken stays with the agent.

A call that an app holds, and whose app goes away, says goodbye as one that is
drained does, and ends with reason app_detached.

A caller whose network goes away says nothing to anybody. LiveKit misses them
about 21 s later (measured against the server in testdata/livekit; its ICE gives
up after 20 s), which is when the call learns of it; they may then come back for
20 s more, under the same identity, before the call ends as hung up. Meanwhile the
caller's side is silence: the user's state is away after 15 s, a greeting or an
answer plays to the end, and the ceiling of the call counts on.
*/
package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"headstart/memory"
	"headstart/turn"
	"headstart/worker/app"
	"headstart/worker/calllog"
	"headstart/worker/dispatch"
)

// callsPerCore is the default of MaxCalls for each processor (contract: 8).
const callsPerCore = 8

// Config is how a worker takes calls. Zero fields have the default that their
// comment names.
type Config struct {
	Org       string // "default"
	URL       string // of the LiveKit server
	APIKey    string
	APISecret string
	MaxCalls  int // 8 a core
	// LoadThreshold is the load at which calls are refused although there are
	// places: 0.7, as LiveKit's own workers. 1 refuses none.
	LoadThreshold float64
	// CPU is how busy the process is, as a share of what it may use, over
	// load.Window. nil: the places are the only guard.
	CPU func() float64
	// Observe is told each event of every call once it stands in its log. It is
	// called from many goroutines and must not block. nil: nobody is told.
	Observe func(turn.Event)
	Region  string // of callers' numbers without a country prefix, "ES"; empty: such numbers are nobody's
	// Return is how long a caller whose line broke may take to come back: 20 s.
	Return time.Duration
	// Facts are what is remembered of contacts. nil: nothing is, whatever agents say.
	Facts memory.Facts
	// MemoryQuota is how many facts an org may hold; nil, or returning nil: as many
	// as come.
	MemoryQuota func(ctx context.Context, org string) (*int, error)
	// RememberBudget is what a call may take, after its end, to be remembered: 8 s.
	RememberBudget time.Duration
	// Apps are the businesses' own processes that hold agents: the calls that begin
	// meanwhile have their tools. nil: there are none.
	Apps *app.Holders
	// Absent is how long the worker waits for a caller to come at all: 60 s.
	Absent time.Duration
}

func (c Config) withDefaults() Config {
	if c.Org == "" {
		c.Org = "default"
	}
	if c.MaxCalls == 0 {
		c.MaxCalls = callsPerCore * runtime.GOMAXPROCS(0)
	}
	if c.LoadThreshold == 0 {
		c.LoadThreshold = 0.7
	}
	if c.CPU == nil {
		c.CPU = func() float64 { return 0 }
	}
	if c.Observe == nil {
		c.Observe = func(turn.Event) {}
	}
	if c.Return == 0 {
		c.Return = 20 * time.Second
	}
	if c.RememberBudget == 0 {
		c.RememberBudget = defaultRememberBudget
	}
	if c.Absent == 0 {
		c.Absent = time.Minute
	}
	return c
}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	var all []error
	for _, f := range []struct{ name, value string }{{"url", c.URL}, {"api key", c.APIKey}, {"api secret", c.APISecret}} {
		if f.value == "" {
			all = append(all, fmt.Errorf("worker %s: missing", f.name))
		}
	}
	if c.MaxCalls < 0 {
		all = append(all, fmt.Errorf("max calls: %d is negative", c.MaxCalls))
	}
	if c.RememberBudget < 0 {
		all = append(all, fmt.Errorf("remember budget: %v is negative", c.RememberBudget))
	}
	if !(c.LoadThreshold >= 0 && c.LoadThreshold <= 1) {
		all = append(all, fmt.Errorf("load threshold: %v is not between 0 and 1", c.LoadThreshold))
	}
	return errors.Join(all...)
}

// Served is an agent and what serves its calls.
type Served struct {
	Agent Agent
	// Recogniser, Model and Voice serve all calls of the agent at once.
	Recogniser turn.Recogniser
	Model      turn.Model
	Voice      turn.Voice
	// Detector makes the detector of one call.
	Detector func() turn.Detector
	Searcher turn.Searcher // nil when the agent reads no base
	Analyser turn.Analyser
	// Learner and Recollect serve an agent with a memory policy.
	Learner   Learner
	Recollect Recollect
	Clips     turn.Clips
	Names     turn.Providers // for the log
	// LateLookups starts the lookups at the end of the turn, for comparison.
	LateLookups bool
	// LookupBudget and WrittenBudget are what a spoken turn waits for its lookups, and
	// one that is typed in a written conversation; 0 is 250 ms, and 3 s.
	LookupBudget, WrittenBudget time.Duration
}

// Worker takes calls. It is dispatch's Host.
type Worker struct {
	cfg    Config
	agents []Served
	book   observedBook
	log    *zap.Logger

	ending chan struct{} // closed when Serve ends every call
	why    error         // written before ending is closed, and read after

	abandoned atomic.Int64 // what calls had to leave behind
	sent      atomic.Int64 // frames that calls which are over have sent
	late      atomic.Int64 // of those, the late ones

	mu       sync.Mutex  // guards what follows
	places   int         // taken, from the answer to the end of the call
	fresh    []time.Time // when places were taken that the load does not show whole, oldest first
	draining bool
	// recalling are the memories of the calls that are on.
	recalling map[*recollection]bool
	calls     map[string]*call // that are on, by id
}

// New makes a worker for these agents; the first takes the calls that name none.
func New(cfg Config, agents []Served, book *calllog.Book, log *zap.Logger) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if len(agents) == 0 {
		return nil, errors.New("worker: no agent to serve")
	}
	seen := map[string]bool{}
	for _, a := range agents {
		if seen[a.Agent.Name] {
			return nil, fmt.Errorf("worker: two agents are named %s", a.Agent.Name)
		}
		seen[a.Agent.Name] = true
	}
	return &Worker{cfg: cfg, agents: agents, book: observedBook{book, cfg.Observe}, log: log.Named("worker"), ending: make(chan struct{}), calls: map[string]*call{}}, nil
}

// Admit implements dispatch.Host: the place is counted before the answer.
func (w *Worker) Admit(job dispatch.Job) (dispatch.Answer, bool) {
	served, ok := w.agentOf(readJob(job))
	if !ok {
		w.log.Warn("job refused: it names an agent that is not served here", zap.String("job", job.ID))
		return dispatch.Answer{}, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full() {
		return dispatch.Answer{}, false
	}
	w.take()
	return dispatch.Answer{Name: served.Agent.Name, Release: w.release}, true
}

func (w *Worker) agentOf(m jobMetadata) (Served, bool) {
	if m.Agent == "" {
		return w.agents[0], true
	}
	for _, a := range w.agents {
		if a.Agent.Name == m.Agent {
			return a, true
		}
	}
	return Served{}, false
}

// Run implements dispatch.Host: it holds one call, from the assignment to the
// seal of its log.
func (w *Worker) Run(ctx context.Context, a dispatch.Assignment) error {
	release := sync.OnceFunc(w.release)
	defer release()
	metadata := readJob(a.Job)
	served, ok := w.agentOf(metadata)
	if !ok {
		return fmt.Errorf("serve job %s: no agent named %s", a.ID, metadata.Agent)
	}
	c := &call{worker: w, served: served, assignment: a, metadata: metadata, id: callID(a.ID), began: time.Now(), release: release, passings: make(chan *passing), over: make(chan struct{})}
	defer w.enter(c)()
	defer func() {
		if c.room != nil {
			counters := c.room.Counters()
			w.abandoned.Add(counters.Abandoned)
			w.sent.Add(counters.FramesSent)
			w.late.Add(counters.FramesLate)
		}
	}()
	return c.run(ctx)
}
