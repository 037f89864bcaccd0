package notebook

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// defaultLanguage is the language of code cells and of notebook files unless another one is
// set.
const defaultLanguage = "python"

// maxSourceBytes is how many bytes the sources of all cells of a document may have together.
// The answer to get_context then fits into a frame even if each byte is escaped.
const maxSourceBytes = 8 << 20

// Document holds the cells of a notebook, in order, if the server is the holder of the
// document. It is safe for concurrent use.
type Document struct {
	cfg DocumentConfig

	mu    sync.Mutex
	cells []Cell // in order
}

// DocumentConfig configures a notebook [Document]: name, language and callbacks. The zero value
// works.
type DocumentConfig struct {
	// NotebookName is the notebook's name in a context; empty means "notebook".
	NotebookName string

	// Language is the language of code cells; empty means "python".
	Language string

	// Executions has status, outputs and widgets of the cells for a context. nil: no
	// cell has run.
	Executions *Executions

	// OnEvent is called for every change that an action makes, in order and with the
	// document's lock held: it must return fast and must not call the document. nil: it
	// is not called.
	OnEvent func(Event)

	// NewCellID returns the id of a new cell; nil means a random UUID.
	NewCellID func() string
}

// NewDocument returns a notebook document without cells.
func NewDocument(cfg DocumentConfig) *Document {
	if cfg.NotebookName == "" {
		cfg.NotebookName = "notebook"
	}
	if cfg.Language == "" {
		cfg.Language = defaultLanguage
	}
	if cfg.Executions == nil {
		cfg.Executions = NewExecutions(ExecutionsConfig{})
	}
	if cfg.OnEvent == nil {
		cfg.OnEvent = func(Event) {}
	}
	if cfg.NewCellID == nil {
		cfg.NewCellID = uuid.NewString
	}
	return &Document{cfg: cfg}
}

// SetLanguage sets the language of the notebook's code cells, such as "python".
func (d *Document) SetLanguage(language string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Language = language
}

// codeLanguage returns the language of the notebook's code cells, such as "python".
func (d *Document) codeLanguage() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg.Language
}

// Cells returns a copy of the notebook's cells in order; it is never nil.
func (d *Document) Cells() []Cell {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Cell{}, d.cells...)
}

// CellTitle returns the title of the cell with this id; empty if it has none or there is no
// such cell. It can be used as [ExecutionsConfig.CellTitle].
func (d *Document) CellTitle(cellID string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.cellIndex(cellID); i >= 0 {
		return d.cells[i].Title
	}
	return ""
}

// cellIndex returns the position of the cell with this id, from 0, or -1 if there is none. The
// caller holds mu.
func (d *Document) cellIndex(id string) int {
	return slices.IndexFunc(d.cells, func(c Cell) bool { return c.ID == id })
}

// findCell returns the cell with this id, or an error if there is none. The result may be used
// until the cells change. The caller holds mu.
func (d *Document) findCell(id string) (*Cell, error) {
	i := d.cellIndex(id)
	if i < 0 {
		return nil, unknownCellError(id)
	}
	return &d.cells[i], nil
}

// unknownCellError returns the error which says that there is no cell with this id.
func unknownCellError(id string) error {
	return fmt.Errorf("cell_id: expected the id of a cell, found %q", id)
}

// checkSourceSize returns an error if the sources of all cells would have more than
// maxSourceBytes after a cell's source of replacedBytes bytes was replaced by source. The
// caller holds mu.
func (d *Document) checkSourceSize(source string, replacedBytes int) error {
	size := len(source) - replacedBytes
	for _, cell := range d.cells {
		size += len(cell.Source)
	}
	if size > maxSourceBytes {
		return fmt.Errorf("source: expected at most %d bytes of sources in the notebook, found %d", maxSourceBytes, size)
	}
	return nil
}
