package notebook

import "encoding/json"

// snapshotLimit is how many bytes of outputs a snapshot has; each cell has an
// equal share.
const snapshotLimit = 32 << 20

// ExecutionsSnapshot is the state of all runs at one moment, for a console that has just
// come. It shares no memory with the Runs it was taken of that would change.
type ExecutionsSnapshot struct {
	CellStatus map[string]string            `json:"cell_status"` // a Status constant
	Sequencers map[string]int               `json:"cell_sequencers"`
	Outputs    map[string][]json.RawMessage `json:"cell_outputs"` // nbformat outputs
	RunQueue   []string                     `json:"run_queue"`    // cells that wait
	Widgets    map[string]Widgets           `json:"cell_widgets"`
	// Counts has the number of the last run that any kernel started, which a
	// cell goes on to show when its kernel is gone.
	ExecutionCounts map[string]int `json:"cell_counts"`
	// Durations has what the last run took, in milliseconds, where the kernel
	// has said so.
	DurationsMS map[string]float64 `json:"cell_durations"`
}

// Snapshot returns the state of all cells seen so far, less those disposed of.
// A value that is only a reference is replaced by a line of plain text.
func (r *Executions) Snapshot() ExecutionsSnapshot {
	s := ExecutionsSnapshot{
		CellStatus: map[string]string{}, Sequencers: map[string]int{},
		Outputs: map[string][]json.RawMessage{}, Widgets: map[string]Widgets{}, ExecutionCounts: map[string]int{}, DurationsMS: map[string]float64{},
	}
	outputs := r.collect(&s)
	for id, list := range outputs {
		share := snapshotLimit / len(outputs)
		s.Outputs[id] = within(share, wholes(list, share/2))
	}
	return s
}

// collect fills in all but the outputs, which can be encoded without the lock.
func (r *Executions) collect(s *ExecutionsSnapshot) map[string][]shown {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.RunQueue = append([]string{}, r.queue...)
	outputs := map[string][]shown{}
	for id, c := range r.cells {
		if c.disposed {
			continue
		}
		s.CellStatus[id] = c.status()
		if c.sequencer > 0 {
			s.Sequencers[id] = c.sequencer
		}
		if c.count > 0 {
			s.ExecutionCounts[id] = c.count
		}
		if c.took > 0 {
			s.DurationsMS[id] = c.took
		}
		if len(c.widgets) > 0 {
			s.Widgets[id] = c.widgets
		}
		if list := c.outputs.shown(); len(list) > 0 {
			outputs[id] = list
		}
	}
	return outputs
}

// look returns what a context shows of a cell.
func (r *Executions) look(cellID string) (status string, outputs []shown, widgets Widgets) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.known(cellID)
	if c == nil {
		return StatusIdle, nil, nil
	}
	return c.status(), c.outputs.shown(), c.widgets
}

// ran returns what a notebook file has of a cell: the outputs of its last run
// and that run's number.
func (r *Executions) ran(cellID string) (outputs []shown, count int) {
	if r == nil {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.known(cellID)
	if c == nil {
		return nil, 0
	}
	return c.outputs.shown(), c.count
}
