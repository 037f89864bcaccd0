package notebook

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// State is a notebook at one moment: what a console needs that has just come,
// and what a session is restored from.
type State struct {
	Cells      []Cell             `json:"cells"` // in order, never nil
	Executions ExecutionsSnapshot `json:"runs"`
}

// WithFrozenCells calls f with the cells in order. While it runs nothing changes, and no
// event is given out; f must not call the document.
func (d *Document) WithFrozenCells(f func(cells []Cell)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(append([]Cell{}, d.cells...))
}

// RestoreState makes the document, which must have no cells, what it was in s. It
// gives out one event.
func (d *Document) RestoreState(s State) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.change(Event{Kind: NotebookRestored, CausedBy: ByServer, State: &s})
}

// RestoreSnapshot takes over what the cells of a snapshot showed, of a kernel that is
// gone: what ran then has failed, nothing waits, there are no widgets.
func (r *Executions) RestoreSnapshot(s ExecutionsSnapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.CellStatus)) {
		c, err := r.live(id)
		if c == nil || err != nil {
			continue // more cells than frames can make known
		}
		*c = *newRun(r.cfg.MaxOutputBytes)
		c.count, c.last, c.took = cmp.Or(s.ExecutionCounts[id], s.Sequencers[id]), s.CellStatus[id], s.DurationsMS[id]
		if c.last == StatusRunning {
			c.last = StatusError
		}
		for _, output := range s.Outputs[id] {
			r.reshow(c, output)
		}
	}
}

// reshow shows an output again. One that cannot be read is left out.
func (r *Executions) reshow(c *run, text json.RawMessage) {
	output, err := read(text)
	if err != nil {
		return
	}
	if change, err := r.outputChange(0, output); err == nil && output.err() == nil {
		change(c)
	}
}
