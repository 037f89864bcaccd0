package lint

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"assay/testcases"
	"assay/testcases/grading/pyvalue"
)

const (
	// maxFileBytes is the size of the largest file that is checked. A larger one
	// contains data, and could need a hundred times its size in memory.
	maxFileBytes = 16 << 20

	// maxCasesPerFile is the length of the longest list of cases that is checked.
	maxCasesPerFile = 100_000
)

// filesToLint returns the files of all paths, each once. A path without files is
// returned with an error, so that it gets a result.
func filesToLint(paths []string, pattern string) []testcases.CasePath {
	var files []testcases.CasePath
	for _, name := range paths {
		found, err := testcases.FindCaseFiles(name)
		if info, statErr := os.Stat(name); pattern != "" && statErr == nil && info.IsDir() {
			found, err = testcases.ListFilesRecursively(name, func(file string) bool { return matchesFilePattern(name, file, pattern) })
			for i := range found {
				found[i].Named = true
			}
		}
		if err != nil {
			found = []testcases.CasePath{{Path: name, Err: err}}
		}
		files = append(files, found...)
	}
	return testcases.UniqueCasePaths(files)
}

// matchesFilePattern reports whether the pattern matches the path of a file, relative
// to the folder root.
func matchesFilePattern(root, file, pattern string) bool {
	name, err := filepath.Rel(root, file)
	return err == nil && matchesPathParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

// matchesPathParts reports whether the parts of a pattern match the parts of a path. **
// matches any number of parts.
func matchesPathParts(pattern, name []string) bool {
	switch {
	case len(pattern) == 0:
		return len(name) == 0
	case pattern[0] == "**":
		return matchesPathParts(pattern[1:], name) || len(name) > 0 && matchesPathParts(pattern, name[1:])
	case len(name) == 0:
		return false
	}
	ok, _ := path.Match(pattern[0], name[0]) // Check has validated the pattern
	return ok && matchesPathParts(pattern[1:], name[1:])
}

// linter checks files; it holds what the checks of all files share, such as the
// compiled patterns. It is safe for concurrent use.
type linter struct {
	data  map[string]string // see Options.Data
	specs map[string]graderSpec

	addressPattern  *regexp.Regexp // an address of the platform
	templatePattern *regexp.Regexp // the JSON of an answer template: braces without nested ones, between tags
	fieldPattern    *regexp.Regexp // a field of a template
	choicePattern   *regexp.Regexp // the placeholder of a multiple choice in a template
}

// newLinter returns a linter with its patterns compiled. A malformed pattern is an
// error.
func newLinter(data map[string]string) *linter {
	const space = `[\t-\r\x1c-\x20\x{85}\p{Z}]*` // white space as Python defines it
	return &linter{
		data:            data,
		specs:           graderSpecs(),
		addressPattern:  regexp.MustCompile(`^latch://\p{Nd}+\.(account|node)(/.*)?\n?$`),
		templatePattern: regexp.MustCompile(`<EVAL_ANSWER>` + space + `(\{[^}]+\})` + space + `</EVAL_ANSWER>`),
		fieldPattern:    regexp.MustCompile(`"([^"]+)"` + space + `:`),
		choicePattern:   regexp.MustCompile(`"answer"` + space + `:` + space + `"([^"]*)"`),
	}
}

// checkFile checks each case of a file and returns the results. It returns none if the
// file is skipped.
func (l *linter) checkFile(f testcases.CasePath) []caseResult {
	text, err := readFile(f)
	switch {
	case f.Err != nil:
		return []caseResult{unreadableResult(f.Path, "E000", f.Err)}
	case err != nil:
		return []caseResult{unreadableResult(f.Path, "E001", err)}
	case !f.Named && (len(text) > maxFileBytes || !looksLikeCaseFile(f.Path, text)):
		return nil
	case len(text) > maxFileBytes:
		return []caseResult{unreadableResult(f.Path, "E001", fmt.Errorf("%s: larger than %d MiB, which is no file of cases", f.Path, maxFileBytes>>20))}
	}
	return l.checkText(f.Path, text)
}

// checkText checks each case in the text of a file and returns the results.
func (l *linter) checkText(path string, text []byte) []caseResult {
	var results []caseResult
	for i, e := range parseCaseEntries(path, text) {
		result := caseResult{FileResult: FileResult{File: e.Place}}
		object, isObject := e.Value.(*pyvalue.Object)
		switch {
		case e.Err != nil:
			result = unreadableResult(e.Place, "E001", e.Err)
		case !isObject:
			result = unreadableResult(e.Place, "E002", fmt.Errorf("want a case, which is an object, found %s", pyvalue.KindOf(e.Value)))
		default:
			result.object = object
			result.FileResult = l.checkCase(object, testcases.CaseLocation{File: path, Index: i, Place: e.Place})
		}
		if !testcases.IsCaseFile(path) {
			result.Issues = append(issueList{newIssue("W000", "", "a case file is named %s; assay run would refuse this one", testcases.CaseFileExtensions)}, result.Issues...)
		}
		results = append(results, result)
	}
	return results
}

// unreadableResult returns the lint result for a file, or an entry of a file, that
// cannot be read as a case.
func unreadableResult(where, code string, err error) caseResult {
	return caseResult{FileResult: FileResult{File: where, Issues: issueList{newIssue(code, "", "%v", err)}}}
}

// parseCaseEntries returns the values in the text of a file that should be cases, at least
// one. The file may have any name.
func parseCaseEntries(path string, text []byte) []testcases.RawCase {
	var entries []testcases.RawCase
	if testcases.IsCaseFile(path) {
		entries = testcases.ParseRawCases(path, text)
	} else {
		entries = testcases.ParseRawJSON(path, string(text))
	}
	switch {
	case len(entries) == 0:
		return []testcases.RawCase{{Place: path, Value: pyvalue.List{}}}
	case len(entries) > maxCasesPerFile:
		return []testcases.RawCase{{Place: path, Err: fmt.Errorf("%s: a list of %d, more than %d, is no file of cases", path, len(entries), maxCasesPerFile)}}
	}
	return entries
}

// readFile returns the content of a file, at most one byte more than maxFileBytes. It
// fails if the file cannot be read.
func readFile(f testcases.CasePath) ([]byte, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFileBytes+1))
}

// looksLikeCaseFile reports whether a file in a folder is probably meant to contain
// cases, even malformed ones, rather than data or a list of the cases next to it. A
// malformed or empty JSON file counts as cases.
func looksLikeCaseFile(name string, text []byte) bool {
	switch {
	case filepath.Base(name) == "manifest.json":
		return false
	case filepath.Ext(name) != ".json":
		return testcases.TextLooksLikeCases(text) || testcases.TextHasKey(text, "task")
	}
	v, err := pyvalue.Decode(string(text))
	switch v := v.(type) {
	case *pyvalue.Object:
		return v.Len() == 0 || slices.ContainsFunc([]string{"task", "grader", "graders", "data_node"}, v.Has)
	case pyvalue.List:
		return len(v) == 0 || testcases.TextLooksLikeCases(text)
	default:
		return err != nil || v != nil
	}
}
