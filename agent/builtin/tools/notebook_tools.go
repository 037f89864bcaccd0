package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/agent/builtin"
	"assay/agent/builtin/render"
	"assay/internal/model"
)

// notebookToolset implements the tools that work on a notebook and its kernel.
type notebookToolset struct{ *builtin.NotebookClient }

// actionParams are the parameters of an action.
type actionParams = map[string]any

// notebookTools returns the tools with which a model works on a notebook: all but
// submit_response.
func notebookTools(n *builtin.NotebookClient) []tool {
	return slices.Concat(notebookToolset{n}.readOnlyTools(), notebookToolset{n}.cellTools(), notebookToolset{n}.kernelTools())
}

// readOnlyTools returns the notebook tools that change nothing, and may thus run
// concurrently.
func (n notebookToolset) readOnlyTools() []tool {
	return []tool{
		{
			name:        "get_context",
			description: "Show the notebook: every cell with its position, cell_id, state, source, outputs and widgets.",
			schema:      objectSchema(""),
			readOnly:    true,
			run:         withDecodedInput(n.showContext),
		},
		{
			name:        "request_globals_summary",
			description: "List the variables of the kernel with their types, shapes and columns.",
			schema:      objectSchema(""),
			readOnly:    true,
			run:         withDecodedInput(n.showGlobals),
		},
		{
			name:        "request_reactivity_summary",
			description: "Show which cells run again when a signal or a widget changes.",
			schema:      objectSchema(""),
			readOnly:    true,
			run:         withDecodedInput(n.showReactivity),
		},
	}
}

// showContext is the tool get_context: it returns all cells of the notebook as text. In a
// long notebook every cell is clipped to an equal share, so that the model sees something of
// each.
func (n notebookToolset) showContext(ctx context.Context, _ noInput) ([]model.Block, error) {
	overview, err := n.Overview(ctx)
	if err != nil {
		return nil, err
	}
	cells := make([]string, len(overview.Cells))
	total := 0
	for i, cell := range overview.Cells {
		cells[i] = cell.Text()
		total += len(cells[i])
	}
	head := fmt.Sprintf("notebook %q, %d cells", overview.Name, overview.Count)
	if room := render.MaxTextBytes - len(head) - 1; total > room {
		for i := range cells {
			cells[i] = render.Clip(cells[i], room/len(cells)-1)
		}
	}
	return textResult("%s\n%s", head, strings.Join(cells, "\n")), nil
}

// showGlobals is the tool request_globals_summary: it lists the kernel's variables, and says
// if the list is incomplete or out of date.
func (n notebookToolset) showGlobals(ctx context.Context, _ noInput) ([]model.Block, error) {
	var answer struct {
		Summary   json.RawMessage `json:"summary"`
		Truncated bool            `json:"truncated"`
		Stale     bool            `json:"stale"`
		AgeMS     int64           `json:"age_ms"`
	}
	if err := n.DoAction(ctx, "request_globals_summary", actionParams{}, &answer); err != nil {
		return nil, err
	}
	text := string(answer.Summary)
	if answer.Truncated {
		text = "(not all variables are listed)\n" + text
	}
	if answer.Stale {
		text = fmt.Sprintf("(the kernel is busy: this is what it said %d ms ago)\n%s", answer.AgeMS, text)
	}
	return textResult("%s", text), nil
}

// showReactivity is the tool request_reactivity_summary: it shows which cells run again when
// a signal or widget changes.
func (n notebookToolset) showReactivity(ctx context.Context, _ noInput) ([]model.Block, error) {
	var answer struct {
		Summary string `json:"summary"`
	}
	if err := n.DoAction(ctx, "request_reactivity_summary", actionParams{}, &answer); err != nil {
		return nil, err
	}
	return textResult("%s", answer.Summary), nil
}
