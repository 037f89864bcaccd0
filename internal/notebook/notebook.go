// Package notebook is a notebook, folded from events and frames. A [Document] has the
// cells and their order: it answers the actions of an agent, and can be built again
// from the events that it gave out. [Executions] has what running the cells has brought:
// status, queue, outputs, logs and widgets, folded from the frames of the kernel.
// [IPYNB] writes both as a Jupyter notebook.
//
// A session whose notebook a console holds has Executions and no Document.
//
// # Goroutines
//
// The package starts none. [Document.Serve] runs on a goroutine of the caller, one per
// session, until its connection ends.
package notebook

// Types of cells.
const (
	CodeCell     = "code"
	MarkdownCell = "markdown"
)

// Cell is one cell of a notebook: id, type, source and title. Its outputs are in [Executions].
type Cell struct {
	ID        string `json:"cell_id"`
	Type      string `json:"cell_type"` // CodeCell or MarkdownCell
	Source    string `json:"source"`
	Title     string `json:"display_name"` // may be empty
	Revision  int    `json:"rev"`          // 1 when created, one more with each edit
	ChangedBy string `json:"by,omitempty"` // who changed it last: one of the constants ByAgent to ByServer; empty: unknown
}

// Values of a cell's status.
const (
	StatusIdle    = "idle"    // it has not run
	StatusRunning = "running" // it runs or waits for the kernel
	StatusRan     = "ran"     // its last run has ended well
	StatusError   = "error"   // its last run raised, was interrupted, or ended with the kernel
)
