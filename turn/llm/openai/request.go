package openai

import (
	"encoding/json"

	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"headstart/turn/llm"
)

func (m *Model) params(req llm.Request) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{
		Model:         m.cfg.Model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	if m.cfg.Temperature != nil {
		p.Temperature = param.NewOpt(*m.cfg.Temperature)
	}
	if req.Temperature != nil {
		p.Temperature = param.NewOpt(*req.Temperature)
	}
	if req.Schema != nil {
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: "answer", Schema: req.Schema, Strict: param.NewOpt(true),
		}}
	}
	for _, message := range req.Messages {
		p.Messages = append(p.Messages, messageParam(message))
	}
	for _, tool := range req.Tools {
		p.Tools = append(p.Tools, toolParam(tool))
	}
	return p
}

func messageParam(m llm.Message) openai.ChatCompletionMessageParamUnion {
	switch m.Role {
	case llm.System:
		return openai.SystemMessage(m.Content)
	case llm.Assistant:
		return assistantParam(m)
	case llm.ToolRole:
		return openai.ToolMessage(m.Content, m.ToolCallID)
	default:
		return openai.UserMessage(m.Content)
	}
}

// assistantParam leaves the content of a pure tool call out: an empty string
// there is refused by some servers.
func assistantParam(m llm.Message) openai.ChatCompletionMessageParamUnion {
	var a openai.ChatCompletionAssistantMessageParam
	if m.Content != "" || len(m.ToolCalls) == 0 {
		a.Content.OfString = param.NewOpt(m.Content)
	}
	for _, call := range m.ToolCalls {
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: call.Name, Arguments: argumentsOrEmpty(string(call.Arguments)),
				},
			},
		})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &a}
}

func toolParam(t llm.Tool) openai.ChatCompletionToolUnionParam {
	f := shared.FunctionDefinitionParam{Name: t.Name}
	if t.Description != "" {
		f.Description = param.NewOpt(t.Description)
	}
	if len(t.Parameters) > 0 {
		f.SetExtraFields(map[string]any{"parameters": json.RawMessage(t.Parameters)})
	}
	return openai.ChatCompletionFunctionTool(f)
}

func argumentsOrEmpty(arguments string) string {
	if arguments == "" {
		return "{}"
	}
	return arguments
}
