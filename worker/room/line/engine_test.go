package line_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"headstart/worker/room/line"
)

func TestAwaitOpen(t *testing.T) {
	t.Parallel()
	broken, left := errors.New("broken"), errors.New("left")
	for _, tt := range []struct {
		name  string
		opens time.Duration
		err   error
		leave time.Duration
		took  time.Duration
		want  error
	}{
		{"it is open", 0, nil, time.Minute, 0, nil},
		{"it opens", 300 * time.Millisecond, nil, time.Minute, 300 * time.Millisecond, nil},
		{"it never does", time.Minute, nil, time.Minute, 2 * time.Second, line.ErrStill},
		{"nobody can tell", time.Minute, broken, time.Minute, 0, broken},
		{"nobody waits any more", time.Minute, nil, time.Second, time.Second, left},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), tt.leave, left)
				defer cancel()
				began := time.Now()
				err := line.AwaitOpen(ctx, func() (bool, error) { return time.Since(began) >= tt.opens, tt.err })
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) || time.Since(began) != tt.took {
					t.Fatalf("waited %v: %v, want %v: %v", time.Since(began), err, tt.took, tt.want)
				}
			})
		})
	}
}
