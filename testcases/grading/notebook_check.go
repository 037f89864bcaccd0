package grading

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// gradeNotebookCheck checks the notebook that the agent left, with or without an
// answer: min_cells, the least number of cells with code; no_errors in the cells' last
// runs and, unless the check is live, when they run again (see [noErrorsDemand]); must_use and
// must_not_use, names as whole words outside comments and strings (see [extractCode]); and
// must_run_clean (see [mustRunCleanDemand]). It checks all demands; the score is the share of them
// that is met.
func gradeNotebookCheck(ctx context.Context, config *pyvalue.Object, in Input) (Result, error) {
	demands, isLive, err := readNotebookCheckConfig(config)
	switch {
	case err != nil:
		return Result{}, pyvalue.ValueError("%v", err)
	case in.Notebook == nil:
		return Result{}, newNotebookError("what the notebook was is not known")
	}
	look := inspectNotebook(in)
	look.isLive = isLive
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

// newNotebookError returns an error of kind notebook with a formatted text.
func newNotebookError(text string) *pyvalue.Error {
	return &pyvalue.Error{Kind: "notebook", Text: text}
}

// notebookInspection holds a notebook that a notebook_check grades, with the report so
// far.
type notebookInspection struct {
	*graderReport
	notebook *Notebook
	cells    []inspectedCodeCell
	isLive   bool                                     // the results that the agent's kernel reported are enough
	rerun    func(context.Context) (*Notebook, error) // see Input; nil means not possible
	again    *Notebook                                // the notebook after it was run again; nil: not yet
}

// inspectedCodeCell is a notebook cell that has code, with its position in the notebook
// from 1 and its code without comments and strings.
type inspectedCodeCell struct {
	NotebookCell
	number int    // position in the notebook, from 1
	code   string // the source as extractCode returns it
}

// inspectNotebook returns an inspection of the notebook, with those metrics set that do
// not depend on demands.
func inspectNotebook(in Input) *notebookInspection {
	l := &notebookInspection{graderReport: newGraderReport("Notebook check"), notebook: in.Notebook, rerun: in.Rerun}
	for i, cell := range in.Notebook.Cells {
		if !cell.IsCode {
			continue
		}
		if code := extractCode(in.Notebook.Language, cell.Source); strings.TrimSpace(code) != "" {
			l.cells = append(l.cells, inspectedCodeCell{NotebookCell: cell, number: i + 1, code: code})
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

// failedCells returns the cells whose last run ended with an error or was interrupted.
func (l *notebookInspection) failedCells() []inspectedCodeCell {
	var failing []inspectedCodeCell
	for _, cell := range l.cells {
		if cell.Status == "error" || cell.Status == "interrupted" {
			failing = append(failing, cell)
		}
	}
	return failing
}

// addDemandResult adds the result of one demand to the report: a line, and if ok is
// false also a failure.
func (l *notebookInspection) addDemandResult(ok bool, text string) {
	l.addLine(ok, text)
	if !ok {
		l.addFailure(text)
	}
}

// notebookDemand checks one demand of a notebook_check and reports the result. It
// returns an error if the demand could not be checked.
type notebookDemand func(ctx context.Context, l *notebookInspection) error

// checkNotebookCheckConfig returns an error if the config of a notebook_check is
// malformed.
func checkNotebookCheckConfig(config *pyvalue.Object) error {
	_, _, err := readNotebookCheckConfig(config)
	return err
}

// readNotebookCheckConfig returns the demands of a notebook_check config, and whether it is live. It
// is an error if there is no demand. A value of null, false or an empty list is no demand.
func readNotebookCheckConfig(config *pyvalue.Object) (demands []notebookDemand, isLive bool, err error) {
	readers := []struct {
		key  string
		read func(pyvalue.Value) (notebookDemand, error)
	}{
		{"min_cells", minCellsDemand},
		{"no_errors", newBoolDemandReader(noErrorsDemand)},
		{"must_use", newNamesDemandReader(mustUseDemand)},
		{"must_not_use", newNamesDemandReader(mustNotUseDemand)},
		{"must_run_clean", newBoolDemandReader(mustRunCleanDemand)},
	}
	var keys []string
	for _, r := range readers {
		keys = append(keys, r.key)
		v := config.Get(r.key)
		if v == nil || v == (pyvalue.Null{}) {
			continue
		}
		demand, err := r.read(v)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", r.key, err)
		}
		if demand != nil {
			demands = append(demands, demand)
		}
	}
	if len(demands) == 0 {
		return nil, false, errors.New("want at least one demand of " + strings.Join(keys, ", "))
	}
	if isLive, err = readLive(config); err != nil {
		return nil, false, err
	}
	return demands, isLive, nil
}

// minCellsDemand returns the demand that a notebook has at least v cells with code. It
// is an error if v is not a whole number above 0.
func minCellsDemand(v pyvalue.Value) (notebookDemand, error) {
	least, ok := v.(pyvalue.Int)
	if !ok || least.Big().Sign() < 1 {
		return nil, fmt.Errorf("want an integer of at least 1, found %s", formatValue(v))
	}
	return func(_ context.Context, l *notebookInspection) error {
		ok := big.NewInt(int64(len(l.cells))).Cmp(least.Big()) >= 0
		l.addDemandResult(ok, fmt.Sprintf("%d cells have code, expected at least %s", len(l.cells), least.Big()))
		return nil
	}, nil
}

// noErrorsDemand is the [notebookDemand] that no cell's last run ended with an error or was
// interrupted. Unless the check is live, each cell with code must also end with ok when the notebook
// is run again, because the agent's code may have forged what its kernel reported. It returns an error
// if the notebook cannot be run again.
func noErrorsDemand(ctx context.Context, l *notebookInspection) error {
	failing := l.failedCells()
	for _, cell := range failing {
		l.addDemandResult(false, fmt.Sprintf("cell %d: its last run ended with %s", cell.number, cell.Status))
	}
	switch {
	case len(failing) > 0:
		return nil
	case l.isLive:
		l.addDemandResult(true, "no cell's last run raised or was interrupted")
		return nil
	}
	again, err := l.runAgain(ctx)
	if err != nil {
		return err
	}
	isMet := true
	for _, cell := range l.cells {
		if failure := rerunFailure(again.Cells[cell.number-1]); failure != "" {
			isMet = false
			l.addDemandResult(false, fmt.Sprintf("cell %d, run again: %s", cell.number, failure))
		}
	}
	if isMet {
		l.addDemandResult(true, "no cell raised or was interrupted, neither in its last run nor when run again")
	}
	return nil
}

// newBoolDemandReader returns a function that reads a demand which true switches on; false is no
// demand. A value that is not a boolean is an error.
func newBoolDemandReader(demand notebookDemand) func(pyvalue.Value) (notebookDemand, error) {
	return func(v pyvalue.Value) (notebookDemand, error) {
		wanted, ok := v.(pyvalue.Bool)
		switch {
		case !ok:
			return nil, fmt.Errorf("want true or false, found %s", formatValue(v))
		case !bool(wanted):
			return nil, nil //nolint:nilnil // no demand
		}
		return demand, nil
	}
}

// newNamesDemandReader returns a function that reads a demand whose value is a list of names. An
// empty list is no demand. Another value, and a blank name, are errors.
func newNamesDemandReader(demand func(names []string) notebookDemand) func(pyvalue.Value) (notebookDemand, error) {
	return func(v pyvalue.Value) (notebookDemand, error) {
		list, ok := v.(pyvalue.List)
		if !ok {
			return nil, fmt.Errorf("want a list of names, found %s", formatValue(v))
		}
		var names []string
		for i, item := range list {
			name, ok := item.(pyvalue.String)
			if !ok || strings.TrimSpace(string(name)) == "" {
				return nil, fmt.Errorf("[%d]: want a name, found %s", i, formatValue(item))
			}
			names = append(names, strings.TrimSpace(string(name)))
		}
		if names == nil {
			return nil, nil //nolint:nilnil // no demand
		}
		return demand(names), nil
	}
}

// mustUseDemand returns the demand that each name is a whole word in the code of some
// cell.
func mustUseDemand(names []string) notebookDemand {
	return func(_ context.Context, l *notebookInspection) error {
		missing := pyvalue.List{}
		for _, name := range names {
			if cell := l.firstCellUsing(name); cell != 0 {
				l.addDemandResult(true, fmt.Sprintf("uses %s, in cell %d", name, cell))
				continue
			}
			missing = append(missing, pyvalue.String(name))
			l.addDemandResult(false, fmt.Sprintf("uses %s nowhere in its code", name))
		}
		l.metrics.Set("missing", missing)
		return nil
	}
}

// mustNotUseDemand returns the demand that no name is a whole word in the code of any
// cell.
func mustNotUseDemand(names []string) notebookDemand {
	return func(_ context.Context, l *notebookInspection) error {
		forbidden := pyvalue.List{}
		for _, name := range names {
			cell := l.firstCellUsing(name)
			if cell == 0 {
				l.addDemandResult(true, fmt.Sprintf("does not use %s", name))
				continue
			}
			forbidden = append(forbidden, pyvalue.String(name))
			l.addDemandResult(false, fmt.Sprintf("uses %s, in cell %d, which it must not", name, cell))
		}
		l.metrics.Set("forbidden", forbidden)
		return nil
	}
}

// firstCellUsing returns the number of the first cell whose code has name as a whole
// word, or 0 if no cell has it.
func (l *notebookInspection) firstCellUsing(name string) int {
	for _, cell := range l.cells {
		if containsWord(l.notebook.Language, cell.code, name) {
			return cell.number
		}
	}
	return 0
}
