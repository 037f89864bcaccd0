package grading

import (
	"context"
	"errors"
	"fmt"
	"math/big"
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

// notebookDemand looks at a notebook and says what it found; its error is that
// it could not look.
type notebookDemand func(ctx context.Context, l *notebookLook) error

func checkNotebookCheck(config *pyvalue.Object) error {
	_, err := readNotebookCheck(config)
	return err
}

// readNotebookCheck returns what a config demands, at least one thing. What is
// null, false or an empty list demands nothing.
func readNotebookCheck(config *pyvalue.Object) ([]notebookDemand, error) {
	readers := []struct {
		key  string
		read func(pyvalue.Value) (notebookDemand, error)
	}{
		{"min_cells", minCells},
		{"no_errors", flagDemand(noErrors)},
		{"must_use", namesDemand(mustUse)},
		{"must_not_use", namesDemand(mustNotUse)},
		{"must_run_clean", flagDemand(mustRunClean)},
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

func minCells(v pyvalue.Value) (notebookDemand, error) {
	least, ok := v.(pyvalue.Int)
	if !ok || least.Big().Sign() < 1 {
		return nil, fmt.Errorf("want an integer of at least 1, found %s", show(v))
	}
	return func(_ context.Context, l *notebookLook) error {
		ok := big.NewInt(int64(len(l.cells))).Cmp(least.Big()) >= 0
		l.say(ok, fmt.Sprintf("%d cells have code, expected at least %s", len(l.cells), least.Big()))
		return nil
	}, nil
}

func noErrors(_ context.Context, l *notebookLook) error {
	failing := l.failing()
	for _, cell := range failing {
		l.say(false, fmt.Sprintf("cell %d: its last run ended with %s", cell.number, cell.Status))
	}
	if len(failing) == 0 {
		l.say(true, "no cell's last run raised or was interrupted")
	}
	return nil
}

// flagDemand makes a reader of a demand that is made by true.
func flagDemand(demand notebookDemand) func(pyvalue.Value) (notebookDemand, error) {
	return func(v pyvalue.Value) (notebookDemand, error) {
		wanted, ok := v.(pyvalue.Bool)
		switch {
		case !ok:
			return nil, fmt.Errorf("want true or false, found %s", show(v))
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
			return nil, fmt.Errorf("want a list of names, found %s", show(v))
		}
		var names []string
		for i, item := range list {
			name, ok := item.(pyvalue.String)
			if !ok || strings.TrimSpace(string(name)) == "" {
				return nil, fmt.Errorf("[%d]: want a name, found %s", i, show(item))
			}
			names = append(names, strings.TrimSpace(string(name)))
		}
		if names == nil {
			return nil, nil //nolint:nilnil // it demands nothing, which is no error
		}
		return demand(names), nil
	}
}

// mustUse demands that each name stands as a whole word in the code of some cell.
func mustUse(names []string) notebookDemand {
	return func(_ context.Context, l *notebookLook) error {
		missing := pyvalue.List{}
		for _, name := range names {
			if cell := l.using(name); cell != 0 {
				l.say(true, fmt.Sprintf("uses %s, in cell %d", name, cell))
				continue
			}
			missing = append(missing, pyvalue.String(name))
			l.say(false, fmt.Sprintf("uses %s nowhere in its code", name))
		}
		l.metrics.Set("missing", missing)
		return nil
	}
}

// mustNotUse demands that no name does.
func mustNotUse(names []string) notebookDemand {
	return func(_ context.Context, l *notebookLook) error {
		forbidden := pyvalue.List{}
		for _, name := range names {
			cell := l.using(name)
			if cell == 0 {
				l.say(true, fmt.Sprintf("does not use %s", name))
				continue
			}
			forbidden = append(forbidden, pyvalue.String(name))
			l.say(false, fmt.Sprintf("uses %s, in cell %d, which it must not", name, cell))
		}
		l.metrics.Set("forbidden", forbidden)
		return nil
	}
}

// using returns the number of the first cell whose code has name as a whole
// word, 0 where none has.
func (l *notebookLook) using(name string) int {
	for _, cell := range l.cells {
		if hasWord(l.notebook.Language, cell.code, name) {
			return cell.number
		}
	}
	return 0
}
