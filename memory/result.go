package memory

import "encoding/json"

// ToolResult is what the model is handed of a recall: the facts as data, with
// no score, since a score means something to the ranking and nothing to it.
func ToolResult(facts []Fact) json.RawMessage {
	type line struct {
		Text   string `json:"text"`
		Source string `json:"source,omitempty"`
		Since  string `json:"since,omitempty"`
	}
	lines := make([]line, 0, len(facts))
	for _, f := range facts {
		l := line{Text: f.Text, Source: f.Source}
		if !f.Since.IsZero() {
			l.Since = f.Since.Format("2006-01-02")
		}
		lines = append(lines, l)
	}
	out, _ := json.Marshal(map[string]any{"facts": lines}) // strings always marshal
	return out
}
