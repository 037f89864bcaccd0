package notebook

// RunState says whether one cell runs now or waits for the kernel. It has one
// method for each frame that changes it:
//
//	idle --Queue--> waiting --Start--> started --End--> idle
//
// A started cell can wait at the same time: it was sent, or queued, again. The
// zero value is idle. A RunState is not safe for concurrent use.
type RunState struct {
	waiting bool // run_cell was sent, or run_queue names the cell
	started bool // start_cell has come and cell_result has not
}

// Queue records that a run of the cell waits for the kernel: the server has sent run_cell, or
// the kernel's run_queue names the cell.
func (s *RunState) Queue() { s.waiting = true }

// Start records that the kernel has sent start_cell: the cell runs and no longer waits.
func (s *RunState) Start() { s.waiting, s.started = false, true }

// End records that the kernel has sent cell_result. It ends the run that has started or, for a
// kernel that sends no start_cell, the waiting one.
func (s *RunState) End() {
	if s.started {
		s.started = false
	} else {
		s.waiting = false
	}
}

// IsStarted reports whether the cell is running now.
func (s *RunState) IsStarted() bool { return s.started }

// IsOpen reports whether the cell is running now or waits for the kernel.
func (s *RunState) IsOpen() bool { return s.waiting || s.started }
