package turn

import "sync"

// crew is goroutines that work on one thing. When one of them panics the others
// are told to stop, and wait panics with the same value: so that a panic is
// caught once, where the work was begun.
type crew struct {
	stop func() // tells the others

	members sync.WaitGroup
	mu      sync.Mutex // guards burst
	burst   any
}

func (c *crew) do(work func()) {
	c.members.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				c.mu.Lock()
				c.burst = p
				c.mu.Unlock()
				c.stop()
			}
		}()
		work()
	})
}

func (c *crew) wait() {
	c.members.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.burst != nil {
		panic(c.burst)
	}
}
