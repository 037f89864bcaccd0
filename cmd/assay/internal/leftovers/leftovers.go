// Package leftovers finds what may tell an agent how to pass, in folders that it may read: other cases, and what
// Assay has written of earlier runs.
package leftovers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"assay/eval/runs"
	"assay/testcases"
	"assay/testcases/grading/pyvalue"
)

const (
	// maxEntries is how many files and folders Find looks at. It takes about 0.2 s.
	maxEntries = 20_000

	// maxBytes is how much of a file is read. Cases in a larger file are not found; of what Assay writes, the
	// beginning is enough.
	maxBytes = 16 << 20

	// sniffedBytes is how much of a file is read before it is known whether it is a text of interest.
	sniffedBytes = 64 << 10
)

// Find returns the folders of runs, and the files that hold cases with graders or solutions, results, model calls or
// the log of a run, in a folder and below it; names have no say. It looks at the nearest folders first. isComplete is false if there
// was more than it looks at. It does not follow links, and does not look into archives.
func Find(root string) (found []string, isComplete bool) {
	left := maxEntries
	for pending := []string{root}; len(pending) > 0; pending = pending[1:] {
		folder := pending[0]
		entries, _ := os.ReadDir(folder) // what cannot be read cannot be read by an agent
		if left -= len(entries); left < 0 {
			return found, false
		}
		if slices.ContainsFunc(entries, func(entry os.DirEntry) bool { return entry.Name() == runs.AttemptsFileName }) {
			found = append(found, folder)
			continue
		}
		for _, entry := range entries {
			path := filepath.Join(folder, entry.Name())
			switch {
			case entry.IsDir() && !IsOfPackages(path):
				pending = append(pending, path)
			case entry.Type().IsRegular() && tells(path):
				found = append(found, path)
			}
		}
	}
	return found, true
}

// IsOfPackages reports whether a folder has installed programs by its name. Find does not search those.
func IsOfPackages(folder string) bool {
	return slices.Contains([]string{"node_modules", "site-packages", "dist-packages", "__pycache__"}, filepath.Base(folder))
}

// tells reports whether a file holds cases with graders or solutions, results, model calls or the log of a run.
func tells(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, sniffedBytes))
	if err != nil || bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	if isOutput(head) {
		return true
	}
	if len(head) == sniffedBytes {
		rest, err := io.ReadAll(io.LimitReader(file, maxBytes))
		if err != nil || len(rest) == maxBytes {
			return false
		}
		head = append(head, rest...)
	}
	return holdsCases(head)
}

// logLine is a line of the terminal's output or of a server's log.
var logLine = regexp.MustCompile(`(?m)^(\[\d+/\d+\] (PASS|FAIL|ERROR|DONE|SKIP)|(PASS|FAIL) +\d+/\d+ |\d\d:\d\d:\d\d\.\d{3} \[eval\] )`)

// isOutput reports whether a text begins as what Assay writes, or is a log with a line of a run.
func isOutput(text []byte) bool {
	if !bytes.HasPrefix(text, []byte("{")) {
		return logLine.Match(text)
	}
	names := memberNames(text)
	for _, format := range [][]string{
		{"type", "case_id", "outcome"}, // an attempt, as --json prints it
		{"id", "passed", "score"},      // a result of assay grade
		{"at", "api", "request"},       // a call, in a recording or a cache
		{"seq", "hop", "msg"},          // a trace
		{"type", "version", "session"}, // its first line
		{"type", "role", "content"},    // a conversation
		{"grader", "answer"},           // what assay grade reads
		{"grader", "conversation"},     // the same
	} {
		if !slices.ContainsFunc(format, func(name string) bool { return !slices.Contains(names, name) }) {
			return true
		}
	}
	return false
}

// memberNames returns the names of the members of the JSON object with which a text begins; of an object that is cut,
// those that begin before its end.
func memberNames(text []byte) (names []string) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	for _, err := decoder.Token(); err == nil && decoder.More(); err = decoder.Decode(&value) {
		if token, _ := decoder.Token(); token != nil { // nil: what follows is no JSON
			names = append(names, fmt.Sprint(token))
		}
	}
	return names
}

// holdsCases reports whether a text is JSON, JSON Lines or YAML with a case that has graders or a solution.
func holdsCases(text []byte) bool {
	if !testcases.TextLooksLikeCases(text) {
		return false
	}
	formats := []string{".yaml"}
	if start := strings.TrimLeft(string(text[:min(len(text), 100)]), " \t\r\n\ufeff"); strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") {
		formats = []string{".json", ".jsonl", ".yaml"}
	}
	return slices.ContainsFunc(formats, func(format string) bool {
		return slices.ContainsFunc(testcases.ParseRawCases("text"+format, text), isCaseWithTruth)
	})
}

// isCaseWithTruth reports whether a value is a case that has graders or a solution. It may lack what a run needs, such as
// its data files.
func isCaseWithTruth(raw testcases.RawCase) bool {
	object, isObject := raw.Value.(*pyvalue.Object)
	return isObject && object.Get("task") != nil &&
		slices.ContainsFunc([]string{"grader", "graders", "oracle"}, func(name string) bool { return object.Get(name) != nil })
}
