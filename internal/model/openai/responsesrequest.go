package openai

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/internal/model/wire"
	"assay/internal/rawjson"
)

// minOutputTokens is the least max_output_tokens that the Responses API accepts.
const minOutputTokens = 16

// responsesRequestBody is the body of POST /v1/responses.
type responsesRequestBody struct {
	Model           string            `json:"model"`
	Instructions    string            `json:"instructions,omitempty"`
	Input           []any             `json:"input"` // of the types below
	Tools           []responsesTool   `json:"tools,omitempty"`
	MaxOutputTokens int               `json:"max_output_tokens"`
	Temperature     *float64          `json:"temperature,omitempty"`
	Reasoning       *reasoningSetting `json:"reasoning,omitempty"`
	Include         []string          `json:"include,omitempty"`
	Store           bool              `json:"store"`
	Stream          bool              `json:"stream"`
}

type reasoningSetting struct {
	Effort string `json:"effort"`
}

// responsesTool is a function. Strict is false, which is not the API's default: schemas of
// tools need not keep to its rules for strict ones.
type responsesTool struct {
	Type string `json:"type"` // function
	functionSpec
	Strict bool `json:"strict"`
}

// inputMessage is an item with a message. Content is a list of [inputPart] if it is of the
// user, and a string if it is of the assistant.
type inputMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type inputPart struct {
	Type     string `json:"type"` // input_text or input_image
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

// callItem is an item with a tool call.
type callItem struct {
	Type      string `json:"type"` // function_call
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// outputItem is an item with the result of a tool call. Output is a string, or a list of
// [inputPart] if the result has images.
type outputItem struct {
	Type   string `json:"type"` // function_call_output
	CallID string `json:"call_id"`
	Output any    `json:"output"`
}

// reasoningItem is an item with the model's reasoning. OpenAI requires the summary, which
// may be empty, and the id that the item had: the encrypted content is bound to it.
type reasoningItem struct {
	Type             string      `json:"type"` // reasoning
	ID               string      `json:"id"`
	Summary          []inputPart `json:"summary"`
	EncryptedContent string      `json:"encrypted_content"`
}

// encodeResponsesRequest returns the JSON body of a Responses request for the model with this
// id. The API stores nothing: the request has the whole conversation, with the model's
// reasoning as the API has encrypted it.
func encodeResponsesRequest(r model.Request, id string) ([]byte, error) {
	out := responsesRequestBody{
		Model: id, Instructions: joinTextBlocks(r.System), Input: encodeInput(r.Messages), Temperature: r.Temperature,
		MaxOutputTokens: max(minOutputTokens, cmp.Or(r.MaxTokens, model.DefaultMaxTokens)), Stream: true,
	}
	if r.ReasoningEffort != "" {
		out.Reasoning = &reasoningSetting{r.ReasoningEffort}
	}
	if isReasoningModel(id) {
		out.Include = []string{"reasoning.encrypted_content"}
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, responsesTool{Type: "function", functionSpec: functionSpec{t.Name, t.Description, t.InputSchema}})
	}
	return rawjson.Marshal(out)
}

// reasoningModelPattern matches the ids of OpenAI's models that reason: o1, o3 and later of
// this series, GPT-5 and later, and those for Codex.
var reasoningModelPattern = regexp.MustCompile(`^(o[1-9]|gpt-([5-9]|[1-9]\d)|codex)`)

// isReasoningModel reports whether the model with this id is one of OpenAI that reasons. The
// API refuses to encrypt the reasoning of any other.
func isReasoningModel(id string) bool {
	return reasoningModelPattern.MatchString(id) && !strings.Contains(id, "-chat")
}

// encodeInput converts the messages to items. Reasoning stands before the item that followed
// it; reasoning that no item of its message follows is left out, because the API refuses it.
func encodeInput(messages []model.Message) []any {
	input := []any{}
	for _, m := range messages {
		if m.Role != model.RoleAssistant {
			input = append(input, encodeUserItems(m.Content)...)
			continue
		}
		var reasoning []any
		for _, b := range m.Content {
			switch item := encodeAssistantItem(b); item.(type) {
			case nil:
			case reasoningItem:
				reasoning = append(reasoning, item)
			default:
				input = append(append(input, reasoning...), item)
				reasoning = nil
			}
		}
	}
	return input
}

// encodeAssistantItem returns the item for a block of the assistant, or nil if the API has
// none: for blank text, and for thinking that OpenAI has not encrypted.
func encodeAssistantItem(b model.Block) any {
	switch b.Type {
	case model.BlockText:
		if strings.TrimSpace(b.Text) != "" {
			return inputMessage{model.RoleAssistant, b.Text}
		}
	case model.BlockToolUse:
		return callItem{"function_call", b.ID, toFunctionName(b.Name), functionArguments(b)}
	case model.BlockThinking:
		if id, encrypted, ok := wire.ReasoningOfSignature(b.Signature); ok {
			return reasoningItem{"reasoning", id, []inputPart{}, encrypted}
		}
	}
	return nil
}

// encodeUserItems converts a message of the user: first each tool result, then one message
// with the rest.
func encodeUserItems(content []model.Block) []any {
	var items []any
	for _, b := range content {
		if b.Type == model.BlockToolResult {
			items = append(items, outputItem{"function_call_output", b.ToolUseID, encodeOutput(b)})
		}
	}
	if said := encodeInputParts(content); len(said) > 0 {
		items = append(items, inputMessage{model.RoleUser, said})
	}
	return items
}

// encodeOutput returns the output of a tool call: its text, or a list of parts if the result
// has images. [wire.FailedResultPrefix] begins the text of a failed one.
func encodeOutput(result model.Block) any {
	parts := encodeInputParts(result.Content)
	hasImages := slices.ContainsFunc(parts, func(p inputPart) bool { return p.ImageURL != "" })
	switch {
	case !hasImages:
		return toolResultText(result)
	case result.IsError && parts[0].Text != "":
		parts[0].Text = wire.FailedResultPrefix + parts[0].Text
	case result.IsError:
		parts = slices.Insert(parts, 0, inputPart{Type: "input_text", Text: wire.FailedResultPrefix})
	}
	return parts
}

// encodeInputParts converts text and images. It leaves out blank texts and other blocks.
func encodeInputParts(content []model.Block) []inputPart {
	var parts []inputPart
	for _, b := range content {
		switch {
		case b.Type == model.BlockText && strings.TrimSpace(b.Text) != "":
			parts = append(parts, inputPart{Type: "input_text", Text: b.Text})
		case b.Type == model.BlockImage:
			parts = append(parts, inputPart{Type: "input_image", ImageURL: imageDataURL(b.Source)})
		}
	}
	return parts
}
