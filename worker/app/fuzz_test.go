package app_test

import (
	"encoding/json"
	"testing"

	"headstart/worker/app"
)

// Whatever an app sends is refused, or makes tools that a conversation takes.
func FuzzAgentConfig(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `{"tools": null}`, `{"tools": [` + bookTool + `]}`, `{"tools": [` + bookTool + `, ` + bookTool + `]}`,
		`{"tools": [{"name": "a", "description": "b", "parameters": {"type": "object", "$ref": "file:///etc/passwd"}}]}`,
		`{"tools": [{"name": "a", "description": "b", "parameters": {"type": "object"}, "timeout_s": 1e300}]}`, `{"voice": 1, "Tools": []}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tools, err := app.ReadAgentConfig(data)
		if err != nil || tools == nil {
			return
		}
		named := map[string]bool{}
		for _, tool := range *tools {
			if err := tool.Validate(); err != nil || named[tool.Name] || tool.Timeout < 0 {
				t.Fatalf("taken: %+v, %v", tool, err)
			}
			named[tool.Name] = true
		}
	})
}

// A result that is taken is an output or an error, and JSON.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"call_id": "t", "name": "n", "output": null}`, `{"call_id": "t", "name": "n", "error": "no"}`,
		`{"call_id": "t", "name": "n", "output": {"a": [1]}, "summary": "s", "duration_s": 0.2}`, `{"call_id": "t", "output": null, "error": "no"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := app.ReadResult(data)
		if err != nil {
			return
		}
		if (got.Error == "") != (len(got.Output) > 0) || got.Error == "" && !json.Valid(got.Output) {
			t.Fatalf("taken: %+v", got)
		}
	})
}
