/*
Package load measures how busy this process keeps the processors that it may
use: its own processor time over the time that went by, over the processors
that its cgroup grants. A neighbour that keeps the machine busy does not count,
so an idle worker never looks busy because of one; the price is that a worker
starved by a neighbour looks idle, which the turn's own clocks then show.

It decides nothing: package worker compares the figure with its threshold.

How it fails. A platform that does not tell a process's own time ends Run with
an error, and the load stays 0: the counted places are then the only guard. One
reading that fails later is passed over.
*/
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Window is how long a mean of the default samples looks back: what began more
// recently shows in the load only in part.
const Window = defaultSamples * defaultEvery

// LiveKit's own workers sample so often, and take the mean of so many.
const (
	defaultEvery   = 500 * time.Millisecond
	defaultSamples = 5
)

// Config is how a meter measures. All but CPUs may stay zero.
type Config struct {
	CPUs    float64       // that the process may use, see CPUs; required
	Every   time.Duration // between samples; 0.5 s
	Samples int           // in the mean; 5
}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	var all []error
	if !(c.CPUs > 0) || math.IsInf(c.CPUs, 0) {
		all = append(all, fmt.Errorf("processors: %v is not above 0", c.CPUs))
	}
	if c.Every < 0 {
		all = append(all, fmt.Errorf("sample interval: %s is negative", c.Every))
	}
	if c.Samples < 0 {
		all = append(all, fmt.Errorf("samples: %d is negative", c.Samples))
	}
	return errors.Join(all...)
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, defaultEvery)
	c.Samples = cmp.Or(c.Samples, defaultSamples)
	return c
}

// Meter holds the latest load. Run writes it, any goroutine reads it.
type Meter struct {
	cfg  Config
	used func() (time.Duration, error)
	load atomic.Uint64 // bits of a float64
}

// New makes a meter that reads the process's processor time so far from used,
// which is Used outside tests. It measures while Run runs.
func New(cfg Config, used func() (time.Duration, error)) (*Meter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure load: %w", err)
	}
	return &Meter{cfg: cfg.withDefaults(), used: used}, nil
}

// Load is the mean share of the processors that the process used, from 0; it
// may pass 1 for a moment, because a cgroup's quota is enforced a period at a
// time. 0 before the first sample.
func (m *Meter) Load() float64 { return math.Float64frombits(m.load.Load()) }

// Run samples until ctx ends, and then returns nil. It returns an error only
// when the first reading fails: nothing can be measured here.
func (m *Meter) Run(ctx context.Context) error {
	used, err := m.used()
	if err != nil {
		return fmt.Errorf("read processor time: %w", err)
	}
	at, recent := time.Now(), mean{size: m.cfg.Samples}
	tick := time.NewTicker(m.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := time.Now()
		total, err := m.used()
		if err != nil {
			continue // the next sample spans this one
		}
		recent.add(share(total-used, now.Sub(at), m.cfg.CPUs))
		m.load.Store(math.Float64bits(recent.value()))
		used, at = total, now
	}
}

// share is processor time over wall time over processors. A clock that stood
// still or went back counts for nothing.
func share(used, wall time.Duration, cpus float64) float64 {
	if used <= 0 || wall <= 0 {
		return 0
	}
	return used.Seconds() / wall.Seconds() / cpus
}

// mean is of the last size samples.
type mean struct {
	size    int
	samples []float64
}

func (m *mean) add(v float64) {
	if len(m.samples) == m.size {
		m.samples = append(m.samples[:0], m.samples[1:]...)
	}
	m.samples = append(m.samples, v)
}

func (m *mean) value() float64 {
	sum := 0.0
	for _, v := range m.samples {
		sum += v
	}
	return sum / float64(max(1, len(m.samples)))
}
