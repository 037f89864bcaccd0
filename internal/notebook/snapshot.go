package notebook

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// maxSnapshotOutputBytes is how many bytes of outputs a snapshot of all cells has at most. Each
// cell has an equal share of it.
const maxSnapshotOutputBytes = 32 << 20

// ExecutionsSnapshot is the state of all cells' runs at one moment, in JSON, for a console that
// was just attached. The maps are by cell id. It shares no memory that changes.
type ExecutionsSnapshot struct {
	CellStatus map[string]string            `json:"cell_status"`     // one of the Status constants
	Sequencers map[string]int               `json:"cell_sequencers"` // number of the last run that the present kernel started
	Outputs    map[string][]json.RawMessage `json:"cell_outputs"`    // nbformat outputs of the last run
	RunQueue   []string                     `json:"run_queue"`       // ids of the cells that wait for the kernel
	Widgets    map[string]Widgets           `json:"cell_widgets"`

	// ExecutionCounts has the number of the last run that any kernel started: a cell
	// goes on showing it when the kernel is gone.
	ExecutionCounts map[string]int `json:"cell_counts"`

	// DurationsMS has how long the last run took, in milliseconds, if the kernel has
	// said so.
	DurationsMS map[string]float64 `json:"cell_durations"`
}

// Snapshot returns the state of all cells' runs, except for cells that were disposed of. A line
// of plain text stands for a value that is not kept.
func (e *Executions) Snapshot() ExecutionsSnapshot {
	s := ExecutionsSnapshot{
		CellStatus: map[string]string{}, Sequencers: map[string]int{},
		Outputs: map[string][]json.RawMessage{}, Widgets: map[string]Widgets{}, ExecutionCounts: map[string]int{}, DurationsMS: map[string]float64{},
	}
	outputs := e.snapshotWithoutOutputs(&s)
	for id, list := range outputs {
		share := maxSnapshotOutputBytes / len(outputs)
		s.Outputs[id] = limitOutputs(share, encodeFullOutputs(list, share/2))
	}
	return s
}

// snapshotWithoutOutputs fills in all fields of s except for the outputs, and returns the
// outputs by cell id, so that they can be encoded without holding the lock.
func (e *Executions) snapshotWithoutOutputs(s *ExecutionsSnapshot) map[string][]renderedOutput {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.RunQueue = append([]string{}, e.queue...)
	outputs := map[string][]renderedOutput{}
	for id, c := range e.cells {
		if c.disposed {
			continue
		}
		s.CellStatus[id] = c.status()
		if c.sequencer > 0 {
			s.Sequencers[id] = c.sequencer
		}
		if c.executionCount > 0 {
			s.ExecutionCounts[id] = c.executionCount
		}
		if c.durationMS > 0 {
			s.DurationsMS[id] = c.durationMS
		}
		if len(c.widgets) > 0 {
			s.Widgets[id] = c.widgets
		}
		if list := c.outputs.renderOutputs(); len(list) > 0 {
			outputs[id] = list
		}
	}
	return outputs
}

// cellForContext returns status, outputs and widgets of a cell for the answer to get_context;
// StatusIdle and nothing else if the cell has not run.
func (e *Executions) cellForContext(cellID string) (status string, outputs []renderedOutput, widgets Widgets) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.lookUpCell(cellID)
	if c == nil {
		return StatusIdle, nil, nil
	}
	return c.status(), c.outputs.renderOutputs(), c.widgets
}

// cellForFile returns the outputs of a cell's last run and that run's number for a notebook
// file; 0 if the cell has not run, or e is nil.
func (e *Executions) cellForFile(cellID string) (outputs []renderedOutput, count int) {
	if e == nil {
		return nil, 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.lookUpCell(cellID)
	if c == nil {
		return nil, 0
	}
	return c.outputs.renderOutputs(), c.executionCount
}

// State is a whole notebook at one moment: its cells and the results of their runs. A console
// gets it when it is attached, and a session can be restored from it.
type State struct {
	Cells      []Cell             `json:"cells"` // in order, never nil
	Executions ExecutionsSnapshot `json:"runs"`
}

// WithFrozenCells calls f with a copy of the cells in order. Until f returns, no cell changes
// and OnEvent is not called. f must not call the document.
func (d *Document) WithFrozenCells(f func(cells []Cell)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(append([]Cell{}, d.cells...))
}

// RestoreState fills an empty document with the cells of s and makes one event,
// NotebookRestored. It never fails.
func (d *Document) RestoreState(s State) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.applyAndPublish(Event{Kind: NotebookRestored, CausedBy: ByServer, State: &s})
}

// RestoreSnapshot takes over the cells' states from a snapshot of an earlier session, whose
// kernel has ended: runs that were open have failed, the queue is empty, and there are no
// widgets.
func (e *Executions) RestoreSnapshot(s ExecutionsSnapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.CellStatus)) {
		c, err := e.getOrAddCell(id)
		if c == nil || err != nil {
			continue // there are more than maxCells
		}
		*c = *newCellExecution(e.cfg.MaxOutputBytes)
		c.executionCount, c.lastStatus, c.durationMS = cmp.Or(s.ExecutionCounts[id], s.Sequencers[id]), s.CellStatus[id], s.DurationsMS[id]
		if c.lastStatus == StatusRunning {
			c.lastStatus = StatusError
		}
		for _, output := range s.Outputs[id] {
			e.restoreOutput(c, output)
		}
	}
}

// restoreOutput appends one encoded output of a snapshot to cell c. It ignores an output that
// cannot be parsed. The caller holds mu.
func (e *Executions) restoreOutput(c *cellExecution, text json.RawMessage) {
	output, err := newObjectReader(text)
	if err != nil {
		return
	}
	if change, err := e.newOutputApplier(0, output); err == nil && output.err() == nil {
		change(c)
	}
}
