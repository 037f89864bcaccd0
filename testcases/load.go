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

// Options changes how cases are loaded. The zero Options loads cases whose data
// lies beside them.
type Options struct {
	// Data says where addresses are found: what follows the prefix (such as
	// "latch://") is a path in the folder. The longest prefix that fits counts.
	Data map[string]string
	// Log hears of files in folders that hold no case. Nil discards.
	Log *slog.Logger
}

// Load reads the cases of files, folders and glob patterns, in the order of the
// paths and of the names in them; a file that is reached twice counts once. A
// folder is searched with all folders in it, less names that begin with a dot.
//
// .json holds an object or a list of them, .jsonl and .ndjson an object a line,
// .yaml and .yml documents that are objects or lists of them. A file that was
// not named itself and in which no case can be (it lacks id or task as a key) is
// passed over.
//
// On an error no cases are returned. It reports every file and every field that
// is wrong: "FILE:LINE:COLUMN: …" where the JSON is broken, "FILE[INDEX]: case
// "ID": field NAME: …" where its content is. What only a run refuses, such as an
// id that occurs twice or an unknown type of grader, loads: see [CheckRun]. Data
// need not be there: see [Case.CheckData].
func Load(paths []string, opts Options) ([]Case, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	files, err := findAll(paths)
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

func loadFile(f FoundFile, opts Options) ([]Case, error) {
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, err
	}
	if !f.Named && !MayHoldCases(text) {
		opts.Log.Info("no case in file", "file", f.Path)
		return nil, nil
	}
	return Parse(f.Path, text, opts.Data)
}

func Parse(path string, text []byte, data map[string]string) ([]Case, error) {
	var cases []Case
	var errs []error
	for i, e := range ParseRawCases(path, text) {
		if e.Err != nil {
			errs = append(errs, e.Err)
			continue
		}
		c, err := readCase(e.Value, Source{File: path, Index: i, Place: e.Place}, data)
		cases = append(cases, c)
		errs = append(errs, err)
	}
	return cases, errors.Join(errs...)
}

// RawCase is a value that should be a case, and where it was; or err says why
// there is none.
type RawCase struct {
	Value pyvalue.Value
	Place string
	Err   error
}

func ParseRawCases(path string, text []byte) []RawCase {
	entries := parseByExtension(path, text)
	sound := !slices.ContainsFunc(entries, func(e RawCase) bool { return e.Err != nil })
	if sound && !utf8.Valid(text) { // a surrogate in bytes, which Decode takes
		return []RawCase{{Place: path, Err: fmt.Errorf("%s: not UTF-8", path)}}
	}
	return entries
}

// parseByExtension reads a file by its name.
func parseByExtension(path string, text []byte) []RawCase {
	switch filepath.Ext(path) {
	case ".json":
		return ParseRawJSON(path, string(text))
	case ".jsonl", ".ndjson":
		return parseLines(path, text)
	case ".yaml", ".yml":
		return parseYAML(path, text)
	default:
		err := fmt.Errorf("%s: not a case file: want %s", path, CaseFileNames)
		return []RawCase{{Place: path, Err: err}}
	}
}

func ParseRawJSON(path, text string) []RawCase {
	v, err := pyvalue.Decode(text)
	if err != nil {
		return []RawCase{{Place: path, Err: withPosition(path, 0, err)}}
	}
	return rawCasesOf(v, path)
}

func parseLines(path string, text []byte) []RawCase {
	var entries []RawCase
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, err := pyvalue.Decode(string(line))
		if err != nil {
			err = withPosition(path, n-1, err)
		}
		entries = append(entries, RawCase{v, fmt.Sprintf("%s:%d", path, n), err})
	}
	return entries
}

// rawCasesOf returns the members of a list, or v alone.
func rawCasesOf(v pyvalue.Value, where string) []RawCase {
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

// withPosition puts file, line and column before an error of [pyvalue.Decode] in text
// that begins after so many lines.
func withPosition(path string, lines int, err error) error {
	if bad, ok := errors.AsType[*pyvalue.SyntaxError](err); ok {
		return fmt.Errorf("%s:%d:%d: %s", path, lines+bad.Line, bad.Column, bad.Text)
	}
	return fmt.Errorf("%s: %w", path, err)
}
