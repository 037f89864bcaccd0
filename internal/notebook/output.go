package notebook

import (
	"fmt"

	"assay/internal/protocol"
)

func (r *Executions) cellOutput(seq int64, frame *reader) error {
	id, output := frame.id("cell_id"), frame.object("output")
	if err := frame.err(); err != nil {
		return err
	}
	change, err := r.outputChange(seq, output)
	if err == nil {
		err = output.err()
	}
	if err != nil {
		return err
	}
	return r.change(id, change)
}

// outputChange returns what an output does to the run that shows it. It is not
// to be done when output has a complaint.
func (r *Executions) outputChange(seq int64, output *reader) (func(*run), error) {
	kind := output.text("output_type")
	switch kind {
	case clearOutput:
		wait := output.flag("wait")
		return func(c *run) { c.clear(wait) }, nil
	case streamOutput:
		stream, text := output.oneOf("name", protocol.Stdout, protocol.Stderr), output.lines("text")
		return func(c *run) { c.write(stream, []byte(text)) }, nil
	case updateDisplay:
		content := readRich(seq, kind, output)
		return func(c *run) { r.update(c, content) }, nil
	case displayData, executeResult, errorOutput:
		content := readRich(seq, kind, output)
		return func(c *run) { c.show(r.fit(c, content)) }, nil
	default:
		return nil, fmt.Errorf("output.output_type: expected a kind of nbformat output, found %q", kind)
	}
}

// fit makes an output small enough to be kept by c. The run in progress may
// hold large values besides. The lock is held.
func (r *Executions) fit(c *run, content *rich) *rich {
	hold := 0
	if c.IsStarted() {
		if r.fresh != c {
			r.release()
			r.fresh = c
		}
		hold = max(0, freshLimit-c.outputs.freshSize())
	}
	return content.fitted(c.room(), hold)
}

// update replaces a display, whichever cells show it. The lock is held.
func (r *Executions) update(from *run, content *rich) {
	if content.displayID == "" {
		return
	}
	content = r.fit(from, content)
	elsewhere := content.released()
	for _, c := range r.cells {
		switch {
		case c.disposed:
		case c == from:
			c.outputs.update(content)
		default:
			c.outputs.update(elsewhere)
		}
	}
}

// release lets go of the values that are held of the run before. The lock is
// held.
func (r *Executions) release() {
	if r.fresh != nil {
		r.fresh.outputs.release()
		r.fresh = nil
	}
}
