package mockapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
)

// checkSystem checks that the system prompt is absent, a string or a list of text
// blocks, and returns an error otherwise.
func (in *messageRequest) checkSystem() error {
	var text string
	if len(in.System) == 0 || json.Unmarshal(in.System, &text) == nil {
		return nil
	}
	content, err := model.ParseContent(in.System)
	if err != nil {
		return fmt.Errorf("system: %w", err)
	}
	for i, b := range content {
		if b.Type != model.BlockText {
			return fmt.Errorf("system.%d.type: must be text, not %s", i, b.Type)
		}
		if err := checkContentBlock(model.RoleUser, b, nil); err != nil {
			return fmt.Errorf("system.%d: %w", i, err)
		}
	}
	return nil
}

// roleSystem is the role of a message with further instructions.
const roleSystem = "system"

// checkMessages checks the roles and blocks of all messages, and that tool calls and
// results match. It returns the first error, with its place. It removes the messages of the
// system, which newer models accept between those of the conversation; places in later errors do
// not count them.
func (in *messageRequest) checkMessages() error {
	if len(in.Messages) == 0 {
		return errors.New("messages: at least one is required")
	}
	if in.Messages[0].Role != model.RoleUser {
		return errors.New("messages.0.role: the first message must be of the user")
	}
	ids := map[string]bool{}
	for i, m := range in.Messages {
		if !slices.Contains([]string{model.RoleUser, model.RoleAssistant, roleSystem}, m.Role) {
			return fmt.Errorf("messages.%d.role: must be user, assistant or system", i)
		}
		if len(m.Content) == 0 && (i < len(in.Messages)-1 || m.Role != model.RoleAssistant) {
			return fmt.Errorf("messages.%d: the content must not be empty", i)
		}
		for j, b := range m.Content {
			err := checkContentBlock(m.Role, b, ids)
			if m.Role == roleSystem && b.Type != model.BlockText {
				err = fmt.Errorf("a message of the system holds no %s", b.Type)
			}
			if err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, j, err)
			}
		}
	}
	in.Messages = slices.DeleteFunc(in.Messages, func(m model.Message) bool { return m.Role == roleSystem })
	return checkToolPairs(in.Messages)
}

// checkContentBlock checks one content block of a message with this role, as the Messages API
// does. ids holds the ids of the tool calls before it; the id of a tool call is added.
func checkContentBlock(role string, b model.Block, ids map[string]bool) error {
	switch b.Type {
	case model.BlockText:
		if strings.TrimSpace(b.Text) == "" {
			return errors.New("text must not be empty")
		}
	case model.BlockToolUse:
		return checkToolUse(role, b, ids)
	case model.BlockToolResult:
		return checkToolResult(role, b)
	case model.BlockImage:
		return checkImage(b.Source)
	case model.BlockThinking:
		if b.Signature == "" {
			return errors.New("thinking.signature: required")
		}
	}
	return nil
}

func checkToolUse(role string, b model.Block, ids map[string]bool) error {
	if role != model.RoleAssistant {
		return errors.New("a tool_use belongs to the assistant")
	}
	if !isValidName(b.ID, "", len(b.ID)) {
		return fmt.Errorf("tool_use.id: %q is not a valid id", b.ID)
	}
	if !isValidName(b.Name, "", maxToolNameBytes) {
		return fmt.Errorf("tool_use.name: %q is not a valid name", b.Name)
	}
	if ids[b.ID] {
		return fmt.Errorf("tool_use.id: %s occurs more than once", b.ID)
	}
	ids[b.ID] = true
	var object map[string]json.RawMessage
	if json.Unmarshal(b.Input, &object) != nil || object == nil {
		return errors.New("tool_use.input: must be an object")
	}
	return nil
}

func checkToolResult(role string, b model.Block) error {
	if role != model.RoleUser {
		return errors.New("a tool_result belongs to the user")
	}
	allowed := []string{model.BlockText, model.BlockImage, "document", "search_result", "tool_reference"}
	for i, part := range b.Content {
		if !slices.Contains(allowed, part.Type) {
			return fmt.Errorf("tool_result.content.%d.type: a result holds no %s", i, part.Type)
		}
		if b.IsError && part.Type != model.BlockText {
			return fmt.Errorf("tool_result.content.%d.type: must be text, not %s, as is_error is set", i, part.Type)
		}
		if err := checkContentBlock(role, part, nil); err != nil {
			return fmt.Errorf("tool_result.content.%d: %w", i, err)
		}
	}
	return nil
}

// checkImage checks type, media type and size of one image. Images given by URL or by
// file id are accepted unseen.
func checkImage(s model.ImageSource) error {
	supported := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	switch {
	case s.Type == "url" || s.Type == "file":
		return nil
	case s.Type != "base64":
		return fmt.Errorf("image.source.type: %q is not base64, url or file", s.Type)
	case !slices.Contains(supported, s.MediaType):
		return fmt.Errorf("image.source.media_type: %q is not supported", s.MediaType)
	case s.Data == "":
		return errors.New("image.source.data: must not be empty")
	case len(s.Data) > model.MaxImageDataBytes:
		return fmt.Errorf("image.source.data: more than %d bytes", model.MaxImageDataBytes)
	}
	data, err := base64.StdEncoding.DecodeString(s.Data)
	if err != nil {
		return fmt.Errorf("image.source.data: no valid base64: %w", err)
	}
	mediaType, size := model.ParseImageHeader(bytes.NewReader(data))
	switch {
	case mediaType == "":
		return errors.New("image.source.data: the image cannot be read")
	case mediaType != s.MediaType:
		return fmt.Errorf("image.source.media_type: the image is %s, not %s", mediaType, s.MediaType)
	case max(size.X, size.Y) > model.MaxImageSidePixels:
		return fmt.Errorf("image.source.data: a side has more than %d pixels", model.MaxImageSidePixels)
	}
	if err := model.CheckImage(data); err != nil {
		return fmt.Errorf("image.source.data: the image cannot be processed: %w", err)
	}
	return nil
}

// checkImageLimits returns an error if a request has too many images, or a large image
// beside many others.
func (in *messageRequest) checkImageLimits() error {
	count, large := 0, "" // large is the place of the first one above MaxManyImagesSidePixels
	scan := func(place string, content []model.Block) {
		for i, b := range content {
			if b.Type != model.BlockImage {
				continue
			}
			count++
			_, size := model.ParseImageHeader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(b.Source.Data)))
			if max(size.X, size.Y) > model.MaxManyImagesSidePixels && large == "" {
				large = fmt.Sprintf("%s.%d", place, i)
			}
		}
	}
	for i, m := range in.Messages {
		place := fmt.Sprintf("messages.%d.content", i)
		scan(place, m.Content)
		for j, b := range m.Content {
			scan(fmt.Sprintf("%s.%d.tool_result.content", place, j), b.Content)
		}
	}
	if count > model.MaxImagesPerRequest {
		return fmt.Errorf("messages: more than %d images", model.MaxImagesPerRequest)
	}
	if count > model.MaxFullSizeImages && large != "" {
		return fmt.Errorf("%s: a side has more than %d pixels, in a request with more than %d images", large, model.MaxManyImagesSidePixels, model.MaxFullSizeImages)
	}
	return nil
}
