package openaitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"headstart/turn/llm"
	"headstart/turn/llm/openai"
	"headstart/turn/provider"
)

// Warm asks once for all that a request can hold, and is refused once. openai-go
// builds an encoder and a decoder a type when the type is first met, and keeps
// it, with the WaitGroup that its other readers meet on, for the whole process. A
// WaitGroup that was made in one synctest bubble kills who waits on it elsewhere,
// so a TestMain whose tests ask from bubbles calls Warm before them.
func Warm(ctx context.Context) error {
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
	for i := range 3 { // the second is answered with the default text, the third is refused
		if i == 2 {
			s.Fail(Faults{Fault: Failing})
		}
		_, err := m.Reply(ctx, llm.Request{
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
		if refusal, ok := errors.AsType[*provider.Error](err); i == 2 && ok && refusal.Status == http.StatusInternalServerError {
			return nil
		}
		if err != nil {
			return fmt.Errorf("warm openai-go: %w", err)
		}
	}
	return errors.New("warm openai-go: a refusal was no error")
}
