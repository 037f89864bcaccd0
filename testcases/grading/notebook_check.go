package grading

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// gradeNotebookCheck looks at the notebook that was left behind, whether or not there
// is an answer: min_cells cells with code in them; no_errors of their last runs;
// names that must_use and must_not_use name, as whole words outside of comments
// and strings (see [extractCode]); and must_run_clean (see [mustRunCleanDemand]). All that
// is demanded is looked at; the score is the share that holds.
func gradeNotebookCheck(ctx context.Context, config *pyvalue.Object, in Input) (Result, error) {
	demands, err := readNotebookCheckConfig(config)
	switch {
	case err != nil:
		return Result{}, pyvalue.ValueError("%v", err)
	case in.Notebook == nil:
		return Result{}, notebookError("what the notebook was is not known")
	}
	look := inspectNotebook(in)
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

// notebookInspection is a notebook that is being looked at, and what was found so far.
type notebookInspection struct {
	*report
	notebook *Notebook
	cells    []codeCell
	rerun    func(context.Context) (*Notebook, error) // of [Input]
}

// codeCell is a cell with code in it.
type codeCell struct {
	Cell
	number int    // in the notebook, from 1
	code   string // what [extractCode] leaves of its source
}

// inspectNotebook begins to look, and notes what there is.
func inspectNotebook(in Input) *notebookInspection {
	l := &notebookInspection{report: newReport("Notebook check"), notebook: in.Notebook, rerun: in.Rerun}
	for i, cell := range in.Notebook.Cells {
		if !cell.IsCode {
			continue
		}
		if code := extractCode(in.Notebook.Language, cell.Source); strings.TrimSpace(code) != "" {
			l.cells = append(l.cells, codeCell{Cell: cell, number: i + 1, code: code})
		}
	}
	errors := pyvalue.List{}
	for _, cell := range l.failedCells() {
		errors = append(errors, pyvalue.NewInt(int64(cell.number)))
	}
	l.metrics.Set("cells", pyvalue.NewInt(int64(len(in.Notebook.Cells))))
	l.metrics.Set("code_cells", pyvalue.NewInt(int64(len(l.cells))))
	l.metrics.Set("errors", errors)
	return l
}

// failedCells returns the cells whose last run did not end well.
func (l *notebookInspection) failedCells() []codeCell {
	var failing []codeCell
	for _, cell := range l.cells {
		if cell.Status == "error" || cell.Status == "interrupted" {
			failing = append(failing, cell)
		}
	}
	return failing
}

// addCheck adds a line, which is a failure too where it is not ok.
func (l *notebookInspection) addCheck(ok bool, text string) {
	l.addLine(ok, text)
	if !ok {
		l.addFailure(text)
	}
}

// notebookDemand looks at a notebook and says what it found; its error is that
// it could not look.
type notebookDemand func(ctx context.Context, l *notebookInspection) error

func checkNotebookCheckConfig(config *pyvalue.Object) error {
	_, err := readNotebookCheckConfig(config)
	return err
}

// readNotebookCheckConfig returns what a config demands, at least one thing. What is
// null, false or an empty list demands nothing.
func readNotebookCheckConfig(config *pyvalue.Object) ([]notebookDemand, error) {
	readers := []struct {
		key  string
		read func(pyvalue.Value) (notebookDemand, error)
	}{
		{"min_cells", minCellsDemand},
		{"no_errors", boolDemand(noErrorsDemand)},
		{"must_use", namesDemand(mustUseDemand)},
		{"must_not_use", namesDemand(mustNotUseDemand)},
		{"must_run_clean", boolDemand(mustRunCleanDemand)},
	}
	var demands []notebookDemand
	var keys []string
	for _, r := range readers {
		keys = append(keys, r.key)
		v := config.Get(r.key)
		if v == nil || v == (pyvalue.Null{}) {
			continue
		}
		demand, err := r.read(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.key, err)
		}
		if demand != nil {
			demands = append(demands, demand)
		}
	}
	if len(demands) == 0 {
		return nil, errors.New("want at least one demand of " + strings.Join(keys, ", "))
	}
	return demands, nil
}

func minCellsDemand(v pyvalue.Value) (notebookDemand, error) {
	least, ok := v.(pyvalue.Int)
	if !ok || least.Big().Sign() < 1 {
		return nil, fmt.Errorf("want an integer of at least 1, found %s", showValue(v))
	}
	return func(_ context.Context, l *notebookInspection) error {
		ok := big.NewInt(int64(len(l.cells))).Cmp(least.Big()) >= 0
		l.addCheck(ok, fmt.Sprintf("%d cells have code, expected at least %s", len(l.cells), least.Big()))
		return nil
	}, nil
}

func noErrorsDemand(_ context.Context, l *notebookInspection) error {
	failing := l.failedCells()
	for _, cell := range failing {
		l.addCheck(false, fmt.Sprintf("cell %d: its last run ended with %s", cell.number, cell.Status))
	}
	if len(failing) == 0 {
		l.addCheck(true, "no cell's last run raised or was interrupted")
	}
	return nil
}

// boolDemand makes a reader of a demand that is made by true.
func boolDemand(demand notebookDemand) func(pyvalue.Value) (notebookDemand, error) {
	return func(v pyvalue.Value) (notebookDemand, error) {
		wanted, ok := v.(pyvalue.Bool)
		switch {
		case !ok:
			return nil, fmt.Errorf("want true or false, found %s", showValue(v))
		case !bool(wanted):
			return nil, nil //nolint:nilnil // it demands nothing, which is no error
		}
		return demand, nil
	}
}

// namesDemand makes a reader of a demand about a list of names.
func namesDemand(demand func(names []string) notebookDemand) func(pyvalue.Value) (notebookDemand, error) {
	return func(v pyvalue.Value) (notebookDemand, error) {
		list, ok := v.(pyvalue.List)
		if !ok {
			return nil, fmt.Errorf("want a list of names, found %s", showValue(v))
		}
		var names []string
		for i, item := range list {
			name, ok := item.(pyvalue.String)
			if !ok || strings.TrimSpace(string(name)) == "" {
				return nil, fmt.Errorf("[%d]: want a name, found %s", i, showValue(item))
			}
			names = append(names, strings.TrimSpace(string(name)))
		}
		if names == nil {
			return nil, nil //nolint:nilnil // it demands nothing, which is no error
		}
		return demand(names), nil
	}
}

// mustUseDemand demands that each name stands as a whole word in the code of some cell.
func mustUseDemand(names []string) notebookDemand {
	return func(_ context.Context, l *notebookInspection) error {
		missing := pyvalue.List{}
		for _, name := range names {
			if cell := l.cellUsing(name); cell != 0 {
				l.addCheck(true, fmt.Sprintf("uses %s, in cell %d", name, cell))
				continue
			}
			missing = append(missing, pyvalue.String(name))
			l.addCheck(false, fmt.Sprintf("uses %s nowhere in its code", name))
		}
		l.metrics.Set("missing", missing)
		return nil
	}
}

// mustNotUseDemand demands that no name does.
func mustNotUseDemand(names []string) notebookDemand {
	return func(_ context.Context, l *notebookInspection) error {
		forbidden := pyvalue.List{}
		for _, name := range names {
			cell := l.cellUsing(name)
			if cell == 0 {
				l.addCheck(true, fmt.Sprintf("does not use %s", name))
				continue
			}
			forbidden = append(forbidden, pyvalue.String(name))
			l.addCheck(false, fmt.Sprintf("uses %s, in cell %d, which it must not", name, cell))
		}
		l.metrics.Set("forbidden", forbidden)
		return nil
	}
}

// cellUsing returns the number of the first cell whose code has name as a whole
// word, 0 where none has.
func (l *notebookInspection) cellUsing(name string) int {
	for _, cell := range l.cells {
		if hasWord(l.notebook.Language, cell.code, name) {
			return cell.number
		}
	}
	return 0
}
