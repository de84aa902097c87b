package v1_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"headstart/turn"
	v1 "headstart/worker/api/v1"
	"headstart/worker/calllog"
)

// running has the book ship until the returned function ends it.
func (d *desk) running() func() {
	ctx, cancel := context.WithCancel(d.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.book.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			d.t.Errorf("run book: %v", err)
		}
	}
}

// A follower who came before, amid and after the writing, and one who comes
// back, have each entry once, then the end.
func TestAStreamHasNoGapAndNoRepeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, calllog.Config{})
		defer d.running()()
		p, stop := d.serve(v1.Config{})
		defer stop()
		log := d.begin("c")
		log.Append(turn.CallStarted{})
		log.Append(turn.DTMF{Digit: "1"})
		whole := p.follow(t, "/v1/calls/c/log")
		for _, want := range []string{"1:call.started", "2:dtmf"} {
			e, _ := whole.next()
			equal(t, "backlog", want, short(e))
		}
		synctest.Wait() // it waits for more
		began := time.Now()
		log.Append(turn.DTMF{Digit: "2"})
		e, _ := whole.next()
		equal(t, "news", "3:dtmf", short(e))
		equal(t, "time until it came", 0, time.Since(began))
		equal(t, "entry", "clinica", e.Entry.Agent)
		back := p.follow(t, "/v1/calls/c/log?after=1", header("Last-Event-ID", "2"))
		late := p.follow(t, "/v1/calls/c/log?after=2", header("Last-Event-ID", "no number"))
		log.Append(turn.CallEnded{Reason: "caller_hung_up"})
		log.Seal()
		const rest = "4:call.ended 5:call.summary end"
		equal(t, "the first", rest, ids(whole.rest()))
		equal(t, "who came back", "3:dtmf "+rest, ids(back.rest()))
		equal(t, "who came late", "3:dtmf "+rest, ids(late.rest()))
		time.Sleep(time.Second)
		if len(d.book.Live()) != 0 {
			t.Fatal("the log is not in the store")
		}
		equal(t, "from the store", "4:call.ended 5:call.summary end", ids(p.follow(t, "/v1/calls/c/log?after=3").rest()))
		equal(t, "who has all", "end", ids(p.follow(t, "/v1/calls/c/log", header("Last-Event-ID", "5")).rest()))
	})
}

// A log in which nothing happens is heard of each 15 s, for long.
func TestASilentStreamBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, calllog.Config{})
		p, stop := d.serve(v1.Config{})
		defer stop()
		log := d.begin("c")
		r := p.follow(t, "/v1/calls/c/log")
		began := time.Now()
		for n := range 20 {
			e, _ := r.next()
			equal(t, "what came", "beat", short(e))
			equal(t, "when", time.Duration(n+1)*15*time.Second, time.Since(began))
		}
		log.Seal()
		equal(t, "the end", "1:call.ended 2:call.summary end", ids(r.rest()))
	})
}

// A reader that takes nothing is cut off after 5 s. The call does not wait for
// it, and neither do others.
func TestAReaderThatTakesNothingIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, calllog.Config{Window: 16})
		defer d.running()()
		p, stop := d.serve(v1.Config{})
		defer stop()
		log := d.begin("c")
		stuck, brisk := p.follow(t, "/v1/calls/c/log"), p.follow(t, "/v1/calls/c/log")
		told := make(chan []event, 1)
		go func() { told <- brisk.rest() }()
		began := time.Now()
		const entries = 3000
		for n := range entries {
			log.Append(turn.DTMF{Digit: fmt.Sprint(n)})
		}
		log.Seal()
		equal(t, "time that the call waited", 0, time.Since(began))
		all := <-told
		equal(t, "what the brisk reader has", entries+3, len(all)) // the seal is two, and the end
		for i, e := range all[:entries+2] {
			equal(t, "id", fmt.Sprint(i+1), e.ID)
		}
		time.Sleep(5*time.Second - time.Nanosecond)
		synctest.Wait()
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if rest := stuck.rest(); len(rest) >= entries {
			t.Fatalf("the stuck reader was sent %d events", len(rest))
		}
		equal(t, "time until it was cut off", 5*time.Second, time.Since(began))
	})
}

// A process that ends tells its followers what was written by then, and the end
// of the calls that are sealed.
func TestTheProcessEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, calllog.Config{})
		p, stop := d.serve(v1.Config{})
		sealed, open := d.begin("sealed"), d.begin("open")
		one, other := p.follow(t, "/v1/calls/sealed/log"), p.follow(t, "/v1/calls/open/log")
		synctest.Wait()
		for range 100 {
			sealed.Append(turn.DTMF{Digit: "1"})
		}
		sealed.Seal()
		open.Append(turn.DTMF{Digit: "2"})
		told := make(chan []event, 1)
		go func() { told <- one.rest() }()
		stopped := make(chan struct{})
		go func() { defer close(stopped); stop() }()
		equal(t, "of the open call", "1:dtmf", ids(other.rest()))
		all := <-told
		if last := all[len(all)-1]; len(all) != 103 || last.Event != "end" {
			t.Fatalf("of the sealed call: %d events, the last %+v", len(all), last)
		}
		<-stopped
	})
}

// Streams are numbered, and one that ends gives its place back.
func TestOneStreamTooMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, calllog.Config{})
		p, stop := d.serve(v1.Config{})
		defer stop()
		d.begin("c").Append(turn.DTMF{Digit: "1"})
		var readers []*reader
		for range v1.MaxFollowers {
			r := p.follow(t, "/v1/calls/c/log")
			r.next()
			readers = append(readers, r)
		}
		equal(t, "one too many", 503, p.status(t, "/v1/calls/c/log"))
		if err := readers[0].conn.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		equal(t, "after one has left", 200, p.status(t, "/v1/calls/c/log"))
		for _, r := range readers[1:] {
			r.conn.Close()
		}
	})
}

// Who has read the end of a stream finds its place free.
func TestWhoHeardTheEndFindsThePlaceFree(t *testing.T) {
	t.Parallel()
	d := newDesk(t, calllog.Config{})
	p, stop := d.serve(v1.Config{})
	defer stop()
	d.begin("open").Append(turn.DTMF{Digit: "1"})
	d.begin("sealed").Seal()
	for range v1.MaxFollowers - 1 {
		r := p.follow(t, "/v1/calls/open/log")
		r.next()
		defer r.conn.Close()
	}
	for range 1000 {
		r := p.follow(t, "/v1/calls/sealed/log")
		for e, ok := r.next(); e.Event != "end"; e, ok = r.next() {
			if !ok {
				t.Fatal("the stream was cut before its end")
			}
		}
		defer r.conn.Close()
	}
}
