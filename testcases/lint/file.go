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
	// maxFileBytes is the largest file that is linted, in bytes: what is larger holds
	// data, and could take a hundred times its size in memory.
	maxFileBytes = 16 << 20

	// maxCasesPerFile is the longest list of cases that is linted.
	maxCasesPerFile = 100_000
)

// filesToLint lists the files of paths, each once. A path that leads to no file
// is one with an error.
func filesToLint(paths []string, pattern string) []testcases.FoundFile {
	var files []testcases.FoundFile
	for _, name := range paths {
		found, err := testcases.FindFiles(name)
		if info, statErr := os.Stat(name); pattern != "" && statErr == nil && info.IsDir() {
			found, err = testcases.WalkFiles(name, func(file string) bool { return matches(name, file, pattern) })
			for i := range found {
				found[i].Named = true
			}
		}
		if err != nil {
			found = []testcases.FoundFile{{Path: name, Err: err}}
		}
		files = append(files, found...)
	}
	return testcases.UniqueFiles(files)
}

// matches says whether a file in a folder is one that the pattern names.
func matches(root, file, pattern string) bool {
	name, err := filepath.Rel(root, file)
	return err == nil && matchParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchParts(pattern, name []string) bool {
	switch {
	case len(pattern) == 0:
		return len(name) == 0
	case pattern[0] == "**":
		return matchParts(pattern[1:], name) || len(name) > 0 && matchParts(pattern, name[1:])
	case len(name) == 0:
		return false
	}
	ok, _ := path.Match(pattern[0], name[0]) // Lint has looked at the pattern
	return ok && matchParts(pattern[1:], name[1:])
}

// linter is what all files are linted with. It is safe for concurrent use.
type linter struct {
	data  map[string]string // as in [Options]
	specs map[string]graderSpec

	addressPattern  *regexp.Regexp // an address there
	templatePattern *regexp.Regexp // of an answer: braces without others inside, between tags
	fieldPattern    *regexp.Regexp // in a template
	choicePattern   *regexp.Regexp // placeholder of a multiple choice
}

func newLinter(data map[string]string) *linter {
	const space = `[\t-\r\x1c-\x20\x{85}\p{Z}]*` // of Python
	return &linter{
		data:            data,
		specs:           graderSpecs(),
		addressPattern:  regexp.MustCompile(`^latch://\p{Nd}+\.(account|node)(/.*)?\n?$`),
		templatePattern: regexp.MustCompile(`<EVAL_ANSWER>` + space + `(\{[^}]+\})` + space + `</EVAL_ANSWER>`),
		fieldPattern:    regexp.MustCompile(`"([^"]+)"` + space + `:`),
		choicePattern:   regexp.MustCompile(`"answer"` + space + `:` + space + `"([^"]*)"`),
	}
}

// checkFile lints each case of a file; none is a file that was passed over.
func (l *linter) checkFile(f testcases.FoundFile) []caseResult {
	text, err := readFile(f)
	switch {
	case f.Err != nil:
		return []caseResult{notRead(f.Path, "E000", f.Err)}
	case err != nil:
		return []caseResult{notRead(f.Path, "E001", err)}
	case !f.Named && (len(text) > maxFileBytes || !looksLikeCases(f.Path, text)):
		return nil
	case len(text) > maxFileBytes:
		return []caseResult{notRead(f.Path, "E001", fmt.Errorf("%s: larger than %d MiB, which is no file of cases", f.Path, maxFileBytes>>20))}
	}
	return l.checkText(f.Path, text)
}

// checkText lints each case of a file that has been read.
func (l *linter) checkText(path string, text []byte) []caseResult {
	var results []caseResult
	for i, e := range parseEntries(path, text) {
		result := caseResult{Result: Result{File: e.Place}}
		object, isObject := e.Value.(*pyvalue.Object)
		switch {
		case e.Err != nil:
			result = notRead(e.Place, "E001", e.Err)
		case !isObject:
			result = notRead(e.Place, "E002", fmt.Errorf("want a case, which is an object, found %s", pyvalue.KindOf(e.Value)))
		default:
			result.object = object
			result.Result = l.checkCase(object, testcases.Source{File: path, Index: i, Place: e.Place})
		}
		if !testcases.IsCaseFile(path) {
			result.Issues = append(issues{newIssue("W000", "", "a case file is named %s; assay run would refuse this one", testcases.CaseFileNames)}, result.Issues...)
		}
		results = append(results, result)
	}
	return results
}

func notRead(where, code string, err error) caseResult {
	return caseResult{Result: Result{File: where, Issues: issues{newIssue(code, "", "%v", err)}}}
}

// parseEntries is parse for files of any name. It returns one entry at least.
func parseEntries(path string, text []byte) []testcases.RawCase {
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

// read returns what is in the file, or so much of it that it is too large.
func readFile(f testcases.FoundFile) ([]byte, error) {
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

// looksLikeCases says whether a file in a folder is one of cases, be they broken, and
// neither data nor a list of the cases beside it: JSON that lacks everything, or
// that nobody can read, is.
func looksLikeCases(name string, text []byte) bool {
	switch {
	case filepath.Base(name) == "manifest.json":
		return false
	case filepath.Ext(name) != ".json":
		return testcases.MayHoldCases(text) || testcases.HasKey(text, "task")
	}
	v, err := pyvalue.Decode(string(text))
	switch v := v.(type) {
	case *pyvalue.Object:
		return v.Len() == 0 || slices.ContainsFunc([]string{"task", "grader", "graders", "data_node"}, v.Has)
	case pyvalue.List:
		return len(v) == 0 || testcases.MayHoldCases(text)
	default:
		return err != nil || v != nil
	}
}
