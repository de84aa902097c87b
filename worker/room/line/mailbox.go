package line

import "sync"

// Mailbox carries notes from callbacks to the loop that reads them. Putting
// never blocks, and nothing is dropped.
type Mailbox[T any] struct {
	bell chan struct{}

	lock  sync.Mutex // guards notes
	notes []T
}

// NewMailbox makes an empty mailbox.
func NewMailbox[T any]() *Mailbox[T] { return &Mailbox[T]{bell: make(chan struct{}, 1)} }

// Put adds a note.
func (m *Mailbox[T]) Put(note T) {
	m.lock.Lock()
	m.notes = append(m.notes, note)
	m.lock.Unlock()
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// Bell rings when there is something to Take.
func (m *Mailbox[T]) Bell() <-chan struct{} { return m.bell }

// Take returns everything that was put since the last Take, in order.
func (m *Mailbox[T]) Take() []T {
	m.lock.Lock()
	defer m.lock.Unlock()
	notes := m.notes
	m.notes = nil
	return notes
}
