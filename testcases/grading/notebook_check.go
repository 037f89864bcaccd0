package grading

import (
	"context"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// notebookCheck looks at the notebook that was left behind, whether or not there
// is an answer: min_cells cells with code in them; no_errors of their last runs;
// names that must_use and must_not_use name, as whole words outside of comments
// and strings (see [codeOf]); and must_run_clean (see [mustRunClean]). All that
// is demanded is looked at; the score is the share that holds.
func notebookCheck(ctx context.Context, config *pyvalue.Object, in Input) (Result, error) {
	demands, err := readNotebookCheck(config)
	switch {
	case err != nil:
		return Result{}, pyvalue.ValueError("%v", err)
	case in.Notebook == nil:
		return Result{}, notebookError("what the notebook was is not known")
	}
	look := lookAt(in)
	held := 0
	for _, demand := range demands {
		before := len(look.failures)
		if err := demand(ctx, look); err != nil {
			return Result{}, err
		}
		if len(look.failures) == before {
			held++
		}
	}
	return look.result(float64(held) / float64(len(demands))), nil
}

func notebookError(text string) *pyvalue.Error { return &pyvalue.Error{Kind: "notebook", Text: text} }

// notebookLook is a notebook that is being looked at, and what was found so far.
type notebookLook struct {
	*report
	notebook *Notebook
	cells    []codeCell
	rerun    func(context.Context) (*Notebook, error) // of [Input]
}

// codeCell is a cell with code in it.
type codeCell struct {
	Cell
	number int    // in the notebook, from 1
	code   string // what [codeOf] leaves of its source
}

// lookAt begins to look, and notes what there is.
func lookAt(in Input) *notebookLook {
	l := &notebookLook{report: newReport("Notebook check"), notebook: in.Notebook, rerun: in.Rerun}
	for i, cell := range in.Notebook.Cells {
		if !cell.Code {
			continue
		}
		if code := codeOf(in.Notebook.Language, cell.Source); strings.TrimSpace(code) != "" {
			l.cells = append(l.cells, codeCell{Cell: cell, number: i + 1, code: code})
		}
	}
	errors := pyvalue.List{}
	for _, cell := range l.failing() {
		errors = append(errors, pyvalue.NewInt(int64(cell.number)))
	}
	l.metrics.Set("cells", pyvalue.NewInt(int64(len(in.Notebook.Cells))))
	l.metrics.Set("code_cells", pyvalue.NewInt(int64(len(l.cells))))
	l.metrics.Set("errors", errors)
	return l
}

// failing returns the cells whose last run did not end well.
func (l *notebookLook) failing() []codeCell {
	var failing []codeCell
	for _, cell := range l.cells {
		if cell.Status == "error" || cell.Status == "interrupted" {
			failing = append(failing, cell)
		}
	}
	return failing
}

// say adds a line, which is a failure too where it is not ok.
func (l *notebookLook) say(ok bool, text string) {
	l.line(ok, text)
	if !ok {
		l.fail(text)
	}
}
