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

// Find returns what may tell how to pass in a folder and below it: the folders of runs, the folders in which there are cases
// with graders or solutions, and the files that hold such cases, results, model calls or the log of a run; names have no
// say. It does not return root itself, nor a folder above one of the paths keep, but what is in them. It looks at the nearest
// folders first. isComplete is false if there was more than it looks at. It does not look at the paths skip and what is in
// them, into archives, or into folders of installed packages, and does not follow links.
func Find(root string, keep, skip []string) (found []string, isComplete bool) {
	left, buffer := maxEntries, make([]byte, sniffedBytes)
	for pending := []string{root}; len(pending) > 0; pending = pending[1:] {
		folder := pending[0]
		if isOfPackages(folder) {
			continue
		}
		entries, _ := os.ReadDir(folder) // what cannot be read cannot be read by an agent
		entries = slices.DeleteFunc(entries, func(entry os.DirEntry) bool { return slices.Contains(skip, filepath.Join(folder, entry.Name())) })
		if left -= len(entries); left < 0 {
			return found, false
		}
		files, subfolders, isWhole := look(folder, entries, buffer)
		switch {
		case isWhole && folder != root && !holdsAny(folder, keep):
			found = append(found, folder)
		default:
			found, pending = append(found, files...), append(pending, subfolders...)
		}
	}
	return found, true
}

// look returns the files in a folder that may tell how to pass, the attempts of a run, and the other folders below it. isWhole
// says that all of the folder may: it is that of a run, or there are cases in it, beside which their data and graders lie.
func look(folder string, entries []os.DirEntry, buffer []byte) (found, subfolders []string, isWhole bool) {
	isRun := slices.ContainsFunc(entries, func(entry os.DirEntry) bool { return entry.Name() == runs.AttemptsFileName })
	isWhole = isRun
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		switch {
		case isRun && slices.Contains([]string{runs.AttemptsFileName, "run.json", "attempts"}, entry.Name()):
			found = append(found, path)
		case entry.IsDir():
			subfolders = append(subfolders, path)
		case entry.Type().IsRegular():
			tells, hasCases := inspect(path, buffer)
			if isWhole = isWhole || hasCases; tells {
				found = append(found, path)
			}
		}
	}
	return found, subfolders, isWhole
}

// holdsAny reports whether one of the paths is a folder or below it.
func holdsAny(folder string, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") })
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

// inspect reports whether a file may tell how to pass, and whether that is because it holds cases. It begins by reading into
// the buffer.
func inspect(path string, buffer []byte) (tells, hasCases bool) {
	file, err := os.Open(path)
	if err != nil {
		return false, false
	}
	defer file.Close()
	n, err := io.ReadFull(file, buffer)
	text := bytes.TrimPrefix(buffer[:n], []byte("\ufeff"))
	switch {
	case n == 0, bytes.IndexByte(text, 0) >= 0:
		return false, false
	case isOutput(text):
		return true, false
	case err != nil: // this is the whole file
		hasCases = holdsCases(text)
		return hasCases, hasCases
	}
	rest, err := io.ReadAll(io.LimitReader(file, maxBytes))
	hasCases = err == nil && len(rest) < maxBytes && holdsCases(slices.Concat(text, rest))
	return hasCases, hasCases
}

// logLine is in a line of the terminal's output, from the one before the first attempt on, of a server's log, or of what
// assay lint prints of a case that was played.
var logLine = regexp.MustCompile(`(?m)\d+ at once, agent |\[\d+/\d+\] (PASS|FAIL|ERROR|DONE|SKIP)|^(PASS|FAIL) +\d+/\d+ |\d\d:\d\d:\d\d\.\d{3} \[eval\] |^ +error +E11[01] `)

// isOutput reports whether a text begins as what Assay writes, or is a log with a line of a run.
func isOutput(text []byte) bool {
	if start := bytes.TrimLeft(text, " \t\r\n["); bytes.HasPrefix(start, []byte("{")) {
		lines := bytes.SplitN(start, []byte("\n"), maxLines+1)
		return isOutputObject(start) || slices.ContainsFunc(lines[:min(maxLines, len(lines))], isOutputObject) ||
			containsAny(lines[0], `"type":"anthropic_message"`, `"files_checked":`) // a conversation; what assay lint prints
	}
	return containsAny(text, " at once, agent ", "] PASS ", "] FAIL ", "] ERROR ", "] DONE ", "] SKIP ", "(failed ", "[eval] ", " E11") && logLine.Match(text)
}

// maxLines is how many lines of JSON are looked at.
const maxLines = 3

// isOutputObject reports whether the JSON object with which a text begins is one that Assay writes.
func isOutputObject(text []byte) bool {
	names := memberNames(text)
	for _, format := range [][]string{
		{"type", "case_id", "outcome"}, // an attempt, as --json prints it
		{"type", "version", "run"},     // the first line of attempts.jsonl
		{"run", "case_id", "answer"},   // an attempt in another order, or without its type
		{"type", "run", "pass_rate"},   // a summary
		{"id", "passed", "score"},      // a result of assay grade
		{"at", "api", "request"},       // a call, in a recording or a cache
		{"seq", "hop", "msg"},          // a trace
		{"type", "version", "session"}, // its first line
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
