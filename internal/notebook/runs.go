package notebook

import (
	"fmt"
	"slices"
	"sync"

	"assay/internal/protocol"
)

const (
	defaultTextLimit = 1 << 20
	leastTextLimit   = 4 << 10

	// mostCells is how many cells frames can make known, so that a kernel that
	// has gone wrong cannot fill the memory with names.
	mostCells = 10_000

	// freshLimit is how many bytes are held, beside MaxOutputBytes, of large values
	// that the run in progress has shown, so that they can go to the agent.
	freshLimit = 16 << 20
)

// Executions is what running the cells brought, folded from the frames of the kernel
// and from what the server wrote to it. The fold ignores a cell from its
// disposal on, until it is sent again. It is safe for concurrent use.
//
// Each cell takes memory for [ExecutionsConfig.MaxOutputBytes] bytes of outputs, as many of
// widget states and 16 KiB of logs; the run in progress 16 MiB of large values
// besides.
type Executions struct {
	cfg ExecutionsConfig

	mu    sync.Mutex
	cells map[string]*run
	queue []string // cells that wait, as the kernel said last
	fresh *run     // the only cell that may hold fresh values; may be nil
}

// ExecutionsConfig is what Runs may be told.
type ExecutionsConfig struct {
	// MaxOutputBytes is how many bytes of the outputs of one cell are kept in
	// memory: the first half and the last half. Of what lies between, text is
	// only counted, other outputs are kept as references into the trace; so is
	// an output of more than a quarter of it. Default 1 MiB, at least 4 KiB.
	MaxOutputBytes int

	// CellTitle returns the title of a cell for [Runs.KernelMessage]. It is
	// called without any lock. Default: cells have no titles.
	CellTitle func(cellID string) string
}

// NewExecutions returns a Runs that has seen nothing.
func NewExecutions(cfg ExecutionsConfig) *Executions {
	if cfg.MaxOutputBytes == 0 {
		cfg.MaxOutputBytes = defaultTextLimit
	}
	cfg.MaxOutputBytes = max(cfg.MaxOutputBytes, leastTextLimit)
	if cfg.CellTitle == nil {
		cfg.CellTitle = func(string) string { return "" }
	}
	return &Executions{cfg: cfg, cells: map[string]*run{}}
}

// MarkSent notes that the server has written run_cell for a cell.
func (r *Executions) MarkSent(cellID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.cells[cellID]
	if c == nil || c.disposed {
		c = newRun(r.cfg.MaxOutputBytes)
		r.cells[cellID] = c
	}
	c.Queue()
}

// MarkDisposed notes that the server has written dispose_cell for a cell: nothing
// is known of it any more.
func (r *Executions) MarkDisposed(cellID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fresh == r.cells[cellID] {
		r.fresh = nil
	}
	r.cells[cellID] = &run{disposed: true}
	r.queue = slices.DeleteFunc(r.queue, func(id string) bool { return id == cellID })
}

// MarkKernelEnded notes that the kernel is gone: runs that were open have failed, nothing
// waits, widgets are gone and sequencers start anew. Outputs stay.
func (r *Executions) MarkKernelEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = nil
	for id, c := range r.cells {
		if c.disposed {
			delete(r.cells, id)
			continue
		}
		if c.IsOpen() {
			c.last = StatusError
		}
		c.RunState, c.sequencer, c.widgets = RunState{}, 0, nil
	}
}

// CellStatus returns what a cell is doing: one of the Status constants.
func (r *Executions) CellStatus(cellID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.known(cellID); c != nil {
		return c.status()
	}
	return StatusIdle
}

// OpenCells returns the cells that run or wait to, sorted.
func (r *Executions) OpenCells() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var open []string
	for id, c := range r.cells {
		if !c.disposed && c.IsOpen() {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	return open
}

// ApplyFrame folds in a frame of the kernel: the body that is entry seq of the trace,
// with the envelope that was read from it. Of body nothing is kept. A frame
// that Runs has no use for is passed over; one that it cannot follow is an
// error, which names the field.
func (r *Executions) ApplyFrame(seq int64, env protocol.Envelope, body []byte) error {
	if err := r.apply(seq, env.Type, body); err != nil {
		return fmt.Errorf("%s frame: %w", env.Type, err)
	}
	return nil
}

func (r *Executions) apply(seq int64, kind string, body []byte) error {
	if protocol.IsRawFrame(body) {
		return r.rawStdio(body)
	}
	fold := r.fold(kind)
	if fold == nil {
		return nil
	}
	frame, err := read(body)
	if err != nil {
		return err
	}
	return fold(seq, frame)
}

func (r *Executions) fold(kind string) func(seq int64, frame *reader) error {
	switch kind {
	case protocol.TypeStartCell:
		return r.startCell
	case protocol.TypeKernelStdio:
		return r.kernelStdio
	case protocol.TypeCellOutput:
		return r.cellOutput
	case protocol.TypeCellResult:
		return r.cellResult
	case protocol.TypeRunQueue:
		return r.runQueue
	case protocol.TypeCellWidgets:
		return r.cellWidgets
	default:
		return nil
	}
}

// known returns a cell that was seen, else nil. The lock is held.
func (r *Executions) known(id string) *run {
	if c := r.cells[id]; c != nil && !c.disposed {
		return c
	}
	return nil
}

// live returns a cell, seen or not, or nil for one that is disposed of. The
// lock is held.
func (r *Executions) live(id string) (*run, error) {
	c := r.cells[id]
	switch {
	case c == nil && len(r.cells) >= mostCells:
		return nil, fmt.Errorf("cell_id: expected one of %d cells, found another one", mostCells)
	case c == nil:
		c = newRun(r.cfg.MaxOutputBytes)
		r.cells[id] = c
	case c.disposed:
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	return c, nil
}

// change calls f, under the lock, for a cell that is not disposed of.
func (r *Executions) change(id string, f func(*run)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.live(id)
	if c != nil {
		f(c)
	}
	return err
}
