package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay/internal/protocol"
)

// executeGrace is how much longer than the server the agent waits for the end
// of an execute_code, which the server ends itself.
const executeGrace = 2 * time.Second

// params are the parameters of an action.
type params map[string]any

// notebook is the notebook as the agent works on it. It is safe for concurrent
// use.
type notebook struct {
	operations *operations
	runs       *runs
	limits     Limits      // changed by init only, while nothing else goes on
	orphans    chan string // cells that run though their creation was given up; has room for maxLate
}

func newNotebook(w *wire, cfg Config) *notebook {
	return &notebook{
		operations: newOperations(w, cfg.NewID), runs: newRuns(), limits: cfg.Limits,
		orphans: make(chan string, maxLate),
	}
}

// cellRun is what came of a run.
type cellRun struct {
	cellID string
	result *protocol.KernelMessageResult // nil when the cell still runs
	waited time.Duration                 // the limit, when it still runs
}

// act carries out an action. The error is what the result says.
func (n *notebook) act(ctx context.Context, action string, p params, out any) error {
	return n.operations.do(ctx, action, p, n.limits.Action).read(out)
}

// read decodes a response into out, unless that is nil.
func (r result) read(out any) error {
	if r.err != "" {
		return errors.New(r.err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(r.body, out); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// create creates a cell and returns its id.
func (n *notebook) create(ctx context.Context, action string, p params) (string, error) {
	return createdCell(n.operations.do(ctx, action, p, n.limits.Action))
}

func createdCell(r result) (string, error) {
	var created struct {
		CellID string `json:"cell_id"`
	}
	if err := r.read(&created); err != nil {
		return "", err
	}
	if created.CellID == "" {
		return "", errors.New("the answer names no cell")
	}
	return created.CellID, nil
}

// createAndRun creates a code cell and waits for the end of its run. If ctx ends
// before the answer has named the cell, the cell is stopped when it comes.
func (n *notebook) createAndRun(ctx context.Context, p params) (cellRun, error) {
	expected := n.runs.expect("")
	cellID, err := createdCell(n.operations.doOrUndo(ctx, "create_cell", p, n.limits.Action, n.orphan))
	if err != nil {
		n.runs.abandon(expected, "")
		return cellRun{}, err
	}
	n.runs.name(expected, cellID)
	return n.await(ctx, expected, cellID)
}

// orphan takes the late answer of a creation.
func (n *notebook) orphan(r result) {
	cellID, err := createdCell(r)
	if err != nil {
		return // there is no cell
	}
	select {
	case n.orphans <- cellID:
	default: // maxLate others wait already, as the server reads nothing
	}
}

// stopOrphans stops the cells that run though their creation was given up, until
// ctx ends.
func (n *notebook) stopOrphans(ctx context.Context) error {
	for {
		select {
		case cellID := <-n.orphans:
			n.stop(params{"cell_id": cellID})
		case <-ctx.Done():
			return nil
		}
	}
}

// run carries out an action that runs a cell, and waits for the end of the run.
func (n *notebook) run(ctx context.Context, action, cellID string, p params) (cellRun, error) {
	expected := n.runs.expect(cellID)
	r := n.operations.do(ctx, action, p, n.limits.Action)
	if err := r.read(nil); err != nil {
		switch {
		case r.body != nil: // it was refused; otherwise the cell may run
			n.runs.abandon(expected, cellID)
		case ctx.Err() != nil:
			n.giveUp(expected, cellID)
		}
		return cellRun{}, err
	}
	return n.await(ctx, expected, cellID)
}

// await waits for the end of a run, at most the cell limit.
func (n *notebook) await(ctx context.Context, expected *run, cellID string) (cellRun, error) {
	limit := n.limits.Cell
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case message := <-expected.ended:
		var end protocol.KernelMessageResult
		if err := json.Unmarshal(message, &end); err != nil {
			return cellRun{}, fmt.Errorf("the result of cell %s cannot be read: %w", cellID, err)
		}
		return cellRun{cellID: cellID, result: &end}, nil
	case <-timer.C:
		return cellRun{cellID: cellID, waited: limit}, nil
	case <-ctx.Done():
		n.giveUp(expected, cellID)
		return cellRun{}, fmt.Errorf("the run of cell %s was given up: %w", cellID, context.Cause(ctx))
	}
}

// giveUp stops a cell whose run nobody waits for any more.
func (n *notebook) giveUp(expected *run, cellID string) {
	n.runs.abandon(expected, cellID)
	n.stop(params{"cell_id": cellID})
}

// execute runs code in the kernel. It is cancelled there when ctx ends.
func (n *notebook) execute(ctx context.Context, p params, timeout time.Duration) result {
	r := n.operations.do(ctx, "execute_code", p, timeout+executeGrace)
	if ctx.Err() != nil {
		n.stop(params{"agent_tx_id": r.txID})
	}
	return r
}

// executed reads the answer to an execute_code. Code that failed by itself has
// an answer like any other.
func (r result) executed() (protocol.ExecuteCodeResponse, error) {
	var end protocol.ExecuteCodeResponse
	err := r.read(&end)
	if err != nil && r.body != nil && json.Unmarshal(r.body, &end) == nil && (end.Exception != "" || end.EName != "") {
		err = nil
	}
	return end, err
}

// interrupt stops every cell that this agent started and that still runs, but for
// some runs.
func (n *notebook) interrupt(but map[string]*run) {
	open := n.runs.open()
	for _, cellID := range slices.Sorted(maps.Keys(open)) {
		if open[cellID] != but[cellID] {
			n.stop(params{"cell_id": cellID})
		}
	}
}

// stop asks for an interrupt and does not wait for the answer.
func (n *notebook) stop(p params) {
	if err := n.operations.send("stop_cell", p, n.operations.newID()); err != nil {
		n.operations.wire.log.Warn("stop_cell not sent", "error", err)
	}
}

// cells lists the ids of the notebook's cells, in order.
func (n *notebook) cells(ctx context.Context) ([]string, error) {
	var answer struct {
		Context struct {
			Cells []struct {
				CellID string `json:"cell_id"`
			} `json:"cells"`
		} `json:"context"`
	}
	if err := n.act(ctx, "get_context", params{}, &answer); err != nil {
		return nil, err
	}
	ids := make([]string, len(answer.Context.Cells))
	for i, cell := range answer.Context.Cells {
		ids[i] = cell.CellID
	}
	return ids, nil
}
