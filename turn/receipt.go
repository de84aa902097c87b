package turn

import (
	"encoding/json"
	"strings"
)

// receipt fills the placeholders of a tool's receipt: {{name}} from the arguments,
// {{result.name}} from what came back, {{result}} when that is a plain value. It is empty
// when a value is missing, for half a receipt is worse than none.
func receipt(template string, arguments, output json.RawMessage) string {
	if template == "" {
		return ""
	}
	var filled strings.Builder
	for rest := template; ; {
		before, after, opened := strings.Cut(rest, "{{")
		name, next, closed := strings.Cut(after, "}}")
		if !opened || !closed {
			filled.WriteString(rest)
			return strings.TrimSpace(filled.String())
		}
		value, ok := placeholder(strings.TrimSpace(name), arguments, output)
		if !ok {
			return ""
		}
		filled.WriteString(before + value)
		rest = next
	}
}

// placeholder looks one value up.
func placeholder(name string, arguments, output json.RawMessage) (string, bool) {
	path := strings.Split(name, ".")
	if path[0] == "result" {
		return spelled(output, path[1:])
	}
	return spelled(arguments, path)
}

// spelled is the value at a path, as it is spoken: no object and no list can be.
func spelled(text json.RawMessage, path []string) (string, bool) {
	value, err := decode(text)
	if err != nil {
		return "", false
	}
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	switch value := value.(type) {
	case string:
		return value, strings.TrimSpace(value) != ""
	case json.Number:
		return value.String(), true
	}
	return "", false
}
