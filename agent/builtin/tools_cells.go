package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
)

// Pieces of schemas.
const (
	cellIDProperty  = `"cell_id":{"type":"string","minLength":1,"description":"The id of the cell, as get_context shows it."}`
	sourceProperty  = `"source":{"type":"string"}`
	autoRunProperty = `"auto_run":{"type":"boolean","description":"Run the cell at once and wait for its end. Default false."}`
	positionText    = `"position":{"type":"integer","minimum":0,"description":"Where the cell is put, from 0 to the number of cells."}`
)

// cellTools change cells, or run them.
func cellTools(n *notebook) []tool {
	return []tool{
		{
			name: "create_cell",
			description: "Create a cell. With auto_run it is run, and the result is its state, what it printed and showed, " +
				"and the traceback if it failed.",
			schema: object(positionText+`,"cell_type":{"type":"string","enum":["code","markdown"],"description":"Default code."},`+
				sourceProperty+`,"title":{"type":"string"},`+autoRunProperty, "position", "source"),
			run: takes(n.createCell),
		},
		{
			name:        "create_markdown_cell",
			description: "Create a cell of Markdown text.",
			schema:      object(positionText+","+sourceProperty, "position", "source"),
			run:         takes(n.createMarkdown),
		},
		{
			name:        "edit_cell",
			description: "Replace the source of a cell. With auto_run it is run as by run_cell.",
			schema:      object(cellIDProperty+","+sourceProperty+","+autoRunProperty, "cell_id", "source"),
			run:         takes(n.editCell),
		},
		{
			name:        "delete_cell",
			description: "Delete a cell. What it defined in the kernel stays.",
			schema:      object(cellIDProperty, "cell_id"),
			run:         takes(n.deleteCell),
		},
		{
			name:        "delete_all_cells",
			description: "Delete every cell of the notebook.",
			schema:      object(""),
			run:         takes(n.deleteAll),
		},
		{
			name:        "run_cell",
			description: "Run a code cell and wait for its end: the result is its state, what it printed and showed, and the traceback if it failed.",
			schema:      object(cellIDProperty, "cell_id"),
			run:         takes(n.runCell),
		},
		{
			name:        "stop_cell",
			description: "Interrupt a cell that runs, or take one that waits out of the queue.",
			schema:      object(cellIDProperty, "cell_id"),
			run:         takes(n.stopCell),
		},
	}
}

// cellInput is the input of any of these tools.
type cellInput struct {
	CellID   string `json:"cell_id"`
	Position int    `json:"position"`
	CellType string `json:"cell_type"`
	Source   string `json:"source"`
	Title    string `json:"title"`
	AutoRun  bool   `json:"auto_run"`
}

func (n *notebook) createCell(ctx context.Context, in cellInput) ([]model.Block, error) {
	if in.CellType == "" {
		in.CellType = "code"
	}
	p := params{"position": in.Position, "cell_type": in.CellType, "source": in.Source, "auto_run": in.AutoRun}
	if in.Title != "" {
		p["title"] = in.Title
	}
	if in.AutoRun && in.CellType == "code" {
		run, err := n.createAndRun(ctx, p)
		return shown(run, err)
	}
	p["auto_run"] = false // Markdown does not run
	return created(n.create(ctx, "create_cell", p))
}

func (n *notebook) createMarkdown(ctx context.Context, in cellInput) ([]model.Block, error) {
	return created(n.create(ctx, "create_markdown_cell", params{"position": in.Position, "source": in.Source}))
}

func created(cellID string, err error) ([]model.Block, error) {
	if err != nil {
		return nil, err
	}
	return says("cell_id: %s\ncreated", cellID), nil
}

func shown(run cellRun, err error) ([]model.Block, error) {
	if err != nil {
		return nil, err
	}
	return showRun(run), nil
}

func (n *notebook) editCell(ctx context.Context, in cellInput) ([]model.Block, error) {
	p := params{"cell_id": in.CellID, "source": in.Source, "auto_run": in.AutoRun}
	if in.AutoRun {
		return shown(n.run(ctx, "edit_cell", in.CellID, p))
	}
	return n.plainly(ctx, "edit_cell", in.CellID, p, "edited")
}

func (n *notebook) runCell(ctx context.Context, in cellInput) ([]model.Block, error) {
	return shown(n.run(ctx, "run_cell", in.CellID, params{"cell_id": in.CellID}))
}

func (n *notebook) stopCell(ctx context.Context, in cellInput) ([]model.Block, error) {
	return n.plainly(ctx, "stop_cell", in.CellID, params{"cell_id": in.CellID}, "asked to stop")
}

func (n *notebook) deleteCell(ctx context.Context, in cellInput) ([]model.Block, error) {
	return n.plainly(ctx, "delete_cell", in.CellID, params{"cell_id": in.CellID}, "deleted")
}

// plainly carries out an action whose answer says nothing new.
func (n *notebook) plainly(ctx context.Context, action, cellID string, p params, done string) ([]model.Block, error) {
	if err := n.act(ctx, action, p, nil); err != nil {
		return nil, err
	}
	return says("cell_id: %s\n%s", cellID, done), nil
}

// deleteAll deletes from the last cell to the first and goes on after failures.
func (n *notebook) deleteAll(ctx context.Context, _ none) ([]model.Block, error) {
	cells, err := n.cells(ctx)
	if err != nil {
		return nil, err
	}
	var failures []string
	for _, cellID := range slices.Backward(cells) {
		if err := n.act(ctx, "delete_cell", params{"cell_id": cellID}, nil); err != nil {
			failures = append(failures, fmt.Sprintf("cell %s: %v", cellID, err))
		}
	}
	text := fmt.Sprintf("%d of %d cells deleted", len(cells)-len(failures), len(cells))
	if len(failures) > 0 {
		return nil, fmt.Errorf("%s; not deleted:\n%s", text, strings.Join(failures, "\n"))
	}
	return says("%s", text), nil
}
