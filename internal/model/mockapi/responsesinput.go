package mockapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
)

// inputItem is an item of the input of a request to the Responses API.
type inputItem struct {
	Type             string          `json:"type"` // "" is a message
	ID               *string         `json:"id"`
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	CallID           string          `json:"call_id"`
	Name             string          `json:"name"`
	Arguments        *string         `json:"arguments"`
	Output           json.RawMessage `json:"output"`
	Summary          *[]inputPart    `json:"summary"`
	EncryptedContent string          `json:"encrypted_content"`
}

// inputPart is a part of the content of a message, of an output or of a summary.
type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"` // only for its type
	ImageURL string `json:"image_url"`
	FileID   string `json:"file_id"`
}

// inputChecker checks the items of an input, one at a time. Its errors begin with a dot or
// a colon, so that the caller can put the item's place before it.
type inputChecker struct {
	isStored  bool     // the request has store
	openCalls []string // ids of the calls that have no output yet
	reasoning string   // id of the reasoning item that is the last item, or ""
}

// foreignItemTypes returns the types of items that only tools of the API produce, or need.
// The server accepts them unseen.
func foreignItemTypes() []string {
	return []string{
		"apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction", "computer_call", "computer_call_output",
		"custom_tool_call", "custom_tool_call_output", "file_search_call", "image_generation_call", "local_shell_call",
		"local_shell_call_output", "mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools", "shell_call",
		"shell_call_output", "tool_search_call", "tool_search_output", "web_search_call",
	}
}

func (c *inputChecker) checkItem(item inputItem) error {
	isReply := item.Type == "function_call" || strings.HasSuffix(item.Type, "_call") || item.Role == model.RoleAssistant
	if c.reasoning != "" && item.Type != "reasoning" && !isReply {
		return fmt.Errorf(": the reasoning %s comes without the item that followed it", c.reasoning)
	}
	c.reasoning = ""
	switch item.Type {
	case "", "message":
		return c.checkMessage(item)
	case "function_call":
		return c.checkCall(item)
	case "function_call_output":
		return c.checkOutput(item)
	case "reasoning":
		return c.checkReasoning(item)
	case "item_reference":
		return errors.New(".id: nothing is stored, so no item can be referred to")
	}
	if !slices.Contains(foreignItemTypes(), item.Type) {
		return fmt.Errorf(".type: %q is not known", item.Type)
	}
	return nil
}

// checkEnd returns an error if the input must not end here.
func (c *inputChecker) checkEnd() error {
	switch {
	case len(c.openCalls) > 0:
		return fmt.Errorf("input: no output for the function calls %s", strings.Join(c.openCalls, ", "))
	case c.reasoning != "":
		return fmt.Errorf("input: the reasoning %s comes without the item that followed it", c.reasoning)
	default:
		return nil
	}
}

// checkItemID returns an error if the item has an id of the wrong kind.
func (item *inputItem) checkItemID(prefix string) error {
	if item.ID != nil && !strings.HasPrefix(*item.ID, prefix) {
		return fmt.Errorf(".id: must begin with %s", prefix)
	}
	return nil
}

func (c *inputChecker) checkMessage(item inputItem) error {
	if isNull(item.Content) {
		return errors.New(".content: required")
	}
	switch item.Role {
	case model.RoleUser, "system", "developer":
		return checkInputContent(".content", item.Content, "input_text", "input_image", "input_file")
	case model.RoleAssistant:
		if err := item.checkItemID("msg_"); err != nil {
			return err
		}
		return checkInputContent(".content", item.Content, "output_text", "refusal")
	default:
		return fmt.Errorf(".role: %q is not one of user, assistant, system, developer", item.Role)
	}
}

// checkCall checks a function call and notes its id as unanswered.
func (c *inputChecker) checkCall(item inputItem) error {
	switch {
	case item.CallID == "":
		return errors.New(".call_id: required")
	case slices.Contains(c.openCalls, item.CallID):
		return fmt.Errorf(".call_id: %q is another call's", item.CallID)
	case !isValidFunctionName(item.Name):
		return fmt.Errorf(".name: %q is not a valid name", item.Name)
	case item.Arguments == nil:
		return errors.New(".arguments: required")
	}
	c.openCalls = append(c.openCalls, item.CallID)
	return item.checkItemID("fc_")
}

func (c *inputChecker) checkOutput(item inputItem) error {
	at := slices.Index(c.openCalls, item.CallID)
	if at < 0 {
		return fmt.Errorf(".call_id: %q is not the id of a function call that has no output yet", item.CallID)
	}
	if isNull(item.Output) {
		return errors.New(".output: required")
	}
	c.openCalls = slices.Delete(c.openCalls, at, at+1)
	return checkInputContent(".output", item.Output, "input_text", "input_image", "input_file")
}

func (c *inputChecker) checkReasoning(item inputItem) error {
	switch {
	case item.ID == nil && item.EncryptedContent == "":
		return errors.New(".id: required")
	case item.Summary == nil:
		return errors.New(".summary: required")
	case !c.isStored && item.EncryptedContent == "":
		return errors.New(".encrypted_content: required if store is false")
	}
	c.reasoning = "without an id"
	if item.ID != nil {
		c.reasoning = *item.ID
	}
	for i, part := range *item.Summary {
		if part.Type != "summary_text" {
			return fmt.Errorf(".summary[%d].type: %q is not summary_text", i, part.Type)
		}
	}
	return item.checkItemID("rs_")
}

// checkInputContent returns an error unless content is a string or a list of parts of these
// types that is not empty.
func checkInputContent(place string, content json.RawMessage, types ...string) error {
	parts, err := parseContentParts[inputPart](content)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	for i, part := range parts {
		switch {
		case !slices.Contains(types, part.Type):
			return fmt.Errorf("%s[%d].type: %q is not one of %s", place, i, part.Type, strings.Join(types, " and "))
		case part.Type != "input_image":
		case part.ImageURL == "" && part.FileID == "":
			return fmt.Errorf("%s[%d].image_url: required", place, i)
		default:
			if err := checkImageURL(part.ImageURL); err != nil {
				return fmt.Errorf("%s[%d].image_url: %w", place, i, err)
			}
		}
	}
	return nil
}
