package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/livekit/protocol/livekit"

	"headstart/worker/dispatch"
	"headstart/worker/dispatch/dispatchtest"
)

// A thousand jobs at once, ended in each way that a job can end: LiveKit reads
// one end of each, the right one, and reads it before Run goes on from Done.
func TestAThousandShortJobsReportOnceEach(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const jobs = 1000
		h := &host{places: jobs}
		var c *dispatchtest.Conn
		var early atomic.Int64 // ends that LiveKit had not read when Done returned
		h.script = func(_ context.Context, a dispatch.Assignment) error {
			n, err := strconv.Atoi(strings.TrimPrefix(a.ID, "AJ_"))
			if err != nil {
				return err
			}
			switch n % 5 {
			case 0:
				a.Done(nil)
			case 1:
				return errors.New("failed")
			case 2:
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() { a.Done(nil) })
				}
				wg.Wait()
			case 3:
				panic("a job that breaks")
			default:
				return nil
			}
			if updates := c.Updates(a.ID); !slices.Equal(updates, []livekit.JobStatus{running, success}) {
				early.Add(1)
			}
			a.Done(errors.New("too late to fail"))
			return errors.New("too late to fail")
		}
		w := begin(t, h, nil)
		c = w.server.Conn(t.Context())
		for n := range jobs {
			c.Offer(job(n))
		}
		synctest.Wait()
		for n := range jobs {
			c.Assign(job(n), "token")
		}
		synctest.Wait()
		for n := range jobs {
			end := success
			if n%5 == 1 || n%5 == 3 {
				end = failed
			}
			if diff := cmp.Diff([]livekit.JobStatus{running, end}, c.Updates(job(n).GetId())); diff != "" {
				t.Fatalf("job %d (-want +got):\n%s", n, diff)
			}
		}
		if early.Load() != 0 {
			t.Fatalf("%d jobs went on from Done before LiveKit had read their end", early.Load())
		}
		if h.ran.Load() != jobs || h.freed.Load() != 0 || h.taken.Load() != 0 {
			t.Fatalf("%d ran, %d were released and %d hold places, want %d, none and none", h.ran.Load(), h.freed.Load(), h.taken.Load(), jobs)
		}
	})
}
