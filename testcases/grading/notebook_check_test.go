package grading_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// pythonNotebook returns a notebook with these Python cells, all of which ended with ok
// and have no output.
func pythonNotebook(sources ...string) *grading.Notebook {
	n := &grading.Notebook{Language: "python"}
	for _, source := range sources {
		n.Cells = append(n.Cells, grading.NotebookCell{IsCode: true, Source: source, Status: "ok"})
	}
	return n
}

func gradeNotebookWithConfig(t *testing.T, config string, in grading.Input) grading.Result {
	t.Helper()
	spec := grading.Spec{Type: "notebook_check", Config: pyvaluetest.MustDecode(t, config)}
	require.NoError(t, grading.CheckSpec(spec), config)
	return grading.Grade(t.Context(), spec, in)
}

func TestNotebookCheckConfig(t *testing.T) {
	t.Parallel()
	for _, config := range []string{
		`{}`, `{"no_errors": false}`, `{"must_use": []}`, `{"min_cells": null}`, `{"other": 1}`,
		`{"min_cells": 0}`, `{"min_cells": "3"}`, `{"min_cells": 2.0}`, `{"min_cells": true}`, `{"no_errors": 1}`,
		`{"must_run_clean": "yes"}`, `{"must_use": "numpy"}`, `{"must_use": [3]}`, `{"must_not_use": [" "]}`,
		`{"min_cells": 1, "must_not_use": {"a": 1}}`, `{"live": true}`, `{"min_cells": 1, "live": 1}`,
	} {
		spec := grading.Spec{Type: "notebook_check", Config: pyvaluetest.MustDecode(t, config), Field: "grader"}
		require.ErrorContains(t, grading.CheckSpec(spec), "field grader.config: ", config)
		got := grading.Grade(t.Context(), spec, grading.Input{Notebook: pythonNotebook("1")})
		require.Equal(t, "value_error", got.Error.Kind, config)
	}
}

func TestNotebookCheckWithoutNotebook(t *testing.T) {
	t.Parallel()
	got := gradeNotebookWithConfig(t, `{"no_errors": true}`, grading.Input{})
	require.Equal(t, &pyvalue.Error{Kind: "notebook", Text: "what the notebook was is not known"}, got.Error)
	got = gradeNotebookWithConfig(t, `{"must_run_clean": true}`, grading.Input{Notebook: pythonNotebook("1")})
	require.Equal(t, &pyvalue.Error{Kind: "notebook", Text: "a notebook cannot be run again here"}, got.Error)
}

func TestNotebookCheckReportsAllDemands(t *testing.T) {
	t.Parallel()
	n := pythonNotebook("import pandas as pd", "# only a comment", "", "df = pd.read_csv('x')", "1/0", "while True: pass")
	n.Cells[4].Status, n.Cells[5].Status = "error", "interrupted"
	n.Cells = append(n.Cells, grading.NotebookCell{Source: "# eval is not used"})
	config := `{"min_cells": 5, "no_errors": true, "must_use": ["pandas", "pd.read_csv", "numpy"], "must_not_use": ["eval"]}`
	got := gradeNotebookWithConfig(t, config, grading.Input{Notebook: n})
	require.False(t, got.Passed)
	require.Nil(t, got.Error)
	require.InDelta(t, 0.25, got.Score, 0)
	require.JSONEq(t, `{"cells": 7, "code_cells": 4, "errors": [5, 6], "missing": ["numpy"], "forbidden": []}`, pyvaluetest.MarshalToString(t, got.Metrics))
	require.Equal(t, `Notebook check: FAIL

x 4 cells have code, expected at least 5
x cell 5: its last run ended with error
x cell 6: its last run ended with interrupted
+ uses pandas, in cell 1
+ uses pd.read_csv, in cell 4
x uses numpy nowhere in its code
+ does not use eval

Failures:
- 4 cells have code, expected at least 5
- cell 5: its last run ended with error
- cell 6: its last run ended with interrupted
- uses numpy nowhere in its code`, got.Reasoning)

	got = gradeNotebookWithConfig(t, `{"min_cells": 4, "no_errors": false, "must_not_use": ["numpy"]}`, grading.Input{Notebook: n})
	require.True(t, got.Passed, got.Reasoning)
	require.InDelta(t, 1, got.Score, 0)
}

func TestNotebookCheckNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language, source, name string
		uses                   bool
	}{
		{"python", "import pandas", "pandas", true},
		{"python", "import geopandas", "pandas", false},
		{"python", "pandas_like = 1", "pandas", false},
		{"python", "x = 1 # pandas", "pandas", false},
		{"python", "x = 'pandas'", "pandas", false},
		{"python", `x = "a \" pandas"`, "pandas", false},
		{"python", "x = '''\npandas\n''' + pandas", "pandas", true},
		{"python", "x = '''\npandas # ''' \"\"\"pandas\"\"\"", "pandas", false},
		{"python", `x = rb"\"; pandas"`, "pandas", false},
		{"python", `x = r"\"; pandas`, "pandas", false},
		{"python", "x = 'not closed\npandas", "pandas", true},
		{"python", "x = '#'; pandas", "pandas", true},
		{"python", `f"{pandas.NA!r:>10} eval"`, "pandas", true},
		{"python", `f"{pandas.NA!r:>10} eval"`, "eval", false},
		{"python", `f"{{pandas}}"`, "pandas", false},
		{"python", `f"{x:{pandas}} eval"; eval`, "pandas", true},
		{"python", `f"{x:{pandas}} eval"`, "eval", false},
		{"python", `f"{a != eval}"`, "eval", true},
		{"python", `f"{d['eval']} {(lambda: {1: 'eval'})()}"`, "eval", false},
		{"python", `rf'''{x[1:2]} eval {pandas}'''`, "pandas", true},
		{"python", `F"\N{EULER CONSTANT} eval"`, "eval", false},
		{"python", "np.linalg.lstsq(a, b)", "np.linalg.lstsq", true},
		{"python", "np . linalg.\\\n  lstsq(a, b)", "np.linalg.lstsq", true},
		{"python", "np.linalg.lstsq_like(a)", "np.linalg.lstsq", false},
		{"python", "mynp.linalg.lstsq(a)", "np.linalg.lstsq", false},
		{"python", "\uff45\uff56\uff41\uff4c('1')", "eval", true},
		{"python", "%timeit x", "%timeit", true},
		{"python", "%%timeit\nx", "%timeit", true},
		{"python", "%timeit_all x", "%timeit", false},
		{"python", "!ls -l", "!ls", true},
		{"python", "x != ls", "!ls", false},
		{"python", "naïve = 1", "na", false},
		{"python", "été = 1", "été", true},
		{"elisp", "(mapcar #'1+ xs)", "mapcar", true},
		{"elisp", "(my-mapcar xs)", "mapcar", false},
		{"elisp", "(mapcar-like xs)", "mapcar", false},
		{"elisp", "; (mapcar", "mapcar", false},
		{"elisp", `(message "mapcar \" mapcar")`, "mapcar", false},
		{"elisp", "(insert ?\") (mapcar", "mapcar", true},
		{"elisp", "(insert ?;) (mapcar", "mapcar", true},
		{"elisp", `(insert ?\") (mapcar`, "mapcar", true},
		{"elisp", "(funcall 'mapcar)", "mapcar", true},
		{"R", "# lm is text as it is", "lm", true},
		{"R", "lmer(x)", "lm", false},
	} {
		n := &grading.Notebook{Language: c.language, Cells: []grading.NotebookCell{{IsCode: true, Source: "1"}, {IsCode: true, Source: c.source}}}
		for key, want := range map[string]bool{"must_use": c.uses, "must_not_use": !c.uses} {
			config := pyvalue.NewObject(key, pyvalue.List{pyvalue.String(c.name)})
			got := grading.Grade(t.Context(), grading.Spec{Type: "notebook_check", Config: config}, grading.Input{Notebook: n})
			require.Equal(t, want, got.Passed, "%s %q in %q: %s", key, c.name, c.source, got.Reasoning)
		}
	}
}

func newRerunReturning(cells []grading.NotebookCell, err error) func(context.Context) (*grading.Notebook, error) {
	return func(context.Context) (*grading.Notebook, error) {
		if err != nil {
			return nil, err
		}
		return &grading.Notebook{Language: "python", Cells: cells}, nil
	}
}

func TestMustRunClean(t *testing.T) {
	t.Parallel()
	cell := func(status, text string) grading.NotebookCell {
		return grading.NotebookCell{IsCode: true, Source: "x", Status: status, Text: text}
	}
	for _, c := range []struct {
		shown, again grading.NotebookCell
		failure      string
	}{
		{cell("ok", "a\nb\n"), cell("ok", "a\nb\n"), ""},
		{cell("ok", "<object at 0x7f0123>, <environment: 0x55d5c8aa>\n"), cell("ok", "<object at 0x7fABC2D5>, <environment: 0x5612345678>\n"), ""},
		{cell("ok", "0x7f0123456789"), cell("ok", "0x7fABC2D5E6F7"), "cell 2, run again: line 1 of its text: expected '0x7f0123456789', found '0x7fABC2D5E6F7'"},
		{cell("ok", "a\nfrom a child\nb"), cell("ok", "from a child\na\nb"), ""},
		{cell("ok", "a\na\nb"), cell("ok", "a\nb\nb"), "cell 2, run again: line 2 of its text: expected 'a', found 'b'"},
		{cell("ok", "a\nb\nc"), cell("ok", "a\nB\nC"), "cell 2, run again: line 2 of its text: expected 'b', found 'B'"},
		{cell("ok", "a\nb"), cell("ok", "a"), "cell 2, run again: line 2 of its text: expected 'b', found its end"},
		{cell("ok", "a"), cell("ok", "a\nb"), "cell 2, run again: line 2 of its text: expected its end, found 'b'"},
		{cell("ok", "0x7g"), cell("ok", "0x8g"), "cell 2, run again: line 1 of its text: expected '0x7g', found '0x8g'"},
		{cell("ok", ""), cell("error", "Traceback\nNameError: x\n"), `cell 2, run again: it ended with error: 'NameError: x'`},
		{cell("error", "E"), cell("error", "E"), "cell 2, run again: it ended with error: 'E'"},
		{cell("error", "E"), cell("ok", ""), "cell 2, run again: it ended with ok, where the notebook shows error"},
		{cell("", ""), cell("ok", ""), "cell 2, run again: the notebook shows no run of it"},
		{cell("ok", ""), cell("", ""), "cell 2, run again: it ended with no run at all"},
		{cell("ok", ""), cell("interrupted", ""), "cell 2, run again: it ended with interrupted"},
	} {
		comment := grading.NotebookCell{IsCode: true, Source: "# never run"}
		n := &grading.Notebook{Language: "python", Cells: []grading.NotebookCell{{Source: "text"}, c.shown, comment}}
		got := gradeNotebookWithConfig(t, `{"must_run_clean": true, "min_cells": 1}`, grading.Input{
			Notebook: n, Rerun: newRerunReturning([]grading.NotebookCell{{Source: "text"}, c.again, comment}, nil),
		})
		require.Nil(t, got.Error)
		require.Equal(t, c.failure == "", got.Passed, got.Reasoning)
		require.Contains(t, got.Reasoning, c.failure)
		differing := `[]`
		if c.failure != "" {
			differing = `[2]`
		}
		require.JSONEq(t, `{"cells": 3, "code_cells": 1, "errors": `+expectedFailedCells(c.shown)+`, "differing": `+differing+`}`, pyvaluetest.MarshalToString(t, got.Metrics))
	}
}

func expectedFailedCells(cell grading.NotebookCell) string {
	if cell.Status == "error" {
		return "[2]"
	}
	return "[]"
}

func TestMustRunCleanWithoutRerun(t *testing.T) {
	t.Parallel()
	in := grading.Input{Notebook: pythonNotebook("1", "2"), Rerun: newRerunReturning(nil, errors.New("no kernel"))}
	got := gradeNotebookWithConfig(t, `{"must_run_clean": true}`, in)
	require.Equal(t, &pyvalue.Error{Kind: "notebook", Text: "the notebook could not be run again: no kernel"}, got.Error)
	in.Rerun = newRerunReturning([]grading.NotebookCell{{IsCode: true}}, nil)
	got = gradeNotebookWithConfig(t, `{"must_run_clean": true}`, in)
	require.Equal(t, "notebook", got.Error.Kind)
}

// no_errors is met only if no cell fails when the notebook is run again, unless the check is live: what
// the agent's kernel reported can be forged.
func TestNoErrorsRunsTheNotebookAgain(t *testing.T) {
	t.Parallel()
	again := []grading.NotebookCell{{IsCode: true, Source: "1", Status: "ok"}, {IsCode: true, Source: "2", Status: "error", Text: "Traceback\nKeyError: 'a'"}}
	in := grading.Input{Notebook: pythonNotebook("1", "2"), Rerun: newRerunReturning(again, nil)}
	got := gradeNotebookWithConfig(t, `{"no_errors": true}`, in)
	require.False(t, got.Passed)
	require.Contains(t, got.Reasoning, `x cell 2, run again: it ended with error: "KeyError: 'a'"`)
	got = gradeNotebookWithConfig(t, `{"no_errors": true, "live": true}`, in)
	require.True(t, got.Passed, got.Reasoning)

	runs := 0
	in.Rerun = func(context.Context) (*grading.Notebook, error) {
		runs++
		return pythonNotebook("1", "2"), nil
	}
	got = gradeNotebookWithConfig(t, `{"no_errors": true, "must_run_clean": true}`, in)
	require.True(t, got.Passed, got.Reasoning)
	require.Equal(t, 1, runs, "both demands are judged on the same run")

	got = gradeNotebookWithConfig(t, `{"no_errors": true}`, grading.Input{Notebook: in.Notebook})
	require.Equal(t, &pyvalue.Error{Kind: "notebook", Text: "a notebook cannot be run again here"}, got.Error)
}

// For any source, extractCode ends, and the code is not longer than the source, except
// for the quotes of strings and spaces around expressions.
func FuzzExtractCode(f *testing.F) {
	for _, source := range []string{`f"{`, `f'{x:{`, `"\`, `?\`, `rb'''`, `f"{f'{f'`, "!=", "'", `{"a": f'{b!r}'}`, "\xff'"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		for _, language := range []string{"python", "elisp"} {
			n := &grading.Notebook{Language: language, Cells: []grading.NotebookCell{{IsCode: true, Source: source}}}
			spec := grading.Spec{Type: "notebook_check", Config: pyvalue.NewObject("must_use", pyvalue.List{pyvalue.String("x")})}
			got := grading.Grade(t.Context(), spec, grading.Input{Notebook: n})
			require.Nil(t, got.Error, source)
		}
	})
}

// Deeply nested or huge source neither exhausts the stack nor hides code from
// must_not_use.
func TestExtractCodeOfHugeSource(t *testing.T) {
	t.Parallel()
	for source, ok := range map[string]bool{
		strings.Repeat(`f"{`, 300_000):           true,
		strings.Repeat(`f'{f"{`, 300_000):        true,
		strings.Repeat("(", 1_000_000):           true,
		"x = 1 # hi\rprint(eval('6*7'))":         false,
		"s = 'a\\\r\nb'; eval('6*7')":            false,
		"f'{1:{2:{eval(\"3\")}}}'":               false,
		strings.Repeat("f'{", 100) + "eval('1')": false,
	} {
		n := &grading.Notebook{Language: "python", Cells: []grading.NotebookCell{{IsCode: true, Source: source, Status: "ok"}}}
		got := gradeNotebookWithConfig(t, `{"must_not_use": ["eval"]}`, grading.Input{Notebook: n})
		require.Nil(t, got.Error)
		require.Equal(t, ok, got.Passed, "%.40q", source)
	}
}
