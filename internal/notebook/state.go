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
	Cells      []Cell   `json:"cells"` // in order, never nil
	Executions Snapshot `json:"runs"`
}

// Freeze calls f with the cells in order. While it runs nothing changes, and no
// event is given out; f must not call the document.
func (d *Document) Freeze(f func(cells []Cell)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(append([]Cell{}, d.cells...))
}

// Restore makes the document, which must have no cells, what it was in s. It
// gives out one event.
func (d *Document) Restore(s State) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.change(Event{Kind: NotebookRestored, By: ByServer, State: &s})
}

// Restore takes over what the cells of a snapshot showed, of a kernel that is
// gone: what ran then has failed, nothing waits, there are no widgets.
func (r *Executions) Restore(s Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.Status)) {
		c, err := r.live(id)
		if c == nil || err != nil {
			continue // more cells than frames can make known
		}
		*c = *newRun(r.cfg.TextLimit)
		c.count, c.last, c.took = cmp.Or(s.Counts[id], s.Sequencers[id]), s.Status[id], s.Durations[id]
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
