package load_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headstart/worker/load"
)

// clock is a process that uses so many processors from now on.
type clock struct {
	mu    sync.Mutex // guards all below: the test writes, the meter reads
	since time.Time
	used  time.Duration
	rate  float64
	fail  bool
}

func (c *clock) set(rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used, c.since, c.rate = c.now(), time.Now(), rate
}

// now is the processor time so far. The caller holds mu.
func (c *clock) now() time.Duration {
	return c.used + time.Duration(c.rate*float64(time.Since(c.since)))
}

// fails makes readings fail, or not.
func (c *clock) fails(fail bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = fail
}

func (c *clock) read() (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail {
		return 0, errors.New("no reading, as the test asked")
	}
	return c.now(), nil
}

func measure(t *testing.T, c *clock, cfg load.Config) *load.Meter {
	t.Helper()
	c.since = time.Now()
	m, err := load.New(cfg, c.read)
	if err != nil {
		t.Fatalf("new meter: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- m.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return m
}

func after(t *testing.T, m *load.Meter, d time.Duration, want float64) {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if got := m.Load(); math.Abs(got-want) > 1e-6 {
		t.Fatalf("load %v, want %v", got, want)
	}
}

func TestLoadIsTheMeanOfFiveHalfSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{rate: 1}
		m := measure(t, c, load.Config{CPUs: 2})
		after(t, m, 499*time.Millisecond, 0) // before the first sample
		after(t, m, time.Millisecond, 0.5)   // one processor of two
		after(t, m, 2*time.Second, 0.5)
		c.set(0)
		after(t, m, 500*time.Millisecond, 0.4)
		after(t, m, 1500*time.Millisecond, 0.1)
		after(t, m, 500*time.Millisecond, 0)
		c.set(4)
		after(t, m, 500*time.Millisecond, 0.4) // two of two, for a fifth of the window
	})
}

func TestAQuotaBelowOneProcessorIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := measure(t, &clock{rate: 0.5}, load.Config{CPUs: 0.5})
		after(t, m, 5*time.Second, 1)
	})
}

func TestAReadingThatFailsIsSpannedByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{rate: 1}
		m := measure(t, c, load.Config{CPUs: 1, Samples: 1})
		after(t, m, 500*time.Millisecond, 1)
		c.fails(true)
		c.set(0)
		after(t, m, 500*time.Millisecond, 1) // the last one stands
		c.fails(false)
		c.set(1)
		after(t, m, 500*time.Millisecond, 0.5)
	})
}

func TestRunTellsWhenNothingCanBeMeasured(t *testing.T) {
	t.Parallel()
	m, err := load.New(load.Config{CPUs: 1}, func() (time.Duration, error) { return 0, errors.ErrUnsupported })
	if err != nil {
		t.Fatalf("new meter: %v", err)
	}
	if err := m.Run(t.Context()); !errors.Is(err, errors.ErrUnsupported) || m.Load() != 0 {
		t.Fatalf("got %v and a load of %v", err, m.Load())
	}
}

func TestUsedGrowsWithOurOwnWork(t *testing.T) {
	t.Parallel()
	before, err := load.Used()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this platform does not tell a process's own processor time")
	}
	spent := 0.0
	for n := 0; ; n++ {
		spent += math.Sqrt(float64(n))
		now, err := load.Used()
		if err != nil {
			t.Fatalf("used: %v", err)
		}
		if now > before+10*time.Millisecond {
			break
		}
	}
	if spent == 0 {
		t.Fatal("no work was done")
	}
}

func TestConfigComplaints(t *testing.T) {
	t.Parallel()
	for _, cfg := range []load.Config{{}, {CPUs: math.NaN()}, {CPUs: math.Inf(1)}, {CPUs: 1, Every: -1}, {CPUs: 1, Samples: -1}} {
		if _, err := load.New(cfg, load.Used); err == nil {
			t.Fatalf("%+v was taken", cfg)
		}
	}
}
