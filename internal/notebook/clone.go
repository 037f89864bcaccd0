package notebook

import "slices"

// runCost stands for what a cell takes in memory beside its outputs, in bytes.
const runCost = 1 << 10

// Clone returns a Runs that goes on from here by itself. It shares memory with
// this one, but nothing that either changes, and so costs much less than what
// is in it.
func (r *Executions) Clone() *Executions {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &Executions{cfg: r.cfg, cells: make(map[string]*run, len(r.cells)), queue: slices.Clone(r.queue)}
	for id, c := range r.cells {
		own := c.clone()
		out.cells[id] = own
		if c == r.fresh {
			out.fresh = own
		}
	}
	return out
}

// MemoryBytes is what is kept of all cells in memory, in bytes, about.
func (r *Executions) MemoryBytes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := 0
	for id, c := range r.cells {
		size += runCost + len(id) + c.outputs.held() + c.logs.held()
		for _, w := range c.widgets {
			size += len(w.Key) + len(w.State)
		}
	}
	if r.fresh != nil {
		size += r.fresh.outputs.freshSize()
	}
	return size
}

// held is what a tape keeps, in bytes, about.
func (t *tape) held() int {
	if t == nil {
		return 0 // of a cell that is disposed of
	}
	return t.half - t.room + t.size + len(t.middle)*richCost
}

// clone copies a run. Its widgets are replaced as a whole, never changed.
func (c *run) clone() *run {
	out := *c
	out.outputs, out.logs = c.outputs.clone(), c.logs.clone()
	return &out
}

func (t *tape) clone() *tape {
	if t == nil {
		return nil // of a cell that is disposed of
	}
	out := *t
	for _, pieces := range []*[]piece{&out.head, &out.middle, &out.tail} {
		*pieces = slices.Clone(*pieces)
		for i := range *pieces {
			p := &(*pieces)[i]
			p.text = slices.Clip(p.text) // appending to it takes other memory; only the first tape goes on in this
		}
	}
	return &out
}
