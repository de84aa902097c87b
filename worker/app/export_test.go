package app

import (
	"encoding/json"

	"headstart/turn"
)

// ReadAgentConfig reads what an app may set of an agent.
func ReadAgentConfig(data []byte) (*[]turn.Tool, error) { return readAgentConfig(data) }

// ReadResult reads what a tool came to.
func ReadResult(data []byte) (turn.ToolOutput, error) {
	r, err := readResult(json.RawMessage(data))
	return r.output(), err
}
