package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
)

// cellOutput is one decoded output of a cell in the notebook format nbformat 4.
type cellOutput struct {
	Type      string                     `json:"output_type"`
	Name      string                     `json:"name"` // of a stream
	Text      json.RawMessage            `json:"text"` // of a stream
	Data      map[string]json.RawMessage `json:"data"` // by MIME type
	EName     string                     `json:"ename"`
	EValue    string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// parseOutput decodes one output of a cell. If it cannot be decoded, parseOutput returns an
// output that shows the JSON itself.
func parseOutput(raw json.RawMessage) cellOutput {
	var o cellOutput
	if err := json.Unmarshal(raw, &o); err != nil {
		return cellOutput{Type: "output that cannot be read", Data: map[string]json.RawMessage{"application/json": raw}}
	}
	return o
}

// asText returns a cell's output as text for a model. For an image it returns a note and
// appends the image to images; if images is nil, the image is left out.
func (o cellOutput) asText(images *[]model.Block) string {
	switch o.Type {
	case "stream":
		return decodeTextValue(o.Text)
	case "error":
		if len(o.Traceback) > 0 {
			return strings.Join(o.Traceback, "\n")
		}
		return o.EName + ": " + o.EValue
	}
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		if value, ok := o.Data[mime]; ok {
			return addImage(mime, value, images)
		}
	}
	return o.mostReadableText()
}

// mostReadableText returns the first text representation that a cell's output has of plain
// text, Markdown, LaTeX, JSON and HTML; otherwise a list of its MIME types, "" if it has
// none.
func (o cellOutput) mostReadableText() string {
	for _, mime := range []string{"text/plain", "text/markdown", "text/latex", "application/json", "text/html"} {
		if value, ok := o.Data[mime]; ok {
			return decodeTextValue(value)
		}
	}
	var mimeTypes []string
	for mime := range o.Data {
		mimeTypes = append(mimeTypes, mime)
	}
	slices.Sort(mimeTypes)
	if len(mimeTypes) == 0 {
		return ""
	}
	return fmt.Sprintf("[%s, not shown]", strings.Join(mimeTypes, ", "))
}

// addImage appends an image of a cell's output to images, and returns a note that it is
// shown below or why it is not. If the image was too large for the kernel to send, value is
// its size instead of its content.
func addImage(mime string, value json.RawMessage, images *[]model.Block) string {
	var tooLarge struct {
		Bytes int64 `json:"bytes"`
	}
	if json.Unmarshal(value, &tooLarge) == nil {
		return fmt.Sprintf("[%s, %d bytes, too large to be shown]", mime, tooLarge.Bytes)
	}
	data := strings.Join(strings.Fields(decodeTextValue(value)), "")
	if data == "" {
		return fmt.Sprintf("[%s, empty]", mime)
	}
	if images == nil {
		return fmt.Sprintf("[%s]", mime)
	}
	image, err := newImageBlock(data)
	if err != nil {
		return fmt.Sprintf("[%s, %v]", mime, err)
	}
	*images = append(*images, image)
	return fmt.Sprintf("[%s, shown below]", mime)
}

// decodeTextValue returns a text value of the notebook format, which is a string or a list of
// lines, as one text. Any other value is returned as JSON.
func decodeTextValue(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var lines []string
	if json.Unmarshal(value, &lines) == nil {
		return strings.Join(lines, "")
	}
	return string(value)
}
