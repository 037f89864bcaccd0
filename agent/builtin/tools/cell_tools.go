package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/agent/builtin"
	"assay/agent/builtin/render"
	"assay/internal/model"
)

// Members of input schemas.
const (
	cellIDProperty   = `"cell_id":{"type":"string","minLength":1,"description":"The id of the cell, as get_context shows it."}`
	sourceProperty   = `"source":{"type":"string"}`
	autoRunProperty  = `"auto_run":{"type":"boolean","description":"Run the cell at once and wait for its end. Default false."}`
	positionProperty = `"position":{"type":"integer","minimum":0,"description":"Where the cell is put, from 0 to the number of cells."}`
)

// cellTools returns the tools that change or run cells.
func (n notebookToolset) cellTools() []tool {
	return []tool{
		{
			name: "create_cell",
			description: "Create a cell. With auto_run it is run, and the result is its state, what it printed and showed, " +
				"and the traceback if it failed.",
			schema: objectSchema(positionProperty+`,"cell_type":{"type":"string","enum":["code","markdown"],"description":"Default code."},`+
				sourceProperty+`,"title":{"type":"string"},`+autoRunProperty, "position", "source"),
			run: withDecodedInput(n.createCell),
		},
		{
			name:        "create_markdown_cell",
			description: "Create a cell of Markdown text.",
			schema:      objectSchema(positionProperty+","+sourceProperty, "position", "source"),
			run:         withDecodedInput(n.createMarkdownCell),
		},
		{
			name:        "edit_cell",
			description: "Replace the source of a cell. With auto_run it is run as by run_cell.",
			schema:      objectSchema(cellIDProperty+","+sourceProperty+","+autoRunProperty, "cell_id", "source"),
			run:         withDecodedInput(n.editCell),
		},
		{
			name:        "delete_cell",
			description: "Delete a cell. What it defined in the kernel stays.",
			schema:      objectSchema(cellIDProperty, "cell_id"),
			run:         withDecodedInput(n.deleteCell),
		},
		{
			name:        "delete_all_cells",
			description: "Delete every cell of the notebook.",
			schema:      objectSchema(""),
			run:         withDecodedInput(n.deleteAllCells),
		},
		{
			name:        "run_cell",
			description: "Run a code cell and wait for its end: the result is its state, what it printed and showed, and the traceback if it failed.",
			schema:      objectSchema(cellIDProperty, "cell_id"),
			run:         withDecodedInput(n.runCell),
		},
		{
			name:        "stop_cell",
			description: "Interrupt a cell that runs, or take one that waits out of the queue.",
			schema:      objectSchema(cellIDProperty, "cell_id"),
			run:         withDecodedInput(n.stopCell),
		},
	}
}

// cellToolInput is the input of the cell tools; each uses some of the fields.
type cellToolInput struct {
	CellID   string `json:"cell_id"`
	Position int    `json:"position"`
	CellType string `json:"cell_type"` // code or markdown; "" means code
	Source   string `json:"source"`
	Title    string `json:"title"`
	AutoRun  bool   `json:"auto_run"`
}

func (n notebookToolset) createCell(ctx context.Context, in cellToolInput) ([]model.Block, error) {
	if in.CellType == "" {
		in.CellType = "code"
	}
	p := actionParams{"position": in.Position, "cell_type": in.CellType, "source": in.Source, "auto_run": in.AutoRun}
	if in.Title != "" {
		p["title"] = in.Title
	}
	if in.AutoRun && in.CellType == "code" {
		return cellRunResult(n.CreateAndRunCell(ctx, p))
	}
	p["auto_run"] = false // Markdown does not run
	return createdCellResult(n.CreateCell(ctx, "create_cell", p))
}

func (n notebookToolset) createMarkdownCell(ctx context.Context, in cellToolInput) ([]model.Block, error) {
	return createdCellResult(n.CreateCell(ctx, "create_markdown_cell", actionParams{"position": in.Position, "source": in.Source}))
}

// createdCellResult returns the tool result for a newly created cell, or err if that is not
// nil.
func createdCellResult(cellID string, err error) ([]model.Block, error) {
	if err != nil {
		return nil, err
	}
	return textResult("cell_id: %s\ncreated", cellID), nil
}

// cellRunResult returns the tool result for a run of a cell, finished or still running, or
// err if that is not nil.
func cellRunResult(run builtin.CellRun, err error) ([]model.Block, error) {
	if err != nil {
		return nil, err
	}
	if run.Result == nil {
		return render.StillRunningBlocks(run.CellID, run.Waited), nil
	}
	return render.CellResultBlocks(run.CellID, run.Result), nil
}

func (n notebookToolset) editCell(ctx context.Context, in cellToolInput) ([]model.Block, error) {
	p := actionParams{"cell_id": in.CellID, "source": in.Source, "auto_run": in.AutoRun}
	if in.AutoRun {
		return cellRunResult(n.RunCell(ctx, "edit_cell", in.CellID, p))
	}
	return n.doCellAction(ctx, "edit_cell", in.CellID, p, "edited")
}

func (n notebookToolset) runCell(ctx context.Context, in cellToolInput) ([]model.Block, error) {
	return cellRunResult(n.RunCell(ctx, "run_cell", in.CellID, actionParams{"cell_id": in.CellID}))
}

func (n notebookToolset) stopCell(ctx context.Context, in cellToolInput) ([]model.Block, error) {
	return n.doCellAction(ctx, "stop_cell", in.CellID, actionParams{"cell_id": in.CellID}, "asked to stop")
}

func (n notebookToolset) deleteCell(ctx context.Context, in cellToolInput) ([]model.Block, error) {
	return n.doCellAction(ctx, "delete_cell", in.CellID, actionParams{"cell_id": in.CellID}, "deleted")
}

// doCellAction sends an action whose response has nothing new for the model. The result is the
// cell's id and what was done.
func (n notebookToolset) doCellAction(ctx context.Context, action, cellID string, p actionParams, done string) ([]model.Block, error) {
	if err := n.DoAction(ctx, action, p, nil); err != nil {
		return nil, err
	}
	return textResult("cell_id: %s\n%s", cellID, done), nil
}

// deleteAllCells deletes the cells from the last to the first. It goes on after failures;
// its error then lists them.
func (n notebookToolset) deleteAllCells(ctx context.Context, _ noInput) ([]model.Block, error) {
	cells, err := n.CellIDs(ctx)
	if err != nil {
		return nil, err
	}
	var failures []string
	for _, cellID := range slices.Backward(cells) {
		if err := n.DoAction(ctx, "delete_cell", actionParams{"cell_id": cellID}, nil); err != nil {
			failures = append(failures, fmt.Sprintf("cell %s: %v", cellID, err))
		}
	}
	text := fmt.Sprintf("%d of %d cells deleted", len(cells)-len(failures), len(cells))
	if len(failures) > 0 {
		return nil, fmt.Errorf("%s; not deleted:\n%s", text, strings.Join(failures, "\n"))
	}
	return textResult("%s", text), nil
}
