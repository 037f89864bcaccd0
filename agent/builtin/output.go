package builtin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/internal/protocol"
)

// output is an output of nbformat 4.
type output struct {
	Type      string                     `json:"output_type"`
	Name      string                     `json:"name"` // of a stream
	Text      json.RawMessage            `json:"text"` // of a stream
	Data      map[string]json.RawMessage `json:"data"`
	EName     string                     `json:"ename"`
	EValue    string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// showRun tells the model what came of a run: the state first, the traceback
// last, so that both stay when the middle is cut; then the images. It does not
// tell how long the run took: no two would be alike, and a replay must be.
func showRun(run cellRun) []model.Block {
	if run.result == nil {
		return says("cell_id: %s\nstatus: running\n\nThe cell still runs after %s seconds. "+
			"It goes on in the kernel: look at it with get_context, or end it with stop_cell.", run.cellID, inSeconds(run.waited))
	}
	end := run.result
	var page page
	page.line("cell_id: " + run.cellID)
	page.line("status: " + end.Status)
	page.section("printed", end.Logs)
	page.outputs(end)
	page.section("exception", end.Exception)
	return page.blocks()
}

// page collects text and images.
type page struct {
	text   strings.Builder
	images []model.Block
}

func (p *page) line(text string) { p.text.WriteString(text + "\n") }

func (p *page) section(name, text string) {
	if strings.TrimSpace(text) != "" {
		p.line("\n--- " + name)
		p.line(strings.TrimRight(text, "\n"))
	}
}

func (p *page) blocks() []model.Block {
	return append([]model.Block{model.Text(p.text.String())}, p.images...)
}

// outputs shows what a run displayed. Streams are its logs already, and an
// error is its exception.
func (p *page) outputs(end *protocol.KernelMessageResult) {
	for _, raw := range end.CellOutputs {
		o := readOutput(raw)
		if o.Type == "stream" && end.Logs != "" || o.Type == "error" && end.Exception != "" {
			continue
		}
		p.section(o.Type, o.show(&p.images))
	}
}

// readOutput reads an output. What is none is shown as it is.
func readOutput(raw json.RawMessage) output {
	var o output
	if err := json.Unmarshal(raw, &o); err != nil {
		return output{Type: "output that cannot be read", Data: map[string]json.RawMessage{"application/json": raw}}
	}
	return o
}

// show writes an output as text and adds its image, if there is one, to images;
// nil leaves images out.
func (o output) show(images *[]model.Block) string {
	switch o.Type {
	case "stream":
		return plain(o.Text)
	case "error":
		if len(o.Traceback) > 0 {
			return strings.Join(o.Traceback, "\n")
		}
		return o.EName + ": " + o.EValue
	}
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		if value, ok := o.Data[mime]; ok {
			return showImage(mime, value, images)
		}
	}
	return o.showText()
}

// showText writes the most readable of the representations.
func (o output) showText() string {
	for _, mime := range []string{"text/plain", "text/markdown", "text/latex", "application/json", "text/html"} {
		if value, ok := o.Data[mime]; ok {
			return plain(value)
		}
	}
	var kinds []string
	for mime := range o.Data {
		kinds = append(kinds, mime)
	}
	slices.Sort(kinds)
	if len(kinds) == 0 {
		return ""
	}
	return fmt.Sprintf("[%s, not shown]", strings.Join(kinds, ", "))
}

// showImage adds an image and says in the text that it is there, or why it is
// not. The kernel gives the size of one that is too large instead of its content.
func showImage(mime string, value json.RawMessage, images *[]model.Block) string {
	var sized struct {
		Bytes int64 `json:"bytes"`
	}
	if json.Unmarshal(value, &sized) == nil {
		return fmt.Sprintf("[%s, %d bytes, too large to be shown]", mime, sized.Bytes)
	}
	data := strings.Join(strings.Fields(plain(value)), "")
	if data == "" {
		return fmt.Sprintf("[%s, empty]", mime)
	}
	if images == nil {
		return fmt.Sprintf("[%s]", mime)
	}
	shown, err := readImage(data)
	if err != nil {
		return fmt.Sprintf("[%s, %v]", mime, err)
	}
	*images = append(*images, shown)
	return fmt.Sprintf("[%s, shown below]", mime)
}

// plain is a value of nbformat as text: a string, lines, or JSON.
func plain(value json.RawMessage) string {
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
