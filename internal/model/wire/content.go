package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/internal/model"
)

// contentPart is a part of a message, or of the output of a function, in OpenAI's APIs.
type contentPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"` // a string in Responses, an object with the member url in a chat
}

// decodeContent decodes content that is null, a string or a list of parts. Empty texts are
// left out.
func (d *requestDecoder) decodeContent(place string, content json.RawMessage) ([]model.Block, error) {
	var text string
	if isNull(content) || json.Unmarshal(content, &text) == nil {
		return textBlock(text), nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, fmt.Errorf("%s: must be a string or a list of parts", place)
	}
	var out []model.Block
	for i, part := range parts {
		blocks, err := d.decodePart(fmt.Sprintf("%s.%d", place, i), part)
		if err != nil {
			return nil, err
		}
		out = append(out, blocks...)
	}
	return out, nil
}

// textBlock returns a block with this text, or none if it is empty.
func textBlock(text string) []model.Block {
	if text == "" {
		return nil
	}
	return []model.Block{model.Text(text)}
}

func (d *requestDecoder) decodePart(place string, text json.RawMessage) ([]model.Block, error) {
	var in contentPart
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("%s: must be a part of the content: %w", place, err)
	}
	switch in.Type {
	case "text", "input_text", "output_text", "refusal":
		return textBlock(in.Text + in.Refusal), nil
	case "image_url", "input_image":
		image, err := decodeImageURL(in.ImageURL)
		if err == nil {
			return []model.Block{image}, nil
		}
		if d.isStrict {
			return nil, fmt.Errorf("%s.image_url: %w", place, err)
		}
	}
	if d.isStrict {
		return nil, untranslatable(place+".type", []byte(in.Type))
	}
	var other model.Block
	if err := json.Unmarshal(text, &other); err != nil {
		return nil, memberError(place, err)
	}
	return []model.Block{other}, nil
}

// decodeImageURL returns the image in a data URL, which is a string or the member url of an
// object.
func decodeImageURL(text json.RawMessage) (model.Block, error) {
	var object struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(text, &object.URL) != nil {
		_ = json.Unmarshal(text, &object) // "" if it has none
	}
	data, isData := strings.CutPrefix(object.URL, "data:")
	mediaType, data, isBase64 := strings.Cut(data, ";base64,")
	if !isData || !isBase64 {
		return model.Block{}, errors.New("only an image in a data URL can be translated")
	}
	return model.Image(mediaType, data), nil
}

// newToolResult returns the result of the tool call with this id. A text that begins with
// [FailedResultPrefix] is that of a failed tool.
func newToolResult(callID string, content []model.Block) model.Block {
	if len(content) == 0 || content[0].Type != model.BlockText {
		return model.ToolResult(callID, false, content...)
	}
	text, isFailed := strings.CutPrefix(content[0].Text, FailedResultPrefix)
	return model.ToolResult(callID, isFailed, append(textBlock(text), content[1:]...)...)
}
