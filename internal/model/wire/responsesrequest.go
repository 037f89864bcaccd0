package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay/internal/model"
)

// inputItem is the JSON of an item of a request's input.
type inputItem struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// decodeResponses decodes a request to the Responses API.
func (d *requestDecoder) decodeResponses() error {
	var in struct {
		Model           string          `json:"model"`
		Instructions    json.RawMessage `json:"instructions"`
		Input           json.RawMessage `json:"input"`
		MaxOutputTokens int             `json:"max_output_tokens"`
		Temperature     *float64        `json:"temperature"`
		Reasoning       struct {
			Effort string `json:"effort"`
		} `json:"reasoning"`
		Text struct {
			Format struct {
				Type string `json:"type"`
			} `json:"format"`
		} `json:"text"`
		Include    []string        `json:"include"`
		Tools      []responsesTool `json:"tools"`
		ToolChoice json.RawMessage `json:"tool_choice"`
	}
	if err := d.unmarshal(&in); err != nil {
		return err
	}
	d.out.Model = in.Model
	d.out.Params = model.Params{MaxTokens: in.MaxOutputTokens, Temperature: in.Temperature, ReasoningEffort: in.Reasoning.Effort}
	if format := in.Text.Format.Type; d.isStrict && format != "" && format != "text" {
		return untranslatable("text.format.type", []byte(format))
	}
	for i, what := range in.Include {
		if d.isStrict && what == "message.output_text.logprobs" {
			return untranslatable(fmt.Sprintf("include.%d", i), []byte(what))
		}
	}
	var err error
	if d.out.System, err = d.decodeContent("instructions", in.Instructions); err != nil {
		return err
	}
	if err := d.addResponsesTools("tools", "", in.Tools); err != nil {
		return err
	}
	if err := d.decodeInput(in.Input); err != nil {
		return err
	}
	return d.checkToolChoice(in.ToolChoice)
}

// responsesTool is the JSON of a tool, or of a namespace of tools.
type responsesTool struct {
	Type string `json:"type"`
	toolSpec
	Tools []responsesTool `json:"tools"` // namespace
}

// toolTypeNamespace is the type of a group of tools in a request to the Responses API.
const toolTypeNamespace = "namespace"

// addResponsesTools adds tools with this namespace, "" for none. The description of a namespace
// becomes a part of the system prompt.
func (d *requestDecoder) addResponsesTools(place, namespace string, tools []responsesTool) error {
	for i, tool := range tools {
		at := fmt.Sprintf("%s.%d", place, i)
		switch {
		case tool.Type == toolTypeNamespace && namespace == "":
			if tool.Description != "" {
				d.out.System = append(d.out.System, model.Text(fmt.Sprintf("# Tools whose names begin with %s\n\n%s", joinToolName(tool.Name, ""), tool.Description)))
			}
			if err := d.addResponsesTools(at+".tools", tool.Name, tool.Tools); err != nil {
				return err
			}
		case tool.Type != "function" && d.isStrict:
			return untranslatable(at+".type", []byte(tool.Type))
		default:
			d.addTool(joinToolName(namespace, tool.Name), tool.Description, tool.Parameters)
		}
	}
	return nil
}

// decodeInput decodes the input: a string, which is a message of the user, or a list of
// items. Consecutive items of one side become one message.
func (d *requestDecoder) decodeInput(input json.RawMessage) error {
	var text string
	if isNull(input) || json.Unmarshal(input, &text) == nil {
		d.addMessage(model.RoleUser, textBlock(text))
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(input, &items); err != nil {
		return fmt.Errorf("input: must be a string or a list of items")
	}
	for i, item := range items {
		if err := d.addInputItem(fmt.Sprintf("input.%d", i), item); err != nil {
			return err
		}
	}
	return nil
}

func (d *requestDecoder) addInputItem(place string, text json.RawMessage) error {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return memberError(place, err)
	}
	var in inputItem
	switch kind.Type {
	case "", "message", "function_call", "function_call_output":
		if err := json.Unmarshal(text, &in); err != nil {
			return memberError(place, err)
		}
	case "reasoning":
		d.addReasoning(text)
		return nil
	default:
		return d.addOtherItem(place, kind.Type, text)
	}
	switch kind.Type {
	case "function_call":
		d.addToTurn(model.RoleAssistant, []model.Block{model.ToolUse(in.CallID, joinToolName(in.Namespace, in.Name), model.RepairToolInput(in.Arguments))})
		return nil
	case "function_call_output":
		content, err := d.decodeContent(place+".output", in.Output)
		d.addToTurn(model.RoleUser, []model.Block{newToolResult(in.CallID, content)})
		return err
	default:
		return d.addInputMessage(place, in)
	}
}

// addOtherItem adds an item of a type that cannot be translated, or returns an error.
func (d *requestDecoder) addOtherItem(place, itemType string, text json.RawMessage) error {
	if d.isStrict {
		return untranslatable(place+".type", []byte(itemType))
	}
	var other model.Block
	if err := json.Unmarshal(text, &other); err != nil {
		return memberError(place, err)
	}
	role := model.RoleAssistant
	if strings.HasSuffix(itemType, "_output") {
		role = model.RoleUser
	}
	d.addToTurn(role, []model.Block{other})
	return nil
}

func (d *requestDecoder) addInputMessage(place string, in inputItem) error {
	content, err := d.decodeContent(place+".content", in.Content)
	if err != nil {
		return err
	}
	switch in.Role {
	case model.RoleUser, model.RoleAssistant:
		d.addToTurn(in.Role, content)
	case "system", "developer":
		d.out.System = append(d.out.System, content...)
	default:
		return untranslatable(place+".role", []byte(in.Role))
	}
	return nil
}

// addReasoning adds the thinking of a reasoning item, if it has the signature of a Messages
// model. Reasoning of other models means nothing to a model that is not theirs.
func (d *requestDecoder) addReasoning(text json.RawMessage) {
	var in outputItemJSON
	if decodeLeniently(text, &in) != nil {
		return // cannot happen: it was decoded before
	}
	b := in.thinking(in.reasoningText(), false)
	_, _, isOpenAI := ReasoningOfSignature(b.Signature)
	if b.Type == model.BlockRedactedThinking || b.Signature != "" && !isOpenAI {
		d.addToTurn(model.RoleAssistant, []model.Block{b})
	}
}
