package wire

import (
	"encoding/json"
	"fmt"

	"assay/internal/model"
)

// decodeMessages decodes a request to the Messages API.
func (d *requestDecoder) decodeMessages() error {
	var in struct {
		Model        string                 `json:"model"`
		MaxTokens    int                    `json:"max_tokens"`
		Temperature  *float64               `json:"temperature"`
		Thinking     *model.ThinkingSetting `json:"thinking"`
		OutputConfig struct {
			Effort string          `json:"effort"`
			Format json.RawMessage `json:"format"`
		} `json:"output_config"`
		System     json.RawMessage   `json:"system"`
		Messages   []json.RawMessage `json:"messages"`
		Tools      []json.RawMessage `json:"tools"`
		ToolChoice json.RawMessage   `json:"tool_choice"`
	}
	if err := d.unmarshal(&in); err != nil {
		return err
	}
	d.out.Model = in.Model
	d.out.Params = model.Params{MaxTokens: in.MaxTokens, Temperature: in.Temperature, Thinking: in.Thinking, ReasoningEffort: in.OutputConfig.Effort}
	if d.isStrict && !isNull(in.OutputConfig.Format) {
		return untranslatable("output_config.format", nil)
	}
	var err error
	if d.out.System, err = model.ParseContent(in.System); err != nil {
		return memberError("system", err)
	}
	if err := d.checkBlocks("system", d.out.System); err != nil {
		return err
	}
	for i, tool := range in.Tools {
		if err := d.addMessagesTool(fmt.Sprintf("tools.%d", i), tool); err != nil {
			return err
		}
	}
	for i, message := range in.Messages {
		if err := d.addMessagesMessage(fmt.Sprintf("messages.%d", i), message); err != nil {
			return err
		}
	}
	return d.checkToolChoice(in.ToolChoice)
}

// messagesTool is the JSON of a tool in a request to the Messages API.
type messagesTool struct {
	Type         string          `json:"type"` // "" is custom; the API runs tools of other types
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl json.RawMessage `json:"cache_control"`
}

func (d *requestDecoder) addMessagesTool(place string, text json.RawMessage) error {
	var tool messagesTool
	if err := json.Unmarshal(text, &tool); err != nil {
		return memberError(place, err)
	}
	if d.isStrict && tool.Type != "" && tool.Type != "custom" {
		return untranslatable(place+".type", []byte(tool.Type))
	}
	d.addTool(tool.Name, tool.Description, tool.InputSchema)
	d.out.Tools[len(d.out.Tools)-1].Cache = !isNull(tool.CacheControl)
	return nil
}

func (d *requestDecoder) addMessagesMessage(place string, text json.RawMessage) error {
	var m model.Message
	if err := json.Unmarshal(text, &m); err != nil {
		return memberError(place, err)
	}
	if err := d.checkBlocks(place+".content", m.Content); err != nil {
		return err
	}
	switch m.Role {
	case model.RoleUser, model.RoleAssistant:
		d.addMessage(m.Role, m.Content)
	case "system":
		d.out.System = append(d.out.System, m.Content...)
	default:
		return untranslatable(place+".role", []byte(m.Role))
	}
	return nil
}

// checkBlocks returns an error for a content block that cannot be translated.
func (d *requestDecoder) checkBlocks(place string, content []model.Block) error {
	if !d.isStrict {
		return nil
	}
	for i, b := range content {
		at := fmt.Sprintf("%s.%d", place, i)
		switch b.Type {
		case model.BlockText, model.BlockToolUse, model.BlockThinking, model.BlockRedactedThinking:
		case model.BlockImage:
			if b.Source.Type != "base64" {
				return untranslatable(at+".source.type", []byte(b.Source.Type))
			}
		case model.BlockToolResult:
			if err := d.checkBlocks(at+".content", b.Content); err != nil {
				return err
			}
		default:
			return untranslatable(at+".type", []byte(b.Type))
		}
	}
	return nil
}
