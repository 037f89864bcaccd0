package notebook

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"assay/internal/protocol"
)

func (r *Executions) startCell(_ int64, frame *reader) error {
	id, sequencer := frame.optionalText("cell_id"), frame.optionalInteger("run_sequencer")
	if err := frame.err(); err != nil {
		return err
	}
	if id == "" {
		r.idle()
		return nil
	}
	return r.change(id, func(c *run) {
		r.release()
		c.start(sequencer, r.cfg.MaxOutputBytes)
		if i := slices.Index(r.queue, id); i >= 0 {
			r.queue = slices.Delete(r.queue, i, i+1)
		}
	})
}

// idle closes what a kernel that has become idle has left without a result. A
// run that has not started may still be on its way to the kernel.
func (r *Executions) idle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cells {
		if c.IsStarted() {
			c.end(StatusRan)
		}
	}
}

// cellResult is lenient, as a run whose result is not understood never ends.
func (r *Executions) cellResult(_ int64, frame *reader) error {
	id := frame.id("cell_id")
	if err := frame.err(); err != nil {
		return err
	}
	exception := exceptionOf(frame.members["exception"])
	status, _ := unquote(frame.members["status"])
	failed := exception != "" || string(frame.members["has_exception"]) == "true" ||
		status == protocol.StatusError || status == protocol.StatusInterrupted
	took := milliseconds(frame.members["duration_ms"])
	return r.change(id, func(c *run) {
		c.took = took
		if !failed {
			c.end(StatusRan)
			return
		}
		c.explain(exception)
		c.end(StatusError)
	})
}

// milliseconds returns a duration, 0 for what is none.
func milliseconds(value json.RawMessage) float64 {
	took, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(took > 0) || math.IsInf(took, 1) {
		return 0
	}
	return took
}

// exceptionOf returns an exception as text, "" where there was none.
func exceptionOf(value json.RawMessage) string {
	if string(value) == "false" {
		return ""
	}
	return valueText(value)
}

func (r *Executions) runQueue(_ int64, frame *reader) error {
	queue := frame.strings("queue")
	if err := frame.err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = nil
	for _, id := range queue {
		c, err := r.live(id)
		if err != nil {
			return err
		}
		if c != nil {
			c.Queue()
			r.queue = append(r.queue, id)
		}
	}
	return nil
}

func (r *Executions) kernelStdio(_ int64, frame *reader) error {
	id, text := frame.optionalText("active_cell"), frame.text("data")
	stream := frame.oneOf("stream", protocol.Stdout, protocol.Stderr)
	if err := frame.err(); err != nil {
		return err
	}
	return r.stdio(id, stream, []byte(text))
}

func (r *Executions) rawStdio(body []byte) error {
	raw, err := protocol.ParseRawFrame(body)
	if err != nil {
		return err
	}
	return r.stdio(raw.CellID, raw.Stream, raw.Text)
}

// stdio folds in text; what no cell has written is in the trace only.
func (r *Executions) stdio(id, stream string, text []byte) error {
	if id == "" || len(text) == 0 {
		return nil
	}
	return r.change(id, func(c *run) { c.write(stream, text) })
}
