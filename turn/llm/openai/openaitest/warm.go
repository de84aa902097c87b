package openaitest

import (
	"context"
	"encoding/json"
	"fmt"

	"go.uber.org/zap"

	"headstart/turn/llm"
	"headstart/turn/llm/openai"
)

// Warm asks once for all that a request can hold. openai-go builds an encoder a
// type when the type is first met, and keeps it, with the WaitGroup that its
// other readers meet on, for the whole process. A WaitGroup that was made in one
// synctest bubble kills who waits on it elsewhere, so a TestMain whose tests ask
// from bubbles calls Warm before them.
func Warm() error {
	s := &Server{First: -1, Each: -1}
	call := ToolCall{ID: "c", Name: "find", Arguments: `{"q":"a"}`}
	s.Script(Answer{Text: "Sí.", ToolCalls: []ToolCall{call}})
	temperature := 0.5
	m, err := openai.New(openai.Config{BaseURL: "http://model.test/v1", Key: "k", Model: "fake", Temperature: &temperature, Transport: Transport(s)}, zap.NewNop())
	if err != nil {
		return err
	}
	defer m.Close()
	schema := json.RawMessage(`{"type":"object"}`)
	for range 2 { // the second is answered with the default text
		_, err := m.Reply(context.Background(), llm.Request{
			Messages: []llm.Message{
				{Role: llm.System, Content: "Be brief."},
				{Role: llm.User, Content: "Hola"},
				{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: call.ID, Name: call.Name, Arguments: json.RawMessage(call.Arguments)}}},
				{Role: llm.ToolRole, ToolCallID: call.ID, Content: "b"},
				{Role: llm.Assistant, Content: "Sí."},
			},
			Tools:       []llm.Tool{{Name: call.Name, Description: "finds", Parameters: schema}},
			Temperature: &temperature, Schema: schema,
		}, func(string) {})
		if err != nil {
			return fmt.Errorf("warm openai-go: %w", err)
		}
	}
	return nil
}
