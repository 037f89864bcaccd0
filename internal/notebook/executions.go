package notebook

import (
	"fmt"
	"slices"
	"sync"

	"assay/internal/protocol"
)

const (
	// Default and least value of ExecutionsConfig.MaxOutputBytes.
	defaultMaxOutputBytes = 1 << 20
	minMaxOutputBytes     = 4 << 10

	// maxCells is how many cells frames can add, so that a faulty kernel cannot fill the
	// memory with names.
	maxCells = 10_000

	// maxRetainedBytes is how many bytes of large values of the run in progress are kept
	// beside MaxOutputBytes, so that the agent can be sent them.
	maxRetainedBytes = 16 << 20
)

// Executions has the results of running a notebook's cells: status, outputs, logs and widgets
// of each cell. They are computed from the kernel's frames and from the commands that the
// server has sent to it. Frames about a cell that was disposed of are ignored until the server
// sends the cell again. It is safe for concurrent use.
//
// Each cell takes memory for at most [ExecutionsConfig.MaxOutputBytes] of outputs, as much of
// widget states, and 16 KiB of logs; the run in progress takes up to 16 MiB of large values in
// addition.
type Executions struct {
	cfg ExecutionsConfig

	mu            sync.Mutex
	cells         map[string]*cellExecution
	queue         []string       // cells that wait, from the kernel's last run_queue
	retainingCell *cellExecution // the only cell that may have retained values; nil: none has
}

// ExecutionsConfig configures [Executions]: how much memory a cell's outputs may take, and
// where titles come from. The zero value works.
type ExecutionsConfig struct {
	// MaxOutputBytes is how much of one cell's outputs is kept in memory: half of it
	// from the beginning and half from the end. Between them text is only counted, and
	// other outputs are kept as references into the trace, as is any output larger than
	// a quarter of MaxOutputBytes. 0 means 1 MiB; less than 4 KiB means 4 KiB.
	MaxOutputBytes int

	// CellTitle returns the title of a cell for [Executions.KernelMessage]. It is called
	// without a lock. nil: cells have no titles.
	CellTitle func(cellID string) string
}

// NewExecutions returns an Executions in which no cell has run.
func NewExecutions(cfg ExecutionsConfig) *Executions {
	if cfg.MaxOutputBytes == 0 {
		cfg.MaxOutputBytes = defaultMaxOutputBytes
	}
	cfg.MaxOutputBytes = max(cfg.MaxOutputBytes, minMaxOutputBytes)
	if cfg.CellTitle == nil {
		cfg.CellTitle = func(string) string { return "" }
	}
	return &Executions{cfg: cfg, cells: map[string]*cellExecution{}}
}

// MarkRunSent records that the server has sent the kernel a run_cell for the cell, which now waits
// to run.
func (e *Executions) MarkRunSent(cellID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.cells[cellID]
	if c == nil || c.disposed {
		c = newCellExecution(e.cfg.MaxOutputBytes)
		e.cells[cellID] = c
	}
	c.Queue()
}

// MarkCellDisposed records that the server has sent the kernel a dispose_cell for the cell, and
// forgets the cell's outputs and state.
func (e *Executions) MarkCellDisposed(cellID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.retainingCell == e.cells[cellID] {
		e.retainingCell = nil
	}
	e.cells[cellID] = &cellExecution{disposed: true}
	e.queue = slices.DeleteFunc(e.queue, func(id string) bool { return id == cellID })
}

// MarkKernelEnded records that the kernel has ended: open runs have failed, the queue and the
// widgets are gone, and run numbers start again. Outputs stay.
func (e *Executions) MarkKernelEnded() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = nil
	for id, c := range e.cells {
		if c.disposed {
			delete(e.cells, id)
			continue
		}
		if c.IsOpen() {
			c.lastStatus = StatusError
		}
		c.RunState, c.sequencer, c.widgets = RunState{}, 0, nil
	}
}

// CellStatus returns the status of the cell with this id, one of the Status constants;
// StatusIdle if the cell is unknown.
func (e *Executions) CellStatus(cellID string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.lookUpCell(cellID); c != nil {
		return c.status()
	}
	return StatusIdle
}

// CellsWithOpenRuns returns the ids of the cells that are running or wait for the kernel, sorted.
func (e *Executions) CellsWithOpenRuns() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var open []string
	for id, c := range e.cells {
		if !c.disposed && c.IsOpen() {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	return open
}

// ApplyFrame updates the executions from a frame of the kernel. seq is the number of the
// frame's trace entry, env the envelope of body, to which no reference is kept. Frames that are
// not about runs are ignored. An error names the field that is wrong, or what of the frame was
// left out.
func (e *Executions) ApplyFrame(seq int64, env protocol.Envelope, body []byte) error {
	if err := e.dispatchFrame(seq, env.Type, body); err != nil {
		return fmt.Errorf("%s frame: %w", env.Type, err)
	}
	return nil
}

// dispatchFrame updates the executions from a frame of the kernel with this type. It fails as
// ApplyFrame does.
func (e *Executions) dispatchFrame(seq int64, messageType string, body []byte) error {
	if protocol.IsRawFrame(body) {
		return e.applyRawStdio(body)
	}
	fold := e.frameHandler(messageType)
	if fold == nil {
		return nil
	}
	frame, err := newObjectReader(body)
	if err != nil {
		return err
	}
	return fold(seq, frame)
}

// frameHandler returns the method that processes the kernel's frames of this type, or nil if
// they are ignored.
func (e *Executions) frameHandler(messageType string) func(seq int64, frame *objectReader) error {
	switch messageType {
	case protocol.TypeStartCell:
		return e.applyStartCell
	case protocol.TypeKernelStdio:
		return e.applyKernelStdio
	case protocol.TypeCellOutput:
		return e.applyCellOutput
	case protocol.TypeCellResult:
		return e.applyCellResult
	case protocol.TypeRunQueue:
		return e.applyRunQueue
	case protocol.TypeCellWidgets:
		return e.applyCellWidgets
	default:
		return nil
	}
}

// lookUpCell returns the state of the cell with this id, or nil if no frame or command was about
// it or it was disposed of. The caller holds mu.
func (e *Executions) lookUpCell(id string) *cellExecution {
	if c := e.cells[id]; c != nil && !c.disposed {
		return c
	}
	return nil
}

// getOrAddCell returns the state of the cell with this id, and adds it if it is new; nil if it was
// disposed of. It fails if there are maxCells cells already. The caller holds mu.
func (e *Executions) getOrAddCell(id string) (*cellExecution, error) {
	c := e.cells[id]
	switch {
	case c == nil && len(e.cells) >= maxCells:
		return nil, fmt.Errorf("cell_id: expected one of %d cells, found another one", maxCells)
	case c == nil:
		c = newCellExecution(e.cfg.MaxOutputBytes)
		e.cells[id] = c
	case c.disposed:
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	return c, nil
}

// updateCell locks mu and calls f with the state of the cell with this id, which is added if it
// is new. It does not call f if the cell was disposed of. It fails if there are maxCells cells
// already.
func (e *Executions) updateCell(id string, f func(*cellExecution)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.getOrAddCell(id)
	if c != nil {
		f(c)
	}
	return err
}
