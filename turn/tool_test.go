package turn_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"headstart/turn"
)

// booking is a tool that writes.
func booking() turn.Tool {
	return turn.Tool{
		Name: "book_slot", Description: "Books a slot.", SideEffect: turn.SideEffectWrite,
		Parameters: json.RawMessage(`{"type":"object","properties":{"slot":{"type":"string"},"phone":{"type":"string"}},"required":["slot"]}`),
		PII:        []string{"phone"},
	}
}

func TestToolsAreValidated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*turn.Tool)
		wants  string // in the complaint, empty for none
	}{
		{"as it is", func(*turn.Tool) {}, ""},
		{"no side effect", func(b *turn.Tool) { b.SideEffect = "" }, ""},
		{"no name", func(b *turn.Tool) { b.Name = "" }, "a name is"},
		{"a name with a space", func(b *turn.Tool) { b.Name = "book slot" }, "a name is"},
		{"a name of the platform", func(b *turn.Tool) { b.Name = "end_call" }, "the platform has"},
		{"another name of the platform", func(b *turn.Tool) { b.Name = "search" }, "the platform has"},
		{"no description", func(b *turn.Tool) { b.Description = " " }, "description"},
		{"an unknown side effect", func(b *turn.Tool) { b.SideEffect = "reads" }, "side effect"},
		{"no parameters", func(b *turn.Tool) { b.Parameters = nil }, "no JSON"},
		{"parameters of no object", func(b *turn.Tool) { b.Parameters = json.RawMessage(`{"type":"string"}`) }, `"type": "object"`},
		{"parameters that are no schema", func(b *turn.Tool) { b.Parameters = json.RawMessage(`{"type":"object","required":"slot"}`) }, "compile schema"},
		{"parameters in a file", func(b *turn.Tool) {
			b.Parameters = json.RawMessage(`{"type":"object","properties":{"phone":{"$ref":"file:///etc/hostname"}}}`)
		}, "compile schema"},
		{"pii that is no parameter", func(b *turn.Tool) { b.PII = []string{"telephone"} }, "none of its parameters"},
		{"the longest timeout", func(b *turn.Tool) { b.Timeout = 300 * time.Second }, ""},
		{"a timeout too long", func(b *turn.Tool) { b.Timeout = 301 * time.Second }, "timeout"},
		{"a negative timeout", func(b *turn.Tool) { b.Timeout = -1 }, "timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := booking()
			tt.change(&b)
			err := turn.Config{Tools: []turn.Tool{b}}.Validate()
			if (err != nil) != (tt.wants != "") || err != nil && !strings.Contains(err.Error(), tt.wants) {
				t.Fatalf("complaint %v, want %q", err, tt.wants)
			}
		})
	}
	if err := (turn.Config{Tools: []turn.Tool{booking(), booking()}}).Validate(); err == nil || !strings.Contains(err.Error(), "two of this name") {
		t.Fatalf("two tools of one name: %v", err)
	}
}
