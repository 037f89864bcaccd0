package wire

import (
	"cmp"
	"encoding/json"
	"fmt"

	"assay/internal/model"
)

// chatMessage is the JSON of a message of a chat.
type chatMessage struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"`
	Refusal      string          `json:"refusal"`
	Audio        json.RawMessage `json:"audio"`
	FunctionCall json.RawMessage `json:"function_call"`
	ToolCalls    []chatToolCall  `json:"tool_calls"`
	ToolCallID   string          `json:"tool_call_id"`
}

// decodeChat decodes a request to the Chat Completions API.
func (d *requestDecoder) decodeChat() error {
	var in struct {
		Model               string        `json:"model"`
		Messages            []chatMessage `json:"messages"`
		MaxTokens           int           `json:"max_tokens"`
		MaxCompletionTokens int           `json:"max_completion_tokens"`
		Temperature         *float64      `json:"temperature"`
		ReasoningEffort     string        `json:"reasoning_effort"`
		Tools               []struct {
			Type     string   `json:"type"`
			Function toolSpec `json:"function"`
		} `json:"tools"`
		ToolChoice json.RawMessage `json:"tool_choice"`
	}
	if err := d.unmarshal(&in); err != nil {
		return err
	}
	d.out.Model = in.Model
	d.out.Params = model.Params{
		MaxTokens: cmp.Or(in.MaxCompletionTokens, in.MaxTokens), Temperature: in.Temperature, ReasoningEffort: in.ReasoningEffort,
	}
	for i, tool := range in.Tools {
		if tool.Type != "function" && d.isStrict {
			return untranslatable(fmt.Sprintf("tools.%d.type", i), []byte(tool.Type))
		}
		d.addTool(tool.Function.Name, tool.Function.Description, tool.Function.Parameters)
	}
	for i, m := range in.Messages {
		if err := d.addChatMessage(fmt.Sprintf("messages.%d", i), m); err != nil {
			return err
		}
	}
	return d.checkToolChoice(in.ToolChoice)
}

// toolSpec describes a tool in a request to OpenAI's APIs.
type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

func (d *requestDecoder) addChatMessage(place string, m chatMessage) error {
	content, err := d.decodeContent(place+".content", m.Content)
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		d.out.System = append(d.out.System, content...)
	case model.RoleUser:
		d.addToTurn(model.RoleUser, content)
	case "tool":
		d.addToTurn(model.RoleUser, []model.Block{newToolResult(m.ToolCallID, content)})
	case model.RoleAssistant:
		return d.addChatReply(place, m, content)
	default:
		return untranslatable(place+".role", []byte(m.Role))
	}
	return nil
}

// addChatReply adds a message of the assistant. Its reasoning is left out.
func (d *requestDecoder) addChatReply(place string, m chatMessage, content []model.Block) error {
	for name, value := range map[string]json.RawMessage{".audio": m.Audio, ".function_call": m.FunctionCall} {
		if d.isStrict && !isNull(value) {
			return untranslatable(place+name, nil)
		}
	}
	if m.Refusal != "" {
		content = append(content, model.Text(m.Refusal))
	}
	for i, call := range m.ToolCalls {
		if call.Type != "" && call.Type != "function" && d.isStrict {
			return untranslatable(fmt.Sprintf("%s.tool_calls.%d.type", place, i), []byte(call.Type))
		}
		content = append(content, model.ToolUse(call.ID, call.Function.Name, model.RepairToolInput(call.Function.Arguments)))
	}
	d.addMessage(model.RoleAssistant, content)
	return nil
}
