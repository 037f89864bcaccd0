package notebook

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
)

const defaultLanguage = "python"

// sourcesLimit is how many bytes the sources of a document may have together,
// so that a context fits into a frame even when each byte of them is escaped.
const sourcesLimit = 8 << 20

// Document is a notebook that the server holds: cells and their order. It is
// safe for concurrent use.
type Document struct {
	cfg DocumentConfig

	mu    sync.Mutex
	cells []Cell // in order
}

// DocumentConfig is what a Document may be told.
type DocumentConfig struct {
	// Name is the notebook's name in a context; default "notebook".
	NotebookName string

	// Language is what code cells are written in; default "python".
	Language string

	// Runs has status, outputs and widgets of the cells for a context; default
	// one that never saw a frame.
	Executions *Executions

	// Event is called for every change that an action makes, in order and under
	// the document's lock: it must be quick and must not call the document.
	// Default: nobody is told.
	OnEvent func(Event)

	// NewCellID makes the ids of cells; default a random UUID.
	NewCellID func() string
}

// NewDocument returns a document without cells.
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

// SetLanguage says what code cells are written in from now on.
func (d *Document) SetLanguage(language string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Language = language
}

func (d *Document) language() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg.Language
}

// Cells returns the cells in order, as a copy that is never nil.
func (d *Document) Cells() []Cell {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Cell{}, d.cells...)
}

// CellTitle returns the title of a cell, "" for one that has none or is not there.
// It serves as [ExecutionsConfig.CellTitle].
func (d *Document) CellTitle(cellID string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.index(cellID); i >= 0 {
		return d.cells[i].Title
	}
	return ""
}

// index returns the place of a cell, -1 for none. The lock is held.
func (d *Document) index(id string) int {
	return slices.IndexFunc(d.cells, func(c Cell) bool { return c.ID == id })
}

// find returns a cell, good until the cells change. The lock is held.
func (d *Document) find(id string) (*Cell, error) {
	i := d.index(id)
	if i < 0 {
		return nil, unknownCell(id)
	}
	return &d.cells[i], nil
}

func unknownCell(id string) error {
	return fmt.Errorf("cell_id: expected the id of a cell, found %q", id)
}

// admit tells whether source may take the place of one of replaced bytes. The
// lock is held.
func (d *Document) admit(source string, replaced int) error {
	size := len(source) - replaced
	for _, cell := range d.cells {
		size += len(cell.Source)
	}
	if size > sourcesLimit {
		return fmt.Errorf("source: expected at most %d bytes of sources in the notebook, found %d", sourcesLimit, size)
	}
	return nil
}
