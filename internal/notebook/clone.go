package notebook

import "slices"

// cellOverheadBytes is roughly how much memory a cell's execution state takes beside its
// outputs.
const cellOverheadBytes = 1 << 10

// Clone returns a copy of the executions. Frames applied to one of the two later do not change
// the other. They share memory that does not change, so the copy costs much less than its
// content.
func (e *Executions) Clone() *Executions {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := &Executions{cfg: e.cfg, cells: make(map[string]*cellExecution, len(e.cells)), queue: slices.Clone(e.queue)}
	for id, c := range e.cells {
		own := c.clone()
		out.cells[id] = own
		if c == e.retainingCell {
			out.retainingCell = own
		}
	}
	return out
}

// MemoryBytes returns roughly how many bytes of memory the cells' outputs, widgets and states
// take.
func (e *Executions) MemoryBytes() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	size := 0
	for id, c := range e.cells {
		size += cellOverheadBytes + len(id) + c.outputs.memoryBytes() + c.logs.memoryBytes()
		for _, w := range c.widgets {
			size += len(w.Key) + len(w.State)
		}
	}
	if e.retainingCell != nil {
		size += e.retainingCell.outputs.retainedValueBytes()
	}
	return size
}

// memoryBytes returns roughly how many bytes of memory the buffered outputs take. b may be nil.
func (b *outputBuffer) memoryBytes() int {
	if b == nil {
		return 0
	}
	return b.halfBytes - b.headRoom + b.tailBytes + len(b.middle)*outputOverheadBytes
}

// clone returns an independent copy of a cell's execution state. The two share the list of
// widgets, which is only ever replaced as a whole.
func (c *cellExecution) clone() *cellExecution {
	out := *c
	out.outputs, out.logs = c.outputs.clone(), c.logs.clone()
	return &out
}

// clone returns an independent copy of the buffer, or nil for nil. The two share the text that
// they have now.
func (b *outputBuffer) clone() *outputBuffer {
	if b == nil {
		return nil
	}
	out := *b
	for _, pieces := range []*[]bufferPiece{&out.head, &out.middle, &out.tail} {
		*pieces = slices.Clone(*pieces)
		for i := range *pieces {
			p := &(*pieces)[i]
			p.text = slices.Clip(p.text) // so that appending to the copy takes new memory; only the original goes on in this
		}
	}
	return &out
}
