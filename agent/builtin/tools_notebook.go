package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
)

// notebookTools are the tools by which the model works on a notebook, but for
// the submission.
func notebookTools(n *notebook) []tool {
	return slices.Concat(lookTools(n), cellTools(n), kernelTools(n))
}

// lookTools only look.
func lookTools(n *notebook) []tool {
	return []tool{
		{
			name:        "get_context",
			description: "Show the notebook: every cell with its position, cell_id, state, source, outputs and widgets.",
			schema:      object(""),
			reads:       true,
			run:         takes(n.showContext),
		},
		{
			name:        "request_globals_summary",
			description: "List the variables of the kernel with their types, shapes and columns.",
			schema:      object(""),
			reads:       true,
			run:         takes(n.showGlobals),
		},
		{
			name:        "request_reactivity_summary",
			description: "Show which cells run again when a signal or a widget changes.",
			schema:      object(""),
			reads:       true,
			run:         takes(n.showReactivity),
		},
	}
}

func (n *notebook) showGlobals(ctx context.Context, _ none) ([]model.Block, error) {
	var answer struct {
		Summary   json.RawMessage `json:"summary"`
		Truncated bool            `json:"truncated"`
		Stale     bool            `json:"stale"`
		AgeMS     int64           `json:"age_ms"`
	}
	if err := n.act(ctx, "request_globals_summary", params{}, &answer); err != nil {
		return nil, err
	}
	text := string(answer.Summary)
	if answer.Truncated {
		text = "(not all variables are listed)\n" + text
	}
	if answer.Stale {
		text = fmt.Sprintf("(the kernel is busy: this is what it said %d ms ago)\n%s", answer.AgeMS, text)
	}
	return says("%s", text), nil
}

func (n *notebook) showReactivity(ctx context.Context, _ none) ([]model.Block, error) {
	var answer struct {
		Summary string `json:"summary"`
	}
	if err := n.act(ctx, "request_reactivity_summary", params{}, &answer); err != nil {
		return nil, err
	}
	return says("%s", answer.Summary), nil
}

// overview is the answer to get_context.
type overview struct {
	Context struct {
		Count int        `json:"cell_count"`
		Name  string     `json:"notebook_name"`
		Cells []seenCell `json:"cells"`
	} `json:"context"`
}

type seenCell struct {
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

// showContext shows the notebook. When it is long every cell keeps its head and
// its tail, so that none is out of sight.
func (n *notebook) showContext(ctx context.Context, _ none) ([]model.Block, error) {
	var seen overview
	if err := n.act(ctx, "get_context", params{}, &seen); err != nil {
		return nil, err
	}
	cells := make([]string, len(seen.Context.Cells))
	total := 0
	for i, cell := range seen.Context.Cells {
		cells[i] = cell.show()
		total += len(cells[i])
	}
	head := fmt.Sprintf("notebook %q, %d cells", seen.Context.Name, seen.Context.Count)
	if room := maxOutput - len(head) - 1; total > room {
		for i := range cells {
			cells[i] = clip(cells[i], room/len(cells)-1)
		}
	}
	return says("%s\n%s", head, strings.Join(cells, "\n")), nil
}

// show writes a cell: a line about it, its source, what it showed.
func (c seenCell) show() string {
	var page page
	page.line(fmt.Sprintf("\n[%d] cell_id: %s, %s, %s %s", c.Index, c.CellID, c.CellType, c.Status, c.Name))
	page.line(c.Source)
	for _, raw := range c.Outputs {
		o := readOutput(raw)
		page.section(o.Type, o.show(nil))
	}
	for _, w := range c.Widgets {
		page.line(fmt.Sprintf("widget %s (%s %s): %s", w.Key, w.Type, w.Label, w.Value))
	}
	return page.text.String()
}
