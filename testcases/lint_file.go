package testcases

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

const (
	// maxLinted is the largest file that is linted, in bytes: what is larger holds
	// data, and could take a hundred times its size in memory.
	maxLinted = 16 << 20

	// maxEntries is the longest list of cases that is linted.
	maxEntries = 100_000
)

// filesToLint lists the files of paths, each once. A path that leads to no file
// is one with an error.
func filesToLint(paths []string, pattern string) []foundFile {
	var files []foundFile
	for _, name := range paths {
		found, err := findOne(name)
		if info, statErr := os.Stat(name); pattern != "" && statErr == nil && info.IsDir() {
			found, err = walk(name, func(file string) bool { return matches(name, file, pattern) })
			for i := range found {
				found[i].named = true
			}
		}
		if err != nil {
			found = []foundFile{{path: name, err: err}}
		}
		files = append(files, found...)
	}
	return once(files)
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

	platform *regexp.Regexp // an address there
	template *regexp.Regexp // of an answer: braces without others inside, between tags
	field    *regexp.Regexp // in a template
	choice   *regexp.Regexp // placeholder of a multiple choice
}

func newLinter(data map[string]string) *linter {
	const space = `[\t-\r\x1c-\x20\x{85}\p{Z}]*` // of Python
	return &linter{
		data:     data,
		specs:    graderSpecs(),
		platform: regexp.MustCompile(`^latch://\p{Nd}+\.(account|node)(/.*)?\n?$`),
		template: regexp.MustCompile(`<EVAL_ANSWER>` + space + `(\{[^}]+\})` + space + `</EVAL_ANSWER>`),
		field:    regexp.MustCompile(`"([^"]+)"` + space + `:`),
		choice:   regexp.MustCompile(`"answer"` + space + `:` + space + `"([^"]*)"`),
	}
}

// file lints each case of a file; none is a file that was passed over.
func (l *linter) file(f foundFile) []linted {
	text, err := f.read()
	switch {
	case f.err != nil:
		return []linted{notRead(f.path, "E000", f.err)}
	case err != nil:
		return []linted{notRead(f.path, "E001", err)}
	case !f.named && (len(text) > maxLinted || !looksMeant(f.path, text)):
		return nil
	case len(text) > maxLinted:
		return []linted{notRead(f.path, "E001", fmt.Errorf("%s: larger than %d MiB, which is no file of cases", f.path, maxLinted>>20))}
	}
	return l.text(f.path, text)
}

// text lints each case of a file that has been read.
func (l *linter) text(path string, text []byte) []linted {
	var results []linted
	for i, e := range lintEntries(path, text) {
		result := linted{LintResult: LintResult{File: e.where}}
		object, isObject := e.value.(*pyvalue.Object)
		switch {
		case e.err != nil:
			result = notRead(e.where, "E001", e.err)
		case !isObject:
			result = notRead(e.where, "E002", fmt.Errorf("want a case, which is an object, found %s", pyvalue.KindOf(e.value)))
		default:
			result.object = object
			result.LintResult = l.lintCase(object, Source{File: path, Index: i, where: e.where})
		}
		if !isCaseName(path) {
			result.Issues = append(issues{newIssue("W000", "", "a case file is named %s; assay run would refuse this one", caseNames)}, result.Issues...)
		}
		results = append(results, result)
	}
	return results
}

func notRead(where, code string, err error) linted {
	return linted{LintResult: LintResult{File: where, Issues: issues{newIssue(code, "", "%v", err)}}}
}

// lintEntries is parse for files of any name. It returns one entry at least.
func lintEntries(path string, text []byte) []entry {
	var entries []entry
	if isCaseName(path) {
		entries = parse(path, text)
	} else {
		entries = parseJSON(path, string(text))
	}
	switch {
	case len(entries) == 0:
		return []entry{{where: path, value: pyvalue.List{}}}
	case len(entries) > maxEntries:
		return []entry{{where: path, err: fmt.Errorf("%s: a list of %d, more than %d, is no file of cases", path, len(entries), maxEntries)}}
	}
	return entries
}

// read returns what is in the file, or so much of it that it is too large.
func (f foundFile) read() ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxLinted+1))
}

// looksMeant says whether a file in a folder is one of cases, be they broken, and
// neither data nor a list of the cases beside it: JSON that lacks everything, or
// that nobody can read, is.
func looksMeant(name string, text []byte) bool {
	switch {
	case filepath.Base(name) == "manifest.json":
		return false
	case filepath.Ext(name) != ".json":
		return mayHoldCases(text) || hasKey(text, "task")
	}
	v, err := pyvalue.Decode(string(text))
	switch v := v.(type) {
	case *pyvalue.Object:
		return v.Len() == 0 || slices.ContainsFunc([]string{"task", "grader", "graders", "data_node"}, v.Has)
	case pyvalue.List:
		return len(v) == 0 || mayHoldCases(text)
	default:
		return err != nil || v != nil
	}
}
