package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// incoming is the body of a request as the mock server reads it.
type incoming struct {
	Model         string          `json:"model"`
	MaxTokens     *int            `json:"max_tokens"`
	Stream        bool            `json:"stream"`
	Messages      []Message       `json:"messages"`
	System        json.RawMessage `json:"system"`
	Tools         []offeredTool   `json:"tools"`
	ToolChoice    *toolChoice     `json:"tool_choice"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	TopK          *int            `json:"top_k"`
	StopSequences []string        `json:"stop_sequences"`
	Thinking      *askedThinking  `json:"thinking"`
}

// readIncoming reads a body and refuses what the real API would refuse. The
// error begins with the place, such as "messages.0.content.1".
func readIncoming(body []byte) (*incoming, error) {
	if err := checkText(body); err != nil {
		return nil, err
	}
	var in incoming
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the body cannot be read: %w", err)
	}
	if err := checkShape(body); err != nil {
		return nil, err
	}
	for _, check := range []func() error{
		in.checkSettings, in.checkThinking, in.checkTools, in.checkToolChoice,
		in.checkSystem, in.checkMessages, in.checkEnd, in.checkImages,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return &in, nil
}

// checkText looks for what is no JSON though Go takes it.
func checkText(body []byte) error {
	if !utf8.Valid(body) {
		return errors.New("the body cannot be read: it is no valid UTF-8")
	}
	if at := loneSurrogate(body, 0); at >= 0 {
		return fmt.Errorf("the body cannot be read: half of a surrogate pair at byte %d", at)
	}
	return nil
}

// checkSystem looks at the system prompt, which is a text or blocks of text.
func (in *incoming) checkSystem() error {
	var text string
	if len(in.System) == 0 || json.Unmarshal(in.System, &text) == nil {
		return nil
	}
	content, err := blocks(in.System)
	if err != nil {
		return fmt.Errorf("system: %w", err)
	}
	for i, b := range content {
		if b.Type != BlockText {
			return fmt.Errorf("system.%d.type: must be text, not %s", i, b.Type)
		}
		if err := checkBlock(RoleUser, b, nil); err != nil {
			return fmt.Errorf("system.%d: %w", i, err)
		}
	}
	return nil
}

func (in *incoming) checkMessages() error {
	if len(in.Messages) == 0 {
		return errors.New("messages: at least one is required")
	}
	if in.Messages[0].Role != RoleUser {
		return errors.New("messages.0.role: the first message must be of the user")
	}
	ids := map[string]bool{}
	for i, m := range in.Messages {
		if m.Role != RoleUser && m.Role != RoleAssistant {
			return fmt.Errorf("messages.%d.role: must be user or assistant", i)
		}
		if len(m.Content) == 0 && (i < len(in.Messages)-1 || m.Role == RoleUser) {
			return fmt.Errorf("messages.%d: the content must not be empty", i)
		}
		for j, b := range m.Content {
			if err := checkBlock(m.Role, b, ids); err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, j, err)
			}
		}
	}
	return checkPairs(in.Messages)
}

// checkEnd looks at what the model is to go on with.
func (in *incoming) checkEnd() error {
	last := in.Messages[len(in.Messages)-1]
	if last.Role == RoleAssistant {
		return checkPrefill(len(in.Messages)-1, last.Content)
	}
	if in.Thinking != nil && in.Thinking.Type == "enabled" {
		return checkThoughtOut(in.Messages)
	}
	return nil
}

// checkPrefill looks at the beginning of a reply that the model is to end.
func checkPrefill(i int, content []Block) error {
	if len(content) == 0 {
		return nil
	}
	end := content[len(content)-1]
	if end.Type == BlockText && endsInSpace(end.Text) {
		return fmt.Errorf("messages.%d: the last message, of the assistant, must not end with white space", i)
	}
	return nil
}

// checkThoughtOut looks whether a model that thinks, and is given the results of
// its calls, finds its thoughts before them.
func checkThoughtOut(messages []Message) error {
	turns := merged(messages)
	last := len(turns) - 1
	if last < 1 || len(resultIDs(turns[last].Content, false)) == 0 {
		return nil
	}
	switch first := turns[last-1].Content[0]; first.Type {
	case BlockThinking, BlockRedactedThinking:
		return nil
	default:
		return fmt.Errorf("messages.%d.content.0.type: must be thinking or redacted_thinking, not %s, as thinking is enabled", starts(messages)[last-1], first.Type)
	}
}
