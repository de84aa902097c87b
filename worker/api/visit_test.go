package api_test

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"headstart/worker/api"
)

// typed says a text in a visit, in the name of its visitor.
func typed(t *testing.T, pages http.Handler, visit, text string) (status int, code string) {
	t.Helper()
	w := ask(t.Context(), pages, "POST", visit+"/messages", `{"text":`+strconv.Quote(text)+`}`)
	return w.Code, field(t, w, "code")
}

func expect(t *testing.T, what string, want, got []api.Event) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(api.Event{}, "Seq")); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
	for i := 1; i < len(got); i++ {
		if got[i].Seq <= got[i-1].Seq {
			t.Fatalf("%s: event %d follows %d", what, got[i].Seq, got[i-1].Seq)
		}
	}
}

func end(reason string) api.Event { return api.Event{Type: api.TypeEnd, Reason: reason} }

func TestAConversationIsToldInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		d.greeting = []api.Event{{Type: api.TypeAgent, There: true}, listening, says(api.WhoAgent, "a-0", "Hello.", true)}
		d.reply = func(text string) []api.Event {
			return []api.Event{
				{Type: api.TypeState, State: "thinking"}, says(api.WhoAgent, text, "Until", false),
				says(api.WhoAgent, text, "Until six", false), says(api.WhoAgent, text, "Until six.", true), listening,
			}
		}
		pages, stop := open(t, d, api.Config{})
		visit := enter(t, pages)
		reader := read(t, pages, visit, "")
		synctest.Wait()
		expect(t, "greeting", d.greeting, reader.events(t))

		for _, text := range []string{"when?", " and\nthen? "} {
			if status, code := typed(t, pages, visit, text); status != http.StatusAccepted {
				t.Fatalf("type: %d %s", status, code)
			}
			synctest.Wait()
		}
		person := <-d.visitors
		if diff := cmp.Diff([]string{"when?", "and\nthen?"}, person.typed()); diff != "" {
			t.Fatalf("typed (-want +got):\n%s", diff)
		}
		whole := d.greeting
		for i, text := range person.typed() {
			whole = append(whole, says(api.WhoVisitor, "typed-"+strconv.Itoa(i+1), text, true))
			for _, e := range d.reply(text) {
				if e.Type != api.TypeTranscript || e.Final { // what was replaced may be left out
					whole = append(whole, e)
				}
			}
		}
		got := reader.events(t)
		expect(t, "conversation", whole, withoutInterims(got))

		// A reader who comes back hears what he missed, and no more.
		back := read(t, pages, visit, strconv.FormatInt(got[2].Seq, 10))
		synctest.Wait()
		expect(t, "coming back", whole[3:], withoutInterims(back.events(t)))

		person.gone <- nil
		<-reader.done
		<-back.done
		expect(t, "the end", append(whole, end("left")), withoutInterims(reader.events(t)))
		if status, code := typed(t, pages, visit, "hello?"); status != http.StatusNotFound || code != "visit" {
			t.Fatalf("type after the end: %d %s", status, code)
		}
		stop()
	})
}

func withoutInterims(events []api.Event) []api.Event {
	var kept []api.Event
	for _, e := range events {
		if e.Type != api.TypeTranscript || e.Final {
			kept = append(kept, e)
		}
	}
	return kept
}

func TestWordsThatAreReplacedAreNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		for range 9 {
			d.greeting = append(d.greeting, says(api.WhoAgent, "a", "Until", false), says(api.WhoAgent, "b", "Six", false))
		}
		d.greeting = append(d.greeting, says(api.WhoAgent, "b", "Six o'clock", false), says(api.WhoAgent, "b", "Six o'clock.", true), says(api.WhoAgent, "b", "Seven.", true))
		pages, stop := open(t, d, api.Config{})
		visit := enter(t, pages)
		synctest.Wait()
		reader := read(t, pages, visit, "x")
		synctest.Wait()
		// The last unfinished words give way, and only they.
		want := append(append([]api.Event(nil), d.greeting[:17]...), d.greeting[19:]...)
		expect(t, "a late reader", want, reader.events(t))
		stop()
		<-reader.done
		expect(t, "the process ends", append(want, end("closing")), reader.events(t))
	})
}

func TestClocksOfAVisit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		act    func(t *testing.T, pages http.Handler, visit string)
		lasted time.Duration
		reason string
	}{
		{"never watched", func(*testing.T, http.Handler, string) {}, 30 * time.Second, "unwatched"},
		{"watched, and silent", func(t *testing.T, pages http.Handler, visit string) {
			read(t, pages, visit, "")
		}, 10 * time.Minute, "idle"},
		{"typed after four minutes", func(t *testing.T, pages http.Handler, visit string) {
			read(t, pages, visit, "")
			time.Sleep(4 * time.Minute)
			typed(t, pages, visit, "a")
		}, 14 * time.Minute, "idle"},
		{"left for 29 s, and then for good", func(t *testing.T, pages http.Handler, visit string) {
			for range 2 {
				reader := read(t, pages, visit, "")
				time.Sleep(time.Minute)
				reader.leave()
				<-reader.done
				time.Sleep(29 * time.Second)
			}
		}, 2*89*time.Second + time.Second, "unwatched"},
		{"one of two readers stays", func(t *testing.T, pages http.Handler, visit string) {
			first := read(t, pages, visit, "")
			read(t, pages, visit, "")
			time.Sleep(time.Second)
			first.leave()
		}, 10 * time.Minute, "idle"},
		{"typing does not watch", func(t *testing.T, pages http.Handler, visit string) {
			time.Sleep(20 * time.Second)
			typed(t, pages, visit, "a")
		}, 30 * time.Second, "unwatched"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDoor()
				d.greeting = []api.Event{listening}
				began := time.Now()
				pages, ends := observed(t, d)
				visit := enter(t, pages)
				c.act(t, pages, visit)
				time.Sleep(c.lasted - time.Since(began) - time.Nanosecond)
				synctest.Wait()
				if !there(t, pages, visit) {
					t.Fatalf("over before %v: %v", c.lasted, ends())
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if there(t, pages, visit) {
					t.Fatalf("still there after %v", c.lasted)
				}
				if diff := cmp.Diff([]string{c.reason}, ends()); diff != "" {
					t.Fatalf("reasons (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// observed runs the page until the test ends, and tells why visits ended.
func observed(t *testing.T, d *door) (pages *api.Pages, ends func() []string) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	pages, err := api.New(api.Config{URL: "ws://x", Door: d}, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run(t, pages))
	return pages, func() (reasons []string) {
		for _, entry := range logs.FilterMessage("visit over").All() {
			reasons = append(reasons, entry.ContextMap()["reason"].(string))
		}
		return reasons
	}
}

// there tells whether a visit is not over: a message of no words changes nothing.
func there(t *testing.T, pages http.Handler, visit string) bool {
	t.Helper()
	status, _ := typed(t, pages, visit, "")
	return status == http.StatusBadRequest
}

func TestAMessageWaitsForTheAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		comes  []api.Event // two seconds after the message was typed
		waited time.Duration
		status int
		code   string
	}{
		{"who listens", []api.Event{{Type: api.TypeAgent, There: true}, listening}, 2 * time.Second, 202, ""},
		{"who tells no state", []api.Event{{Type: api.TypeAgent, There: true}}, 5 * time.Second, 202, ""},
		{"who only gets ready", []api.Event{{Type: api.TypeState, State: "initializing"}}, 15 * time.Second, 504, "absent"},
		{"who never comes", nil, 15 * time.Second, 504, "absent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDoor()
				pages, _ := observed(t, d)
				visit := enter(t, pages)
				reader := read(t, pages, visit, "")
				person := <-d.visitors
				time.AfterFunc(2*time.Second, func() {
					for _, e := range c.comes {
						person.notes <- e
					}
				})
				began := time.Now()
				status, code := typed(t, pages, visit, "hello?")
				if waited := time.Since(began); waited != c.waited || status != c.status || code != c.code {
					t.Fatalf("waited %v, %d %q; want %v, %d %q", waited, status, code, c.waited, c.status, c.code)
				}
				synctest.Wait()
				want := append([]api.Event{says(api.WhoVisitor, "typed-1", "hello?", true)}, c.comes...)
				if c.code != "" {
					want = append(want, api.Event{Type: api.TypeUndelivered, Segment: "typed-1"})
				}
				expect(t, "what is shown", want, reader.events(t))
			})
		})
	}
}

func TestMessagesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		pages, _ := observed(t, d)
		visit := enter(t, pages)
		person := <-d.visitors
		var want []string
		for _, text := range []string{"1", "2", "3", "4"} {
			want = append(want, text)
			go typed(t, pages, visit, text)
			synctest.Wait()
		}
		person.notes <- listening
		synctest.Wait()
		if diff := cmp.Diff(want, person.typed()); diff != "" {
			t.Fatalf("typed (-want +got):\n%s", diff)
		}
	})
}

func TestHowAVisitEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		act    func(t *testing.T, pages http.Handler, visit string, person *visitor)
	}{
		{"left", func(_ *testing.T, _ http.Handler, _ string, person *visitor) { person.gone <- nil }},
		{"lost", func(_ *testing.T, _ http.Handler, _ string, person *visitor) { person.gone <- errors.New("cut") }},
		{"hung_up", func(t *testing.T, pages http.Handler, visit string, _ *visitor) {
			if w := ask(t.Context(), pages, "DELETE", visit, ""); w.Code != http.StatusNoContent {
				t.Fatalf("hang up: %d %s", w.Code, w.Body)
			}
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDoor()
			pages, ends := observed(t, d)
			visit := enter(t, pages)
			reader := read(t, pages, visit, "")
			waiting := make(chan int, 1)
			go func() {
				status, _ := typed(t, pages, visit, "hello?")
				waiting <- status
			}()
			synctest.Wait()
			c.act(t, pages, visit, <-d.visitors)
			<-reader.done
			if status := <-waiting; status != http.StatusNotFound {
				t.Fatalf("%s: a message that waited: %d", c.reason, status)
			}
			events := reader.events(t)
			expect(t, c.reason, []api.Event{says(api.WhoVisitor, "typed-1", "hello?", true), end(c.reason)}, events)
			if diff := cmp.Diff([]string{c.reason}, ends()); diff != "" {
				t.Fatalf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATextThatTheRoomDoesNotTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDoor()
		d.greeting, d.deaf = []api.Event{listening}, errors.New("not written")
		pages, _ := observed(t, d)
		visit := enter(t, pages)
		synctest.Wait()
		if status, code := typed(t, pages, visit, "a"); status != http.StatusBadGateway || code != "undelivered" {
			t.Fatalf("type: %d %s", status, code)
		}
	})
}
