package line_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headstart/worker/room/line"
)

func TestKeysHaveTheCodesOfRFC4733(t *testing.T) {
	t.Parallel()
	codes := map[string]uint32{
		"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9, "*": 10, "#": 11, "A": 12, "B": 13, "C": 14, "D": 15,
	}
	for key, want := range codes {
		if code, ok := line.KeyCode(key); code != want || !ok {
			t.Errorf("key %q has the code %d, %v; want %d", key, code, ok, want)
		}
		if got, ok := line.Key(want); got != key || !ok {
			t.Errorf("code %d is the key %q, %v; want %q", want, got, ok, key)
		}
	}
	for _, key := range []string{"", "a", "x", "12", "+", " ", "٣"} {
		if code, ok := line.KeyCode(key); ok {
			t.Errorf("%q is a key, with the code %d", key, code)
		}
	}
	for _, code := range []uint32{16, 255, 1 << 31} { // 16 is a hook flash
		if key, ok := line.Key(code); ok {
			t.Errorf("code %d is the key %q", code, key)
		}
	}
}

func TestPressKeepsTheTimeBetweenKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var pressed []string
		press := func(code uint32, key string) error {
			pressed = append(pressed, fmt.Sprint(time.Since(begin), " ", code, " ", key))
			return nil
		}
		if err := line.Press(t.Context(), "1#A", nil, press); err != nil {
			t.Fatalf("press: %v", err)
		}
		if diff := cmp.Diff([]string{"0s 1 1", "300ms 11 #", "600ms 12 A"}, pressed); diff != "" {
			t.Fatalf("pressed (-want +got):\n%s", diff)
		}
		pressed = nil
		if err := line.Press(t.Context(), "12x", nil, press); err == nil || pressed != nil {
			t.Fatalf("pressed %q of keys that are none: %v", pressed, err)
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, enough)
		defer cancel()
		if err := line.Press(ctx, "12", nil, press); !errors.Is(err, enough) || len(pressed) != 1 {
			t.Fatalf("pressed %q in 100ms: %v", pressed, err)
		}
		closed := make(chan struct{})
		close(closed)
		if err := line.Press(t.Context(), "12", closed, press); !errors.Is(err, line.ErrLeft) {
			t.Fatalf("press in a room that was left: %v", err)
		}
		refused := errors.New("refused")
		if err := line.Press(t.Context(), "12", nil, func(uint32, string) error { return refused }); !errors.Is(err, refused) {
			t.Fatalf("press: %v", err)
		}
	})
}
