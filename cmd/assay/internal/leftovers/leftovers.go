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
	// maxEntries is how many files and folders Find looks at. It takes up to 1 s.
	maxEntries = 20_000

	// maxBytes is how much of a file is read. Cases in a larger file are not found; of what Assay writes, the
	// beginning is enough.
	maxBytes = 16 << 20

	// sniffedBytes is how much of a file is read before it is known whether it is a text of interest.
	sniffedBytes = 64 << 10
)

// Find returns the folders of runs, and the files that hold cases with graders or solutions, results, model calls or
// the log of a run, in a folder and below it; names have no say. It looks at the nearest folders first. isComplete is false
// if there was more than it looks at. It does not follow links, and looks neither into archives nor into folders of
// installed packages.
func Find(root string) (found []string, isComplete bool) {
	left, buffer := maxEntries, make([]byte, sniffedBytes)
	for pending := []string{root}; len(pending) > 0; pending = pending[1:] {
		folder := pending[0]
		if isOfPackages(folder) {
			continue
		}
		entries, _ := os.ReadDir(folder) // what cannot be read cannot be read by an agent
		if left -= len(entries); left < 0 {
			return found, false
		}
		if exists(folder, runs.AttemptsFileName) {
			found = append(found, folder)
			continue
		}
		for _, entry := range entries {
			path := filepath.Join(folder, entry.Name())
			switch {
			case entry.IsDir():
				pending = append(pending, path)
			case entry.Type().IsRegular() && tells(path, buffer):
				found = append(found, path)
			}
		}
	}
	return found, true
}

// isOfPackages reports whether a folder has programs that were installed: packages, or the standard library of Python.
func isOfPackages(folder string) bool {
	return slices.Contains([]string{"node_modules", "site-packages", "dist-packages", "__pycache__"}, filepath.Base(folder)) ||
		exists(folder, "site-packages") && exists(folder, "os.py")
}

// exists reports whether a folder has an entry of that name.
func exists(folder, name string) bool {
	_, err := os.Lstat(filepath.Join(folder, name))
	return err == nil
}

// tells reports whether a file holds cases with graders or solutions, results, model calls or the log of a run. It begins
// by reading into the buffer.
func tells(path string, buffer []byte) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	n, err := io.ReadFull(file, buffer)
	text := buffer[:n]
	switch {
	case n == 0, bytes.IndexByte(text, 0) >= 0:
		return false
	case isOutput(text):
		return true
	case err != nil: // this is the whole file
		return holdsCases(text)
	}
	rest, err := io.ReadAll(io.LimitReader(file, maxBytes))
	return err == nil && len(rest) < maxBytes && holdsCases(slices.Concat(text, rest))
}

// logLine is a line of the terminal's output or of a server's log.
var logLine = regexp.MustCompile(`(?m)^(\[\d+/\d+\] (PASS|FAIL|ERROR|DONE|SKIP)|(PASS|FAIL) +\d+/\d+ |\d\d:\d\d:\d\d\.\d{3} \[eval\] )`)

// isOutput reports whether a text begins as what Assay writes, or is a log with a line of a run.
func isOutput(text []byte) bool {
	if !bytes.HasPrefix(text, []byte("{")) {
		return containsAny(text, "] PASS ", "] FAIL ", "] ERROR ", "] DONE ", "] SKIP ", "(failed ", "[eval] ") && logLine.Match(text)
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

// containsAny reports whether a text contains one of these words, much faster than an expression does.
func containsAny(text []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(text, []byte(word)) })
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
	if !containsAny(text, "grader", "oracle") || !testcases.TextLooksLikeCases(text) {
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
