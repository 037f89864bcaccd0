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

// CaseFileNames is how the names of case files end, for messages.
const CaseFileNames = ".json, .jsonl, .ndjson, .yaml or .yml"

// FoundFile is a file to load. Named means that it was asked for by its own
// name, so that it must hold cases.
type FoundFile struct {
	Path  string
	Named bool
	Err   error // why nothing was found there; of filesToLint only
}

// findAll lists the files of paths, each once.
func findAll(paths []string) ([]FoundFile, error) {
	var files []FoundFile
	for _, path := range paths {
		found, err := FindFiles(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return UniqueFiles(files), nil
}

// UniqueFiles leaves out files that were found before.
func UniqueFiles(files []FoundFile) []FoundFile {
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(f FoundFile) bool {
		full, err := filepath.Abs(f.Path)
		if err != nil {
			return false // the folder we are in is gone, and nothing will be found in it
		}
		before := seen[full]
		seen[full] = true
		return before
	})
}

func FindFiles(path string) ([]FoundFile, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return WalkFiles(path, IsCaseFile)
	case err == nil:
		return []FoundFile{{Path: path, Named: true}}, nil
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
	var files []FoundFile
	for _, match := range matches {
		if isHidden(match) && !isHidden(path) {
			continue // as a shell has it
		}
		found, err := FindFiles(match)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if IsCaseFile(f.Path) {
				files = append(files, FoundFile{Path: f.Path})
			}
		}
	}
	return files, nil
}

// WalkFiles lists the wanted files in a folder and all folders in it, in the order of
// their names, without those that are hidden.
func WalkFiles(root string, wanted func(path string) bool) ([]FoundFile, error) {
	var files []FoundFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		hidden := isHidden(path) && path != root
		switch {
		case err != nil:
			return err
		case hidden && d.IsDir():
			return filepath.SkipDir
		case !hidden && isFile(path, d) && wanted(path):
			files = append(files, FoundFile{Path: path})
		}
		return nil
	})
	return files, err
}

func isHidden(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") }

func IsCaseFile(path string) bool {
	return slices.Contains([]string{".json", ".jsonl", ".ndjson", ".yaml", ".yml"}, filepath.Ext(path))
}

// MayHoldCases says whether both id and task occur as keys, in JSON or in YAML.
// It reads no more than the text, so that data beside the cases may be of any
// size and as broken as it likes.
func MayHoldCases(text []byte) bool { return HasKey(text, "id") && HasKey(text, "task") }

func HasKey(text []byte, name string) bool {
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
