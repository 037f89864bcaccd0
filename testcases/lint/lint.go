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

// CheckOptions are the options of [Check]: which cases and rules to check. The zero
// value checks every case.
type CheckOptions struct {
	// Pattern selects the files of a folder: a path relative to it, in which **
	// matches any number of folders. "" selects all names of case files, but skips
	// files that contain no case.
	Pattern string
	// Category keeps only the cases with that metadata.task, and files that cannot be
	// read. "" keeps all.
	Category string
	// Data is that of [testcases.Options].
	Data map[string]string
	// Log gets the files that are skipped. Nil discards.
	Log *slog.Logger
}

// Report is the result of [Check] for all files. Programs read its JSON.
type Report struct {
	Summary Summary      `json:"summary"`
	Results []FileResult `json:"results"` // in the order of the paths, and of the cases in each file
}

// Summary counts files, errors and warnings over all lint results.
type Summary struct {
	Checked  int `json:"files_checked"`
	Passed   int `json:"files_passed"`
	Errors   int `json:"total_errors"`
	Warnings int `json:"total_warnings"`
}

// FileResult is the lint result for one file, or for one case of a file that contains
// several.
type FileResult struct {
	File     string  `json:"file"`   // see testcases.CaseLocation.String
	Passed   bool    `json:"passed"` // there are no errors
	Errors   int     `json:"errors"`
	Warnings int     `json:"warnings"`
	Issues   []Issue `json:"issues"` // never nil

	Case *testcases.Case `json:"-"` // as a run would load it; nil if there are errors

	// Refusals are reasons for which a run would not take the case and which are no
	// issues: its data is missing, or the linter of the public benchmarks accepts it.
	// They are logged.
	Refusals []string `json:"-"`
}

// Levels of an [Issue].
const (
	LevelError   = "error"   // the case cannot be run, or can never be passed
	LevelWarning = "warning" // the case can be run, but something is probably not meant
)

// Issue is one thing that is wrong with a case. [AllRules] explains its code.
type Issue struct {
	Level    string `json:"level"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Location string `json:"location,omitempty"` // the field; "" means the whole case
	Fix      *Fix   `json:"fix,omitempty"`      // nil if a program cannot fix it
	Docs     string `json:"docs,omitempty"`     // page and heading of the docs
}

// Fix is a replacement of text in the JSON of a case that would correct an issue.
type Fix struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Check lints the cases of files, folders and glob patterns. Everything that is wrong
// is in the report, including paths that do not exist and files that cannot be read. A
// file without errors can be loaded and passes [testcases.CheckRunnable], unless it has
// W000, W100 or Refusals. It returns an error only for a malformed pattern in opts.
func Check(paths []string, opts CheckOptions) (Report, error) {
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
	_ = group.Wait() // errors are in found
	for i, f := range files {
		if found[i] == nil {
			opts.Log.Info("no case in file", "file", f.Path)
		}
	}
	return newLintReport(found, opts), nil
}

// caseResult is the lint result of a case before it is added to the report.
type caseResult struct {
	FileResult
	object *pyvalue.Object // the case; nil if there is none
}

// newLintReport returns the report for the lint results of all files.
func newLintReport(found [][]caseResult, opts CheckOptions) Report {
	r := Report{Results: []FileResult{}}
	docs := map[string]string{}
	for _, rule := range AllRules() {
		docs[rule.Code] = rule.Docs
	}
	ids := duplicateIDChecker{firstUses: map[pyvalue.String]caseLocation{}, log: opts.Log}
	for i, file := range found {
		for _, c := range file {
			if opts.Category != "" && c.object != nil && !isInCategory(c.object, opts.Category) {
				continue
			}
			ids.checkIDIsUnique(&c, i)
			for _, refusal := range c.Refusals {
				opts.Log.Warn("a run would not take the case", "file", c.File, "reason", refusal)
			}
			r.addResult(c.FileResult, docs)
		}
	}
	return r
}

// isInCategory reports whether metadata.task of a case equals category.
func isInCategory(object *pyvalue.Object, category string) bool {
	metadata, _ := object.Get("metadata").(*pyvalue.Object)
	return metadata.Get("task") == pyvalue.String(category)
}

// duplicateIDChecker finds case ids that occur twice.
type duplicateIDChecker struct {
	firstUses map[pyvalue.String]caseLocation
	log       *slog.Logger
}

// caseLocation is the file of a case and its position in it.
type caseLocation struct {
	file int // index of the file
	name string
}

// checkIDIsUnique adds an issue if another case has the same id. Files of the public benchmarks
// do share ids, which their own linter accepts; for those it only logs.
func (ids *duplicateIDChecker) checkIDIsUnique(c *caseResult, file int) {
	id, ok := c.object.Get("id").(pyvalue.String)
	if !ok || isBlank(string(id)) {
		return
	}
	earlier, taken := ids.firstUses[id]
	switch {
	case !taken:
		ids.firstUses[id] = caseLocation{file, c.File}
	case hasAssayFields(c.object) || earlier.file == file:
		c.Issues = append(c.Issues, newIssue("W100", "id", "%s has the same id %q: no two cases of a run may share one", earlier.name, string(id)))
	default:
		ids.log.Warn("two files have one id, so they cannot be in one run", "id", string(id), "file", c.File, "earlier", earlier.name)
	}
}

// addResult adds a result to the report and counts its issues in the summary.
func (r *Report) addResult(result FileResult, docs map[string]string) {
	found := result.Issues
	result.Issues, result.Passed = []Issue{}, true
	r.Results = append(r.Results, result)
	r.Summary.Checked++
	r.Summary.Passed++
	for _, issue := range found {
		issue.Docs = docs[issue.Code]
		r.appendIssue(len(r.Results)-1, issue)
	}
}

// AddIssue adds an issue, with a code of [AllRules], to the result with this index.
func (r *Report) AddIssue(i int, code, location, message string) {
	issue := newIssue(code, location, "%s", message)
	for _, rule := range AllRules() {
		if rule.Code == code {
			issue.Docs = rule.Docs
		}
	}
	r.appendIssue(i, issue)
}

// appendIssue adds an issue to the result with this index, and counts it there and in the
// summary. An error also makes the result one that has not passed.
func (r *Report) appendIssue(i int, issue Issue) {
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
