package v1

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"headstart/turn"
)

const (
	// heartbeat keeps a silent stream alive through proxies, and finds readers gone.
	heartbeat = 15 * time.Second
	// ahead is how many entries are fetched before the reader has taken those
	// that were sent; piece is how much is sent in one write.
	ahead = 64
	piece = 64 << 10
)

// stream tells a log as server-sent events until its seal, the reader's end or
// ours.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, log string, after int64) {
	// The place is free before the end is told: who has heard it may ask for the
	// place at once.
	free := sync.OnceFunc(func() { <-s.followers })
	select {
	case s.followers <- struct{}{}:
		defer free()
	default:
		refuse(w, noPlace)
		return
	}
	// The request's deadline is over once it is read: the connection is watched
	// for its end.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := &follower{w: w, last: after}
	whole, err := s.follow(r.Context(), out, log)
	if errors.Is(err, errEnding) {
		whole, err = s.finish(r.Context(), out, log)
	}
	free()
	if whole {
		err = out.end()
	}
	if err != nil {
		s.log.Debug("follower gone", zap.String("log", log), zap.Int64("after", out.last), zap.Error(err))
	}
}

// follow sends entries as they are written, and reports whether they are all that
// there will be. Reading the log is a goroutine of its own, so that a silent log has
// its heartbeats; it ends before follow does.
func (s *Server) follow(ctx context.Context, out *follower, log string) (whole bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	entries, ended := make(chan turn.Entry, ahead), make(chan error, 1)
	go func() {
		defer close(entries)
		ended <- s.read(ctx, log, out.last, entries)
	}()
	err = relay(out, entries)
	stop()
	for range entries { // what was read and could not be sent
	}
	if read := <-ended; err == nil {
		err = read
	}
	return err == nil, err
}

func (s *Server) read(ctx context.Context, log string, after int64, into chan<- turn.Entry) error {
	for entry, err := range s.logs.Follow(ctx, log, after) {
		if err != nil {
			return err
		}
		select {
		case into <- entry:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// relay sends what comes until nothing more does.
func relay(out *follower, entries <-chan turn.Entry) error {
	heart := time.NewTicker(heartbeat)
	defer heart.Stop()
	out.text.WriteString("retry: 1000\n\n")
	for {
		if err := out.send(); err != nil {
			return err
		}
		select {
		case entry, ok := <-entries:
			if !ok {
				return nil
			}
			if err := out.add(entry); err != nil {
				return err
			}
			if err := out.fill(entries); err != nil {
				return err
			}
		case <-heart.C:
			out.text.WriteString(": still here\n\n")
		}
	}
}

// finish sends what was written before the process began to end: the last
// entries of a call that it has just sealed. It reports like follow.
func (s *Server) finish(ctx context.Context, out *follower, log string) (whole bool, err error) {
	ctx, cancel := patience(context.WithoutCancel(ctx)) // it has ended: that is why
	defer cancel()
	for {
		page, err := s.logs.Read(ctx, log, out.last, ahead)
		if err != nil {
			return false, err
		}
		for _, entry := range page.Entries {
			if err := out.add(entry); err != nil {
				return false, err
			}
		}
		if len(page.Entries) == ahead {
			continue
		}
		return page.Sealed && out.last >= page.Highest, out.send()
	}
}

// follower is one reader of a stream.
type follower struct {
	w    http.ResponseWriter
	text bytes.Buffer // to be sent
	last int64        // seq of the last entry in it
}

// add writes an entry down.
func (f *follower) add(entry turn.Entry) error {
	data, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode entry: %w", err)
	}
	fmt.Fprintf(&f.text, "id: %d\nevent: %s\ndata: %s\n\n", entry.Seq, entry.Type, data)
	f.last = entry.Seq
	return nil
}

// fill adds what is there already, so that a burst is few writes.
func (f *follower) fill(entries <-chan turn.Entry) error {
	for f.text.Len() < piece {
		select {
		case entry, ok := <-entries:
			if !ok {
				return nil
			}
			if err := f.add(entry); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// end says that nothing follows. It has no id: who comes back asks after the
// last entry.
func (f *follower) end() error {
	f.text.WriteString("event: end\ndata: {}\n\n")
	return f.send()
}

// send writes what was added, within its deadline, and lets it go.
func (f *follower) send() error {
	writeSoon(f.w)
	if _, err := f.w.Write(f.text.Bytes()); err != nil {
		return fmt.Errorf("write entries: %w", err)
	}
	f.text.Reset()
	if err := http.NewResponseController(f.w).Flush(); err != nil {
		return fmt.Errorf("flush entries: %w", err)
	}
	return nil
}
