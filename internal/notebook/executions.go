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

	// maxFreshBytes is how many bytes of large values of the run in progress are kept
	// beside MaxOutputBytes, so that the agent can be sent them.
	maxFreshBytes = 16 << 20
)

// Executions is what running the cells has brought, folded from the frames of the kernel
// and from what the server has sent it. Frames about a cell that was disposed of are
// ignored until the cell is sent again. It is safe for concurrent use.
//
// Each cell takes memory for at most [ExecutionsConfig.MaxOutputBytes] of outputs, as
// much of widget states, and 16 KiB of logs; the run in progress for 16 MiB of large
// values besides.
type Executions struct {
	cfg ExecutionsConfig

	mu         sync.Mutex
	cells      map[string]*cellExecution
	queue      []string       // cells that wait, from the kernel's last run_queue
	freshOwner *cellExecution // the only cell that may have fresh values; nil: none has
}

// ExecutionsConfig configures [Executions]. The zero value works.
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

// NewExecutions returns an Executions without cells.
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

// MarkSent records that the server has sent the kernel a run_cell for a cell.
func (e *Executions) MarkSent(cellID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.cells[cellID]
	if c == nil || c.disposed {
		c = newCellExecution(e.cfg.MaxOutputBytes)
		e.cells[cellID] = c
	}
	c.Queue()
}

// MarkDisposed records that the server has sent the kernel a dispose_cell for a cell,
// and forgets the cell.
func (e *Executions) MarkDisposed(cellID string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.freshOwner == e.cells[cellID] {
		e.freshOwner = nil
	}
	e.cells[cellID] = &cellExecution{disposed: true}
	e.queue = slices.DeleteFunc(e.queue, func(id string) bool { return id == cellID })
}

// MarkKernelEnded records that the kernel has ended: open runs have failed, the queue is
// empty, there are no widgets, and sequencers start again. Outputs stay.
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

// CellStatus returns the status of a cell, one of the Status constants. An unknown cell
// is idle.
func (e *Executions) CellStatus(cellID string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.seenCell(cellID); c != nil {
		return c.status()
	}
	return StatusIdle
}

// OpenCells returns the ids of the cells that run or wait for the kernel, sorted.
func (e *Executions) OpenCells() []string {
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

// ApplyFrame folds in a frame of the kernel. seq is the number of its entry in the
// trace, env the envelope of body. It keeps no reference to body. Frames that are not
// about runs are ignored. An error names the field that is wrong, or what of the frame
// was left out.
func (e *Executions) ApplyFrame(seq int64, env protocol.Envelope, body []byte) error {
	if err := e.apply(seq, env.Type, body); err != nil {
		return fmt.Errorf("%s frame: %w", env.Type, err)
	}
	return nil
}

func (e *Executions) apply(seq int64, messageType string, body []byte) error {
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

// frameHandler returns the method that folds in frames of a type; nil: they are ignored.
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

// seenCell returns a cell that was seen and not disposed of; otherwise nil. The caller
// holds mu.
func (e *Executions) seenCell(id string) *cellExecution {
	if c := e.cells[id]; c != nil && !c.disposed {
		return c
	}
	return nil
}

// cellOrAdd returns a cell, and adds it if it is new; nil if it was disposed of. It
// returns an error if there are too many cells. The caller holds mu.
func (e *Executions) cellOrAdd(id string) (*cellExecution, error) {
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

// updateCell calls f, with mu held, with a cell, which is added if it is new. It does not
// call f for a cell that was disposed of.
func (e *Executions) updateCell(id string, f func(*cellExecution)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.cellOrAdd(id)
	if c != nil {
		f(c)
	}
	return err
}
