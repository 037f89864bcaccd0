// Package render writes what a kernel printed and displayed as the text and images that
// a model gets to see.
package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// CellResultBlocks returns the content for a model about a finished run of a cell: the
// status first and the traceback last, so that both survive when the middle is clipped, then
// the images. The duration is left out, because it differs from run to run, and a replayed
// request must not differ.
func CellResultBlocks(cellID string, result *protocol.KernelMessageResult) []model.Block {
	var p contentBuilder
	p.addLine("cell_id: " + cellID)
	p.addLine("status: " + result.Status)
	p.addSection("printed", result.Logs)
	for _, raw := range result.CellOutputs {
		o := parseOutput(raw)
		// The logs have the streams already, and the exception is the error.
		if o.Type == "stream" && result.Logs != "" || o.Type == "error" && result.Exception != "" {
			continue
		}
		p.addSection(o.Type, o.asText(&p.images))
	}
	p.addSection("exception", result.Exception)
	return p.blocks()
}

// StillRunningBlocks returns the content for a model about a cell that still runs after
// waited.
func StillRunningBlocks(cellID string, waited time.Duration) []model.Block {
	return []model.Block{model.Text(fmt.Sprintf("cell_id: %s\nstatus: running\n\nThe cell still runs after %s seconds. "+
		"It goes on in the kernel: look at it with get_context, or end it with stop_cell.", cellID, FormatSeconds(waited)))}
}

// ExecuteCodeBlocks returns the content for a model about code that was run without a cell:
// status, stdout, stderr, and the value or the exception.
func ExecuteCodeBlocks(response protocol.ExecuteCodeResponse) []model.Block {
	var p contentBuilder
	status := response.Status
	if status == protocol.StatusSuccess {
		status = protocol.StatusOK // the word that cells have for it
	}
	p.addLine("status: " + status)
	p.addSection("printed", response.Stdout)
	p.addSection("stderr", response.Stderr)
	if response.Result != nil {
		p.addSection("result", *response.Result)
	}
	p.addSection("exception", cmp.Or(response.Exception, response.Error))
	return p.blocks()
}

// Cell is a notebook cell with its outputs and widgets, as the response to get_context has
// it.
type Cell struct {
	Index    int               `json:"index"`
	CellID   string            `json:"cell_id"`
	CellType string            `json:"cell_type"`
	Source   string            `json:"source"`
	Status   string            `json:"status"`
	Name     string            `json:"display_name"`
	Outputs  []json.RawMessage `json:"outputs"`
	Widgets  []struct {
		Key   string          `json:"key"`
		Type  string          `json:"type"`
		Label string          `json:"label"`
		Value json.RawMessage `json:"value"`
	} `json:"widgets"`
}

// Text returns a notebook cell as text for a model: its index, id, type and status, its
// source, its outputs without images, and its widgets.
func (c Cell) Text() string {
	var p contentBuilder
	p.addLine(fmt.Sprintf("\n[%d] cell_id: %s, %s, %s %s", c.Index, c.CellID, c.CellType, c.Status, c.Name))
	p.addLine(c.Source)
	for _, raw := range c.Outputs {
		o := parseOutput(raw)
		p.addSection(o.Type, o.asText(nil))
	}
	for _, w := range c.Widgets {
		p.addLine(fmt.Sprintf("widget %s (%s %s): %s", w.Key, w.Type, w.Label, w.Value))
	}
	return p.text.String()
}

// contentBuilder collects text and images for one message to a model.
type contentBuilder struct {
	text   strings.Builder
	images []model.Block
}

func (p *contentBuilder) addLine(text string) { p.text.WriteString(text + "\n") }

// addSection appends a heading and text to the content. It appends nothing if text is blank.
func (p *contentBuilder) addSection(name, text string) {
	if strings.TrimSpace(text) != "" {
		p.addLine("\n--- " + name)
		p.addLine(strings.TrimRight(text, "\n"))
	}
}

// blocks returns the collected content: one text block, followed by the images.
func (p *contentBuilder) blocks() []model.Block {
	return append([]model.Block{model.Text(p.text.String())}, p.images...)
}
