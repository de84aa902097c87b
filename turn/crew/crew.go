// Package crew keeps a panic within its call. A panic on a goroutine of its own
// ends the whole process, and every call with it; so each goroutine that works
// for a call runs under Guard, or in a Crew, and hands its panic on to where the
// work was begun: up to the call's own edge, which logs it once and ends that
// call.
//
// It knows nothing of calls, logs nothing and swallows nothing. The words of a
// panic stay out of its error, for they may be a caller's; the stack is kept.
package crew

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Panic is a panic that was caught.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

// Error tells what panicked: the runtime's own words, else the value's type.
func (p *Panic) Error() string {
	if err, ok := p.Value.(runtime.Error); ok {
		return fmt.Sprintf("panic: %v", err)
	}
	return fmt.Sprintf("panic of type %T", p.Value)
}

// Caught is what recover returned, as a Panic. One that was handed on keeps its
// first stack.
func Caught(recovered any) *Panic {
	if p, ok := recovered.(*Panic); ok {
		return p
	}
	return &Panic{Value: recovered, Stack: debug.Stack()}
}

// In is the panic in an error, nil when there is none.
func In(err error) *Panic {
	p, _ := errors.AsType[*Panic](err)
	return p
}

// Guard runs work and returns its error, which is a *Panic when it panicked.
func Guard(work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = Caught(r)
		}
	}()
	return work()
}

// Hand panics when the error is a panic of another goroutine, and returns it
// otherwise.
func Hand(err error) error {
	if p := In(err); p != nil {
		panic(p)
	}
	return err
}

// Crew is goroutines that work on one thing. When one of them panics the others
// are told to stop, and Wait panics with the same Panic.
type Crew struct {
	Stop func() // tells the others

	members sync.WaitGroup
	mu      sync.Mutex // guards burst
	burst   error
}

// Do runs work on a goroutine of its own.
func (c *Crew) Do(work func()) {
	c.members.Go(func() {
		if err := Guard(func() error { work(); return nil }); err != nil {
			c.mu.Lock()
			c.burst = err
			c.mu.Unlock()
			c.Stop()
		}
	})
}

// Wait waits for all of them, and hands their panic on.
func (c *Crew) Wait() {
	c.members.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = Hand(c.burst)
}
