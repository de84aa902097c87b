package retrieval

import (
	"bytes"
	"encoding/json"

	"headstart/retrieval/chunk"
)

// SpokenTokens is the default room, in tokens, of the passages of one spoken
// turn: each of them is paid for in silence before the first word.
const SpokenTokens = 2400

// ToolResult writes passages as the result of the search tool that the model
// reads: {"chunks":[{"path","heading","text"}]}, best first. No score is in it:
// a score means something to the ranking and nothing to the model.
func ToolResult(passages []Passage) json.RawMessage {
	type piece struct {
		Path    string `json:"path"`
		Heading string `json:"heading"`
		Text    string `json:"text"`
	}
	result := struct {
		Chunks []piece `json:"chunks"`
	}{Chunks: make([]piece, len(passages))}
	for i, p := range passages {
		result.Chunks[i] = piece{p.Path, p.Heading, p.Text}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // & as \u0026 costs tokens and helps nobody
	if err := e.Encode(result); err != nil {
		panic("write search result: " + err.Error()) // strings always encode
	}
	return bytes.TrimSpace(b.Bytes())
}

// Limit keeps the best passages that fit in maxTokens together, whole and in
// order: it stops at the first that does not fit, so a worse passage never takes
// the place of a better one. Only a passage that is larger than maxTokens by
// itself is passed over, for it could never be given. maxTokens of 0 is
// SpokenTokens.
func Limit(passages []Passage, maxTokens int) []Passage {
	if maxTokens == 0 {
		maxTokens = SpokenTokens
	}
	var kept []Passage
	left := float64(maxTokens)
	for _, p := range passages {
		size := chunk.Tokens(p.Heading) + chunk.Tokens(p.Text)
		if size > float64(maxTokens) {
			continue
		}
		if size > left {
			break
		}
		left -= size
		kept = append(kept, p)
	}
	return kept
}
