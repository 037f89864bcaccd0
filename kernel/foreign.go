package kernel

import (
	"strings"

	"github.com/tidwall/gjson"

	"assay/internal/protocol"
)

// frameCompleter adds to the frames of a kernel that does not come with Assay what an older form of
// the protocol leaves out, so that everyone behind it can rely on these fields:
//
//   - run_sequencer of a start_cell, cell_output and cell_result. Without it, the runs are counted.
//   - status and has_exception of a cell_result. The one follows from the other; without both, a run
//     with an exception has failed. A failed run that was stopped, and whose exception ends with
//     KeyboardInterrupt, was interrupted.
//
// Fields that a frame has are never changed. Only one goroutine may use it.
type frameCompleter struct {
	isStopping func(cellID string) bool // whether a stop_cell was sent for the cell's run

	lastRun    int64            // run_sequencer of the last run that started
	runsByCell map[string]int64 // run_sequencer of the cell's last run
}

// newFrameCompleter returns a frameCompleter for a kernel that has run nothing yet.
func newFrameCompleter(isStopping func(cellID string) bool) *frameCompleter {
	return &frameCompleter{isStopping: isStopping, runsByCell: map[string]int64{}}
}

// complete returns the frame with the fields that it lacks.
func (c *frameCompleter) complete(frame []byte) []byte {
	kind := frameTypeOf(frame)
	var missing []protocol.Field
	switch cell := cellIDOf(frame); kind {
	case protocol.TypeStartCell:
		missing = c.startRun(cell, frame)
	case protocol.TypeCellOutput:
		missing = c.runOf(cell, frame)
	case protocol.TypeCellResult:
		missing = append(c.runOf(cell, frame), c.endOfRun(cell, frame)...)
	}
	if missing == nil {
		return frame
	}
	completed, err := protocol.ReplaceFields(frame, append([]protocol.Field{{Name: "type", Value: kind}}, missing...)...)
	if err != nil {
		return frame // malformed: the router reports it
	}
	return completed
}

// startRun notes the run that a start_cell begins, and returns its run_sequencer if the frame has none.
// Without a cell, it says that the kernel is idle.
func (c *frameCompleter) startRun(cell string, frame []byte) []protocol.Field {
	sequencer := gjson.GetBytes(frame, "run_sequencer")
	switch {
	case sequencer.Type == gjson.Number:
		c.lastRun = sequencer.Int()
	case cell != "":
		c.lastRun++
	}
	if cell != "" {
		c.runsByCell[cell] = c.lastRun
	}
	if sequencer.Type == gjson.Number {
		return nil
	}
	return []protocol.Field{{Name: "run_sequencer", Value: c.lastRun}}
}

// runOf returns the run_sequencer of the cell's last run, if the frame has none.
func (c *frameCompleter) runOf(cell string, frame []byte) []protocol.Field {
	if gjson.GetBytes(frame, "run_sequencer").Type == gjson.Number {
		return nil
	}
	return []protocol.Field{{Name: "run_sequencer", Value: c.runsByCell[cell]}}
}

// endOfRun returns status and has_exception of a cell_result, if it lacks them.
func (c *frameCompleter) endOfRun(cell string, frame []byte) (missing []protocol.Field) {
	fields := gjson.GetManyBytes(frame, "status", "has_exception", "exception")
	status, hasException, exception := fields[0], fields[1], strings.TrimSpace(fields[2].String())
	isKnown := status.Type == gjson.String
	failed := hasException.Type == gjson.True || !hasException.IsBool() && exception != ""
	if isKnown {
		failed = status.Str != protocol.StatusOK
	}
	if !isKnown {
		text := protocol.StatusOK
		switch {
		case failed && c.isStopping(cell) && strings.HasPrefix(exception[strings.LastIndexByte(exception, '\n')+1:], "KeyboardInterrupt"):
			text = protocol.StatusInterrupted
		case failed:
			text = protocol.StatusError
		}
		missing = append(missing, protocol.Field{Name: "status", Value: text})
	}
	if !hasException.IsBool() {
		missing = append(missing, protocol.Field{Name: "has_exception", Value: failed})
	}
	return missing
}
