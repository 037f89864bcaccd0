package testcases

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/testcases/grading/pyvalue"
)

// Options are the options of [Load]. With the zero Options, data files are expected
// next to the cases.
type Options struct {
	// Data maps the prefix of an address (such as "latch://") to the local folder in
	// which the rest of the address is a path. The longest matching prefix is used.
	Data map[string]string
	// Log gets the files in folders that contain no case. Nil discards.
	Log *slog.Logger
}

// Load loads the cases of files, folders and glob patterns, in the order of the paths
// and, within a folder, of the file names. A file that is reached twice counts once. A
// folder is searched with all folders below it, except names that begin with a dot.
//
// A .json file contains an object or a list of objects, a .jsonl or .ndjson file one
// object per line, and a .yaml or .yml file documents that are objects or lists of
// objects. A file in a folder is skipped if it does not have id and task as keys; a
// file that was named itself is not skipped.
//
// On an error Load returns no cases. The error lists every malformed file and field:
// "FILE:LINE:COLUMN: …" for malformed JSON, "FILE[INDEX]: case "ID": field NAME: …" for
// the content. What matters only for a run, such as an id that occurs twice or an
// unknown type of grader, is no error here, see [CheckRunnable]. Data files need not
// exist, see [Case.CheckDataFiles].
func Load(paths []string, opts Options) ([]Case, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	files, err := findFilesOfPaths(paths)
	if err != nil {
		return nil, err
	}
	var cases []Case
	var errs []error
	for _, f := range files {
		loaded, err := loadFile(f, opts)
		cases = append(cases, loaded...)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no case in %s", strings.Join(paths, ", "))
	}
	return cases, nil
}

// loadFile loads the cases of one file. It returns none if the file is skipped because
// it has no id and task as keys.
func loadFile(f CasePath, opts Options) ([]Case, error) {
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, err
	}
	if !f.Named && !TextLooksLikeCases(text) {
		opts.Log.Info("no case in file", "file", f.Path)
		return nil, nil
	}
	return Parse(f.Path, text, opts.Data)
}

// Parse loads the cases in the text of a file. The extension of path selects the
// format; data is that of [Options]. If there is an error, it also returns the cases
// that could be read.
func Parse(path string, text []byte, data map[string]string) ([]Case, error) {
	var cases []Case
	var errs []error
	for i, e := range ParseRawCases(path, text) {
		if e.Err != nil {
			errs = append(errs, e.Err)
			continue
		}
		c, err := newCaseFromValue(e.Value, CaseLocation{File: path, Index: i, Place: e.Place}, data)
		cases = append(cases, c)
		errs = append(errs, err)
	}
	return cases, errors.Join(errs...)
}

// RawCase is a value that should be a case, and its place in a file. Err is set instead
// if the value cannot be decoded.
type RawCase struct {
	Value pyvalue.Value
	Place string
	Err   error
}

// ParseRawCases returns the values in the text of a file that should be cases. The
// extension of path selects the format. A file that is not UTF-8 gives one value with
// an error.
func ParseRawCases(path string, text []byte) []RawCase {
	entries := parseByExtension(path, text)
	sound := !slices.ContainsFunc(entries, func(e RawCase) bool { return e.Err != nil })
	if sound && !utf8.Valid(text) { // a lone surrogate in bytes, which Decode accepts
		return []RawCase{{Place: path, Err: fmt.Errorf("%s: not UTF-8", path)}}
	}
	return entries
}

// parseByExtension decodes the text of a file in the format of its extension: JSON,
// JSON Lines or YAML.
func parseByExtension(path string, text []byte) []RawCase {
	switch filepath.Ext(path) {
	case ".json":
		return ParseRawJSON(path, string(text))
	case ".jsonl", ".ndjson":
		return parseJSONLines(path, text)
	case ".yaml", ".yml":
		return parseYAML(path, text)
	default:
		err := fmt.Errorf("%s: not a case file: want %s", path, CaseFileExtensions)
		return []RawCase{{Place: path, Err: err}}
	}
}

// ParseRawJSON decodes a JSON text and returns its value, or the items if it is a list.
// Malformed JSON gives one value with an error.
func ParseRawJSON(path, text string) []RawCase {
	v, err := pyvalue.Decode(text)
	if err != nil {
		return []RawCase{{Place: path, Err: addPositionToError(path, 0, err)}}
	}
	return splitRawCases(v, path)
}

// parseJSONLines decodes the JSON value of each line that is not blank.
func parseJSONLines(path string, text []byte) []RawCase {
	var entries []RawCase
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, err := pyvalue.Decode(string(line))
		if err != nil {
			err = addPositionToError(path, n-1, err)
		}
		entries = append(entries, RawCase{v, fmt.Sprintf("%s:%d", path, n), err})
	}
	return entries
}

// splitRawCases returns the items of a list, or v itself if it is not a list.
func splitRawCases(v pyvalue.Value, where string) []RawCase {
	list, ok := v.(pyvalue.List)
	if !ok {
		return []RawCase{{Value: v, Place: where}}
	}
	entries := make([]RawCase, len(list))
	for i, item := range list {
		entries[i] = RawCase{Value: item, Place: fmt.Sprintf("%s[%d]", where, i)}
	}
	return entries
}

// addPositionToError adds file, line and column to an error of [pyvalue.Decode]. lines
// is how many lines of the file come before the decoded text.
func addPositionToError(path string, lines int, err error) error {
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		return fmt.Errorf("%s:%d:%d: %s", path, lines+bad.Line, bad.Column, bad.Text)
	}
	return fmt.Errorf("%s: %w", path, err)
}
