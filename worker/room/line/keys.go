package line

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// keys are the telephone's, at their event codes (RFC 4733, 3.2).
const keys = "0123456789*#ABCD"

// betweenKeys is the time from one key to the next: what slow exchanges can follow.
const betweenKeys = 300 * time.Millisecond

// KeyCode is the event code of a key: "0" to "9", "*", "#", "A" to "D".
func KeyCode(key string) (uint32, bool) {
	code := strings.Index(keys, key)
	return uint32(max(code, 0)), len(key) == 1 && code >= 0
}

// Key is the key of an event code.
func Key(code uint32) (string, bool) {
	if code >= uint32(len(keys)) {
		return "", false
	}
	return keys[code : code+1], true
}

// Press presses keys one after the other, 300 ms apart, each by press. It
// refuses all of them when one is no key, and ends when ctx does or closed closes.
func Press(ctx context.Context, digits string, closed <-chan struct{}, press func(code uint32, key string) error) error {
	for _, digit := range digits {
		if _, ok := KeyCode(string(digit)); !ok {
			return fmt.Errorf("press keys: no key %q", digit)
		}
	}
	for i := range len(digits) {
		if i > 0 {
			if err := pause(ctx, betweenKeys, closed); err != nil {
				return fmt.Errorf("press keys: %w", err)
			}
		}
		key := digits[i : i+1]
		code, _ := KeyCode(key)
		if err := press(code, key); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration, closed <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-closed:
		return ErrLeft
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
