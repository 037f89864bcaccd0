package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay/agent/builtin/render"
	"assay/internal/protocol"
)

// answerGrace is how much longer than the server's limit the agent waits for the end of a cell or
// the response to execute_code, so that the server, which stops both at the limit, comes first.
const answerGrace = 2 * time.Second

// NotebookClient sends notebook actions to the server, and waits for their responses and for the
// ends of the cells and code that they run. It is safe for concurrent use.
type NotebookClient struct {
	actions   *actionClient
	runs      *cellRunTracker
	limits    Limits      // changes only when an init is applied, while nothing else runs
	lateCells chan string // ids of cells that were created and run after their request was abandoned; buffer of maxAbandonedActions
}

func newNotebookClient(server *serverConn, cfg Config) *NotebookClient {
	return &NotebookClient{
		actions: newActionClient(server, cfg.NewTxID), runs: newCellRunTracker(), limits: cfg.Limits,
		lateCells: make(chan string, maxAbandonedActions),
	}
}

// CellTimeout returns the cell limit: how long the agent waits for the end of a cell or of
// code without a cell.
func (n *NotebookClient) CellTimeout() time.Duration { return n.limits.CellTimeout }

// DoAction sends an action with params as JSON, waits for its response and decodes it into
// out, unless out is nil. It returns an error if the response reports one, if no response
// comes within the action limit, or if ctx ends.
func (n *NotebookClient) DoAction(ctx context.Context, action string, params, out any) error {
	return n.actions.do(ctx, action, params, n.limits.ActionTimeout).decode(out)
}

// NotebookOverview is the content of a notebook, as the response to get_context has it: its name and
// all its cells.
type NotebookOverview struct {
	Count int           `json:"cell_count"`
	Name  string        `json:"notebook_name"`
	Cells []render.Cell `json:"cells"`
}

// Overview returns the name and all cells of the notebook, which it gets with get_context.
// It fails as DoAction does.
func (n *NotebookClient) Overview(ctx context.Context) (NotebookOverview, error) {
	var answer struct {
		Context NotebookOverview `json:"context"`
	}
	err := n.DoAction(ctx, "get_context", struct{}{}, &answer)
	return answer.Context, err
}

// CellIDs returns the ids of all cells in notebook order, which it gets with get_context. It
// fails as DoAction does.
func (n *NotebookClient) CellIDs(ctx context.Context) ([]string, error) {
	var answer struct {
		Context struct {
			Cells []struct {
				CellID string `json:"cell_id"`
			} `json:"cells"`
		} `json:"context"`
	}
	if err := n.DoAction(ctx, "get_context", struct{}{}, &answer); err != nil {
		return nil, err
	}
	ids := make([]string, len(answer.Context.Cells))
	for i, cell := range answer.Context.Cells {
		ids[i] = cell.CellID
	}
	return ids, nil
}

// CreateCell sends an action that creates a cell without running it, and returns the new
// cell's id. It fails as DoAction does, or if the response has no id.
func (n *NotebookClient) CreateCell(ctx context.Context, action string, params any) (cellID string, err error) {
	return decodeCreatedCellID(n.actions.do(ctx, action, params, n.limits.ActionTimeout))
}

func decodeCreatedCellID(r actionResult) (string, error) {
	var created struct {
		CellID string `json:"cell_id"`
	}
	if err := r.decode(&created); err != nil {
		return "", err
	}
	if created.CellID == "" {
		return "", errors.New("the answer names no cell")
	}
	return created.CellID, nil
}

// CellRun is the outcome of one run of a cell: its result, or that it still runs after the
// cell limit.
type CellRun struct {
	CellID string
	Result *protocol.KernelMessageResult // nil if the cell was still running after the cell limit
	Waited time.Duration                 // the cell limit, if the cell was still running
}

// CreateAndRunCell creates a code cell that is run at once, and waits for the end of its
// run, at most for the cell limit. It returns an error if the cell is not created or ctx
// ends; if ctx ends before the response has named the new cell, the cell is stopped when the
// response comes.
func (n *NotebookClient) CreateAndRunCell(ctx context.Context, params any) (CellRun, error) {
	run := n.runs.expectRun("")
	cellID, err := decodeCreatedCellID(n.actions.doWithLateHandler(ctx, "create_cell", params, n.limits.ActionTimeout, n.queueLateCellToStop))
	if err != nil {
		n.runs.abandonRun(run, "")
		return CellRun{}, err
	}
	n.runs.assignCell(run, cellID)
	return n.awaitRun(ctx, run, cellID)
}

// queueLateCellToStop handles the response to a create_cell that its caller has abandoned: it
// queues the created cell for stopLateCells. It never blocks.
func (n *NotebookClient) queueLateCellToStop(r actionResult) {
	cellID, err := decodeCreatedCellID(r)
	if err != nil {
		return // no cell was created
	}
	select {
	case n.lateCells <- cellID:
	default: // the server reads nothing: maxAbandonedActions others wait already
	}
}

// stopLateCells stops cells that were created after the agent had abandoned their creation.
// It runs until ctx ends and then returns nil.
func (n *NotebookClient) stopLateCells(ctx context.Context) error {
	for {
		select {
		case cellID := <-n.lateCells:
			n.sendStop("cell_id", cellID)
		case <-ctx.Done():
			return nil
		}
	}
}

// RunCell sends an action that runs an existing cell, and waits for the end of the run, at
// most for the cell limit. It returns an error if the action fails or ctx ends, in which
// case it also stops the cell.
func (n *NotebookClient) RunCell(ctx context.Context, action, cellID string, params any) (CellRun, error) {
	run := n.runs.expectRun(cellID)
	r := n.actions.do(ctx, action, params, n.limits.ActionTimeout)
	if err := r.decode(nil); err != nil {
		switch {
		case r.body != nil: // refused; without a response the cell may be running
			n.runs.abandonRun(run, cellID)
		case ctx.Err() != nil:
			n.stopRun(run, cellID)
		}
		return CellRun{}, err
	}
	return n.awaitRun(ctx, run, cellID)
}

// awaitRun waits for the end of a cell's run, at most for the cell limit and answerGrace, because
// the server stops a cell at the limit and then sends its result. If ctx ends first it stops the
// cell and returns an error.
func (n *NotebookClient) awaitRun(ctx context.Context, run *expectedRun, cellID string) (CellRun, error) {
	timeout := n.limits.CellTimeout
	timer := time.NewTimer(timeout + answerGrace)
	defer timer.Stop()
	select {
	case message := <-run.result:
		var end protocol.KernelMessageResult
		if err := json.Unmarshal(message, &end); err != nil {
			return CellRun{}, fmt.Errorf("the result of cell %s cannot be read: %w", cellID, err)
		}
		return CellRun{CellID: cellID, Result: &end}, nil
	case <-timer.C:
		return CellRun{CellID: cellID, Waited: timeout}, nil
	case <-ctx.Done():
		n.stopRun(run, cellID)
		return CellRun{}, fmt.Errorf("the run of cell %s was given up: %w", cellID, context.Cause(ctx))
	}
}

// stopRun sends stop_cell for a cell and makes the agent ignore the result of its run.
func (n *NotebookClient) stopRun(run *expectedRun, cellID string) {
	n.runs.abandonRun(run, cellID)
	n.sendStop("cell_id", cellID)
}

// ExecuteCode runs code in the kernel without a cell and returns the kernel's response. It
// waits at most for timeout, which params should also contain as timeout_s. Code that raises
// an exception is no error. If ctx ends first, ExecuteCode stops the code and returns an
// error.
func (n *NotebookClient) ExecuteCode(ctx context.Context, params any, timeout time.Duration) (protocol.ExecuteCodeResponse, error) {
	r := n.actions.do(ctx, "execute_code", params, timeout+answerGrace)
	if ctx.Err() != nil {
		n.sendStop("agent_tx_id", r.txID)
	}
	var end protocol.ExecuteCodeResponse
	err := r.decode(&end)
	if err != nil && r.body != nil && json.Unmarshal(r.body, &end) == nil && (end.Exception != "" || end.EName != "") {
		err = nil
	}
	return end, err
}

// stopStartedCells sends stop_cell for every cell whose run this agent has requested and
// which has not ended, except the runs in others.
func (n *NotebookClient) stopStartedCells(others map[string]*expectedRun) {
	open := n.runs.unfinishedRuns()
	for _, cellID := range slices.Sorted(maps.Keys(open)) {
		if open[cellID] != others[cellID] {
			n.sendStop("cell_id", cellID)
		}
	}
}

// sendStop sends stop_cell with one parameter (cell_id or agent_tx_id) and does not wait for
// the response. A write error is only logged.
func (n *NotebookClient) sendStop(param, value string) {
	if err := n.actions.send("stop_cell", map[string]string{param: value}, n.actions.newTxID()); err != nil {
		n.actions.server.log.Warn("stop_cell not sent", "error", err)
	}
}
