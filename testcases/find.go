package testcases

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// caseNames is how the names of case files end, for messages.
const caseNames = ".json, .jsonl, .ndjson, .yaml or .yml"

// foundFile is a file to load. Named means that it was asked for by its own
// name, so that it must hold cases.
type foundFile struct {
	path  string
	named bool
	err   error // why nothing was found there; of filesToLint only
}

// find lists the files of paths, each once.
func find(paths []string) ([]foundFile, error) {
	var files []foundFile
	for _, path := range paths {
		found, err := findOne(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return once(files), nil
}

// once leaves out files that were found before.
func once(files []foundFile) []foundFile {
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(f foundFile) bool {
		full, err := filepath.Abs(f.path)
		if err != nil {
			return false // the folder we are in is gone, and nothing will be found in it
		}
		before := seen[full]
		seen[full] = true
		return before
	})
}

func findOne(path string) ([]foundFile, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return walk(path, isCaseName)
	case err == nil:
		return []foundFile{{path: path, named: true}}, nil
	case !strings.ContainsAny(path, "*?["):
		return nil, err
	}
	matches, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", path, err)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("pattern %s: no file matches", path)
	}
	var files []foundFile
	for _, match := range matches {
		if isHidden(match) && !isHidden(path) {
			continue // as a shell has it
		}
		found, err := findOne(match)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if isCaseName(f.path) {
				files = append(files, foundFile{path: f.path})
			}
		}
	}
	return files, nil
}

// walk lists the wanted files in a folder and all folders in it, in the order of
// their names, without those that are hidden.
func walk(root string, wanted func(path string) bool) ([]foundFile, error) {
	var files []foundFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		hidden := isHidden(path) && path != root
		switch {
		case err != nil:
			return err
		case hidden && d.IsDir():
			return filepath.SkipDir
		case !hidden && isFile(path, d) && wanted(path):
			files = append(files, foundFile{path: path})
		}
		return nil
	})
	return files, err
}

func isHidden(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") }

func isCaseName(path string) bool {
	return slices.Contains([]string{".json", ".jsonl", ".ndjson", ".yaml", ".yml"}, filepath.Ext(path))
}

// mayHoldCases says whether both id and task occur as keys, in JSON or in YAML.
// It reads no more than the text, so that data beside the cases may be of any
// size and as broken as it likes.
func mayHoldCases(text []byte) bool { return hasKey(text, "id") && hasKey(text, "task") }

func hasKey(text []byte, name string) bool {
	return regexp.MustCompile(`(?m)(^|[\s{,-])["']?` + name + `["']?\s*:`).Match(text)
}

// isFile says whether an entry is a plain file or a link, of which the reading
// finds out where it leads. A pipe would have to be waited for.
func isFile(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		return err != nil || info.Mode().IsRegular()
	}
	return d.Type().IsRegular()
}
