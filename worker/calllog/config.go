package calllog

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config says where spools lie and how often they are emptied. All but Dir may
// stay zero.
type Config struct {
	Dir          string        // folder of the spools, on a local disk; required
	Org          string        // tenant of the logs begun here; default "default"
	FlushEvery   time.Duration // between batches; default 200 ms
	SyncEvery    time.Duration // between fsyncs of a spool, what a power cut can take; default 1 s
	PollEvery    time.Duration // between looks at a log that another process writes; default 500 ms
	StoreTimeout time.Duration // of one store operation; default 30 s
	MaxBackoff   time.Duration // between tries when the store refuses; default 10 s
	LastAttempt  time.Duration // for what is left when Run is told to end; default 2 s
	Batch        int           // entries in a batch; default 256
	Window       int           // entries a log holds in memory for its readers; default 512
	// Remembers tells whether an agent keeps what its calls teach. The log of
	// such a call that a dead process left before that was done, Recover ends
	// without sealing it: Left hands it out. nil: no agent does.
	Remembers func(agent string) bool
}

// Validate joins every complaint about the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("spool folder is missing"))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"flush interval", c.FlushEvery}, {"sync interval", c.SyncEvery}, {"poll interval", c.PollEvery},
		{"store timeout", c.StoreTimeout}, {"backoff", c.MaxBackoff}, {"last attempt", c.LastAttempt},
	} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s %s is negative", d.name, d.value))
		}
	}
	if c.Batch < 0 {
		errs = append(errs, fmt.Errorf("batch %d is negative", c.Batch))
	}
	if c.Window < 0 {
		errs = append(errs, fmt.Errorf("window %d is negative", c.Window))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Org = cmp.Or(c.Org, DefaultOrg)
	c.FlushEvery = cmp.Or(c.FlushEvery, 200*time.Millisecond)
	c.SyncEvery = cmp.Or(c.SyncEvery, time.Second)
	c.PollEvery = cmp.Or(c.PollEvery, 500*time.Millisecond)
	c.StoreTimeout = cmp.Or(c.StoreTimeout, 30*time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, 10*time.Second)
	c.LastAttempt = cmp.Or(c.LastAttempt, 2*time.Second)
	c.Batch = cmp.Or(c.Batch, 256)
	c.Window = cmp.Or(c.Window, 512)
	return c
}
