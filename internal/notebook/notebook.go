// Package notebook is a notebook as two folds. [Document] is the cells and
// their order: it answers the actions of an agent, and can be built again from
// the events it gave out. [Executions] is what running the cells brought: status,
// queue, outputs and logs, folded from the frames of the kernel. Together they
// are written as a Jupyter notebook by [WriteIPYNB].
//
// A session whose notebook is held by somebody else has Runs and no Document.
package notebook

// The two kinds of cells.
const (
	CodeCell     = "code"
	MarkdownCell = "markdown"
)

// Cell is one cell of a notebook. Its outputs are not here but in [Executions].
type Cell struct {
	ID        string `json:"cell_id"`
	Type      string `json:"cell_type"` // Code or Markdown
	Source    string `json:"source"`
	Title     string `json:"display_name"` // may be empty
	Revision  int    `json:"rev"`          // 1 when created, one more with each edit
	ChangedBy string `json:"by,omitempty"` // who changed it last, as in [OnEvent]; empty: nobody knows
}

// What a cell is doing, as its last run left it.
const (
	StatusIdle    = "idle"    // it never ran
	StatusRunning = "running" // it runs or waits for the kernel
	StatusRan     = "ran"
	StatusError   = "error" // it raised, was interrupted, or the kernel died
)
