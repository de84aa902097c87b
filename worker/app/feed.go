package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"headstart/turn"
)

// feed brings the log of one call to its app, until the seal, a release or the
// socket's end. One goroutine reads the log, another sends.
//
// The entry of a tool call waits until the call asks, and carries what it asks: the
// log may keep some arguments to itself. One that is never asked, because its
// arguments do not fit or it was given up first, is not shown: an app runs what it
// reads.
type feed struct {
	socket  *socket
	held    *Held
	entries chan turn.Entry // as read from the log
	waiting []turn.Entry    // behind a tool call that was not asked yet
}

// follow begins the feed of a call. The caller holds mu.
func (s *socket) follow(h *Held) {
	ctx, stop := context.WithCancel(s.life)
	h.stopFeed = stop
	f := &feed{socket: s, held: h, entries: make(chan turn.Entry, ahead)}
	s.crew.Do(func() {
		defer close(f.entries)
		f.end(ctx, f.read(ctx))
	})
	s.crew.Do(func() {
		defer stop()
		f.end(ctx, f.send(ctx))
	})
}

// end closes a socket that cannot be told of its call: it would wait for nothing.
func (f *feed) end(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		f.socket.stop(fmt.Errorf("tell of call %s: %w", f.held.call, err))
	}
}

func (f *feed) read(ctx context.Context) error {
	for entry, err := range f.socket.holders.logs.Follow(ctx, f.held.call, 0) {
		if err != nil {
			return err
		}
		if entry.Ephemeral {
			continue
		}
		select {
		case f.entries <- entry:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// send sends what was read, and waits for the app; the log waits for nobody.
func (f *feed) send(ctx context.Context) error {
	for {
		news := f.held.newsOf() // before looking, so that nothing is missed
		if err := f.flush(ctx); err != nil {
			return err
		}
		select {
		case entry, more := <-f.entries:
			if !more {
				return nil
			}
			f.waiting = append(f.waiting, entry)
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// flush sends what waits, up to a tool call that may still be asked.
func (f *feed) flush(ctx context.Context) error {
	for len(f.waiting) > 0 {
		entry, known, err := f.show(f.waiting[0])
		if err != nil || !known {
			return err
		}
		f.waiting = f.waiting[1:]
		if entry == nil {
			continue
		}
		if err := f.socket.put(ctx, *entry); err != nil {
			return err
		}
	}
	return nil
}

// show is an entry as the app reads it, nil when it does not; known is false while
// that cannot be said.
func (f *feed) show(entry turn.Entry) (shown *turn.Entry, known bool, err error) {
	if entry.Type != (turn.ToolCalled{}).EventType() {
		return &entry, true, nil
	}
	var called turn.ToolCalled
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(entry.Data, &called); err != nil {
		return nil, false, fmt.Errorf("read tool call: %w", err)
	}
	if err := json.Unmarshal(entry.Data, &fields); err != nil {
		return nil, false, fmt.Errorf("read tool call: %w", err)
	}
	if !f.held.has(called.Name) {
		return &entry, true, nil // the platform's own
	}
	arguments, open := f.held.lookAt(called.CallID)
	if arguments == nil {
		return nil, !open || f.resulted(called.CallID), nil
	}
	fields["arguments"] = arguments
	if entry.Data, err = json.Marshal(fields); err != nil {
		return nil, false, fmt.Errorf("write tool call: %w", err)
	}
	return &entry, true, nil
}

// resulted tells whether the log has the result of a tool call already.
func (f *feed) resulted(id string) bool {
	return slices.ContainsFunc(f.waiting, func(entry turn.Entry) bool {
		var result turn.ToolResulted
		return entry.Type == result.EventType() && json.Unmarshal(entry.Data, &result) == nil && result.CallID == id
	})
}
