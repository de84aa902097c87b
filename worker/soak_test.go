package worker_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sync/errgroup"

	"headstart/turn"
	"headstart/worker"
	"headstart/worker/caller"
	"headstart/worker/calllog"
	"headstart/worker/devserver/devservertest"
	"headstart/worker/dispatch"
	"headstart/worker/dispatch/dispatchtest"
)

var soakCalls = flag.Int("soak", 25, "how many short calls the soak test makes")

const (
	soakAtOnce = 4
	soakWarm   = 12 // calls after which everything that is made once has been made
)

// soak is a bench whose job reports are read on their way to LiveKit.
type soak struct {
	*bench
	tap    *dispatchtest.Tap
	warned *observer.ObservedLogs // what calls could not close in time
	client *dispatch.Client
	dialed int
}

// atServer has the worker register at the tap and join rooms at the server.
type atServer struct {
	*worker.Worker
	url string
}

func (h atServer) Run(ctx context.Context, a dispatch.Assignment) error {
	a.URL = h.url
	return h.Worker.Run(ctx, a)
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{bench: &bench{t: t, server: devservertest.Start(t), name: "soak", served: make(chan error, 1)}}
	s.tap = dispatchtest.NewTap(t, s.server.URL)
	s.openLogs()
	cfg := worker.Config{
		URL: s.server.URL, APIKey: s.server.APIKey, APISecret: s.server.APISecret,
		MaxCalls: 64, LoadThreshold: 1, Absent: time.Second, // a caller who hung up at once was there or is not coming
	}
	var err error
	core, warned := observer.New(zap.WarnLevel)
	s.warned = warned
	if s.worker, err = worker.New(cfg, []worker.Served{s.clinic()}, s.book, zap.New(core)); err != nil {
		t.Fatalf("new worker: %v", err)
	}
	host := atServer{s.worker, s.server.URL}
	s.client, err = dispatch.New(dispatch.Config{URL: s.tap.URL, APIKey: cfg.APIKey, APISecret: cfg.APISecret, AgentName: s.name}, host, zap.NewNop())
	if err != nil {
		t.Fatalf("new dispatch client: %v", err)
	}
	accept, drain := context.WithCancel(t.Context())
	go func() { s.served <- s.worker.Serve(accept, context.WithoutCancel(accept), s.client, time.Minute) }()
	t.Cleanup(func() {
		drain()
		if err := <-s.served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	s.eventually("the worker registers", s.client.Registered)
	return s
}

// calls makes so many calls, a few at once: every other caller hangs up at
// once, the others type a question and hang up when the answer begins.
func (s *soak) calls(n int) {
	s.t.Helper()
	var group errgroup.Group
	group.SetLimit(soakAtOnce)
	for range n {
		s.dialed++
		room, typed := fmt.Sprintf("soak-%d", s.dialed), s.dialed%2 == 0
		group.Go(func() error {
			if err := s.call(room, typed); err != nil {
				return fmt.Errorf("call %s: %w\n%v", room, err, s.told(room))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *soak) call(room string, typed bool) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	c, err := caller.Dial(ctx, caller.Config{
		URL: s.server.URL, APIKey: s.server.APIKey, APISecret: s.server.APISecret, Room: room, AgentName: s.name, Log: zap.NewNop(),
	})
	if err != nil {
		return err
	}
	if !typed {
		return c.Hangup()
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.WithoutCancel(ctx)) }()
	err = ask(ctx, c)
	return errors.Join(err, c.Hangup(), <-ended)
}

// told are the entries of the room's call, for who asks why it failed.
func (s *soak) told(room string) (types []string) {
	for _, c := range s.book.Live() {
		page, err := s.book.Read(s.t.Context(), c.ID, 0, 1000)
		if err != nil || first[turn.CallStarted](page.Entries).Room != room {
			continue
		}
		for _, e := range page.Entries {
			types = append(types, fmt.Sprint(e.Time.Format("05.000 "), e.Type))
		}
	}
	return types
}

// ask types a question once the agent says that it listens, or speaks, and
// waits for the first words of its answer, as the page does. Of 185 questions
// typed as soon as the agent was in the room, one was never answered.
func ask(ctx context.Context, c *caller.Caller) error {
	for asked := false; ; {
		select {
		case ev := <-c.Events():
			switch ev := ev.(type) {
			case caller.AgentState:
				if asked || ev.State == "initializing" {
					continue
				}
				asked = true
				if err := c.Chat(ctx, "¿A qué hora abren los sábados?"); err != nil {
					return err
				}
			case caller.Transcript:
				if asked && ev.Identity != c.Identity() && !strings.HasPrefix(greeting, ev.Text) {
					return nil
				}
			case caller.Closed:
				return fmt.Errorf("hung up on: %s", ev.Reason)
			}
		case <-ctx.Done():
			return fmt.Errorf("no answer (asked: %v): %w", asked, context.Cause(ctx))
		}
	}
}

// held is what the process holds.
type held struct {
	Goroutines, Files int
	Heap              uint64
}

func (h held) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %.1f MB of heap", h.Goroutines, h.Files, float64(h.Heap)/(1<<20))
}

func measure(t *testing.T) held {
	t.Helper()
	runtime.GC()
	runtime.GC() // what the first one finalised
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	h := held{Goroutines: runtime.NumGoroutine(), Heap: memory.HeapAlloc}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil { // there is none but on Linux
		h.Files = len(files)
	}
	return h
}

// within tells whether the process holds no more than before, but for what a
// heap may differ by.
func (h held) within(before held) bool {
	return h.Goroutines <= before.Goroutines && h.Files <= before.Files && h.Heap <= before.Heap+before.Heap/5+4<<20
}

// rest waits until no call is left, its log is in the store, and the process
// holds what it may.
func (s *soak) rest(may func(held) bool) held {
	s.t.Helper()
	s.eventually("no call is left", func() bool { return s.worker.Calls() == 0 && s.book.Stats().Logs == 0 })
	var now held
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		if now = measure(s.t); may(now) {
			return now
		}
		select {
		case <-tick.C:
		case <-deadline:
			var stacks bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			s.t.Fatalf("%v after the last call: %v\n%s", patience, now, &stacks)
		}
	}
}

// settled waits until the process holds the same for a while: the SDK and the
// sockets take their time.
func (s *soak) settled() held {
	s.t.Helper()
	var last held
	same := 0
	return s.rest(func(now held) bool {
		if now.Goroutines != last.Goroutines || now.Files != last.Files {
			last, same = now, 0
		}
		same++
		return same > 15 // three seconds
	})
}

// Short calls, one after the other and a few at once, leave nothing behind:
// each job is reported once, each log sealed once, and the process holds at the
// end what it held before.
func TestManyShortCallsLeaveNothing(t *testing.T) { // alone: it counts what the whole process holds
	s := newSoak(t)
	s.calls(soakWarm)
	before := s.settled()
	began := time.Now()
	s.calls(*soakCalls)
	took := time.Since(began)
	after := s.rest(func(now held) bool { return now.within(before) })
	jobs := s.checkJobs()
	// What a call left behind because it was late has ended by now, or the
	// goroutines would tell.
	for _, late := range s.warned.FilterMessage("leave room").All() {
		t.Logf("a late end: %v", late.ContextMap())
	}
	t.Logf("%d calls in %v, %d jobs with the warm-up's; before: %v; after: %v; %d late ends",
		*soakCalls, took.Round(time.Millisecond), jobs, before, after, s.worker.Abandoned())
}

// checkJobs holds each job's reports and its log, and returns how many jobs
// there were: a caller who hangs up at once may be gone before there is one.
func (s *soak) checkJobs() int {
	t := s.t
	t.Helper()
	var updates map[string][]livekit.JobStatus
	s.eventually("the end of each job is reported", func() bool { // when its place is free
		updates = s.tap.Updates()
		for _, states := range updates {
			if len(states) < 2 {
				return false
			}
		}
		return true
	})
	answered := 0
	for id, states := range updates {
		if len(states) != 2 || states[0] != livekit.JobStatus_JS_RUNNING ||
			states[1] != livekit.JobStatus_JS_SUCCESS && states[1] != livekit.JobStatus_JS_FAILED {
			t.Fatalf("job %s was reported %v", id, states)
		}
		entries := s.checkLog("call-" + id[len("AJ_"):])
		if len(all[turn.TurnUser](entries)) > 0 {
			answered++
			if states[1] != livekit.JobStatus_JS_SUCCESS {
				t.Fatalf("job %s, whose caller was answered, was reported %v", id, states)
			}
		}
	}
	if want := s.dialed / 2; answered != want {
		t.Fatalf("%d callers were answered, want %d", answered, want)
	}
	calls, err := s.db.Calls(t.Context(), calllog.DefaultOrg, 10*s.dialed)
	if err != nil || len(calls) != len(updates) {
		t.Fatalf("%d calls in the store of %d jobs, %v", len(calls), len(updates), err)
	}
	return len(updates)
}

// checkLog holds that the log is in the store, whole and sealed once.
func (s *soak) checkLog(call string) []turn.Entry {
	t := s.t
	t.Helper()
	page, err := s.db.Entries(t.Context(), calllog.DefaultOrg, call, 0, 10_000)
	if err != nil || !page.Sealed {
		t.Fatalf("log of %s: sealed %v, %v", call, page.Sealed, err)
	}
	var ends []string
	for _, e := range page.Entries {
		if slices.Contains([]string{"call.started", "call.ended", "call.summary"}, e.Type) {
			ends = append(ends, e.Type)
		}
	}
	if diff := cmp.Diff([]string{"call.started", "call.ended", "call.summary"}, ends); diff != "" {
		t.Fatalf("log of %s (-want +got):\n%s", call, diff)
	}
	checkOrder(t, page.Entries)
	return page.Entries
}
