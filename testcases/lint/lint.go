// Package lint finds what is wrong with case files, or probably not meant, without
// running them: see [Check]. Codes, levels and places below 100 are shared with the
// linter of the public benchmarks.
package lint

import (
	"fmt"
	"log/slog"
	"path"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"assay/testcases"
	"assay/testcases/grading/pyvalue"
)

// Options changes what is linted. The zero Options lints every case.
type Options struct {
	// Pattern says which files of a folder are linted: a path relative to it, in
	// which ** is any number of folders. Empty: every name of a case file, less
	// files in which no case can be; those are passed over.
	Pattern string
	// Category keeps the cases whose metadata.task it is, and what could not be
	// read. Empty keeps all.
	Category string
	// Data is that of [Options].
	Data map[string]string
	// Log hears of files that were passed over. Nil discards.
	Log *slog.Logger
}

// Report is what [Check] has found. Its JSON form is read by programs.
type Report struct {
	Summary Summary  `json:"summary"`
	Results []Result `json:"results"` // in the order of the paths, and of the cases in a file
}

// Summary counts over all results.
type Summary struct {
	Checked  int `json:"files_checked"`
	Passed   int `json:"files_passed"`
	Errors   int `json:"total_errors"`
	Warnings int `json:"total_warnings"`
}

// Result is about one file, or about one case of a file that holds several.
type Result struct {
	File     string  `json:"file"`   // as [Source.String] has it
	Passed   bool    `json:"passed"` // it has no errors
	Errors   int     `json:"errors"`
	Warnings int     `json:"warnings"`
	Issues   []Issue `json:"issues"` // never nil

	Case *testcases.Case `json:"-"` // as it would be run; nil: it has errors

	// Refusals are why a run would not take the case, where that is no issue:
	// data is missing, or its own linter does not mind. They are logged.
	Refusals []string `json:"-"`
}

// Levels of a [Issue].
const (
	LevelError   = "error"   // the case cannot be run, or can never be passed
	LevelWarning = "warning" // it can be run, but something looks wrong
)

// Issue is one thing that is wrong. What its code means is in [Rules].
type Issue struct {
	Level    string `json:"level"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Location string `json:"location,omitempty"` // the field; empty: the case as a whole
	Fix      *Fix   `json:"fix,omitempty"`      // nil: there is none that a program could make
	Docs     string `json:"docs,omitempty"`     // page and heading to read
}

// Fix is text to replace in the case, in JSON.
type Fix struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Check checks the cases of files, folders and glob patterns. All that is wrong
// with them is in the report, a path that does not exist and a file that cannot
// be read too; a file without errors loads and passes [CheckRun], unless W000,
// W100 or its Refusals say otherwise. The error is about opts: a malformed pattern.
func Check(paths []string, opts Options) (Report, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if _, err := path.Match(strings.ReplaceAll(opts.Pattern, "**", "*"), ""); err != nil {
		return Report{}, fmt.Errorf("pattern %q: %w", opts.Pattern, err)
	}
	files := filesToLint(paths, opts.Pattern)
	found := make([][]caseResult, len(files))
	l := newLinter(opts.Data)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range files {
		group.Go(func() error {
			found[i] = l.checkFile(f)
			return nil
		})
	}
	_ = group.Wait() // what went wrong is in found
	for i, f := range files {
		if found[i] == nil {
			opts.Log.Info("no case in file", "file", f.Path)
		}
	}
	return newReport(found, opts), nil
}

// caseResult is a result in the making.
type caseResult struct {
	Result
	object *pyvalue.Object // the case; nil when there is none to read
}

func newReport(found [][]caseResult, opts Options) Report {
	r := Report{Results: []Result{}}
	docs := map[string]string{}
	for _, rule := range Rules() {
		docs[rule.Code] = rule.Docs
	}
	ids := idCheck{first: map[pyvalue.String]caseLocation{}, log: opts.Log}
	for i, file := range found {
		for _, c := range file {
			if opts.Category != "" && c.object != nil && !isCategory(c.object, opts.Category) {
				continue
			}
			ids.check(&c, i)
			for _, refusal := range c.Refusals {
				opts.Log.Warn("a run would not take the case", "file", c.File, "reason", refusal)
			}
			r.add(c.Result, docs)
		}
	}
	return r
}

func isCategory(object *pyvalue.Object, category string) bool {
	metadata, _ := object.Get("metadata").(*pyvalue.Object)
	return metadata.Get("task") == pyvalue.String(category)
}

// idCheck wants no id twice.
type idCheck struct {
	first map[pyvalue.String]caseLocation
	log   *slog.Logger
}

// caseLocation is where a case stands.
type caseLocation struct {
	file int // its number
	name string
}

// check reports an id that another case has. Files of the public benchmarks do
// share ids, and their own linter does not mind: of those only the log speaks.
func (ids *idCheck) check(c *caseResult, file int) {
	id, ok := c.object.Get("id").(pyvalue.String)
	if !ok || isBlank(string(id)) {
		return
	}
	earlier, taken := ids.first[id]
	switch {
	case !taken:
		ids.first[id] = caseLocation{file, c.File}
	case hasAssayFields(c.object) || earlier.file == file:
		c.Issues = append(c.Issues, newIssue("W100", "id", "%s has the same id %q: no two cases of a run may share one", earlier.name, string(id)))
	default:
		ids.log.Warn("two files have one id, so they cannot be in one run", "id", string(id), "file", c.File, "earlier", earlier.name)
	}
}

// add counts a result in.
func (r *Report) add(result Result, docs map[string]string) {
	found := result.Issues
	result.Issues, result.Passed = []Issue{}, true
	r.Results = append(r.Results, result)
	r.Summary.Checked++
	r.Summary.Passed++
	for _, issue := range found {
		issue.Docs = docs[issue.Code]
		r.count(len(r.Results)-1, issue)
	}
}

// Add adds an issue, of one of the [Rules], to the result with that index.
func (r *Report) Add(i int, code, location, message string) {
	issue := newIssue(code, location, "%s", message)
	for _, rule := range Rules() {
		if rule.Code == code {
			issue.Docs = rule.Docs
		}
	}
	r.count(i, issue)
}

func (r *Report) count(i int, issue Issue) {
	result := &r.Results[i]
	result.Issues = append(result.Issues, issue)
	if issue.Level == LevelWarning {
		result.Warnings++
		r.Summary.Warnings++
		return
	}
	result.Errors++
	r.Summary.Errors++
	if result.Passed {
		result.Passed, result.Case = false, nil
		r.Summary.Passed--
	}
}
