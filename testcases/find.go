package testcases

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// CaseFileExtensions lists the file name extensions of case files, for messages.
const CaseFileExtensions = ".json, .jsonl, .ndjson, .yaml or .yml"

// CasePath is the path of a file to load. Named means that the user gave the file's own
// name, so that it must contain cases.
type CasePath struct {
	Path  string
	Named bool
	Err   error // why nothing was found at the path; set by lint only
}

// findFilesOfPaths returns the files of all paths, each once. A path that does not
// exist and a pattern that matches no file are errors.
func findFilesOfPaths(paths []string) ([]CasePath, error) {
	var files []CasePath
	for _, path := range paths {
		found, err := FindCaseFiles(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return UniqueCasePaths(files), nil
}

// UniqueCasePaths returns the paths without those that occur earlier in the list.
func UniqueCasePaths(files []CasePath) []CasePath {
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(f CasePath) bool {
		full, err := filepath.Abs(f.Path)
		if err != nil {
			return false // the working directory is gone; reading will fail
		}
		before := seen[full]
		seen[full] = true
		return before
	})
}

// FindCaseFiles returns the files of one path: a folder's case files, the file itself, or
// the case files that a glob pattern matches. A path that does not exist and a pattern
// that matches no file are errors.
func FindCaseFiles(path string) ([]CasePath, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return ListFilesRecursively(path, IsCaseFile)
	case err == nil:
		return []CasePath{{Path: path, Named: true}}, nil
	case !strings.ContainsAny(path, "*?["):
		if fault, ok := errors.AsType[*fs.PathError](err); ok {
			err = fault.Err // without the name of the system call
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	matches, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", path, err)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("pattern %s: no file matches", path)
	}
	var files []CasePath
	for _, match := range matches {
		if isHidden(match) && !isHidden(path) {
			continue // as a shell does
		}
		found, err := FindCaseFiles(match)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if IsCaseFile(f.Path) {
				files = append(files, CasePath{Path: f.Path})
			}
		}
	}
	return files, nil
}

// ListFilesRecursively returns the files in a folder and in all folders below it for whose path
// wanted returns true, sorted by name. It skips hidden files and folders. A folder that
// cannot be read is an error.
func ListFilesRecursively(root string, wanted func(path string) bool) ([]CasePath, error) {
	var files []CasePath
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		hidden := isHidden(path) && path != root
		switch {
		case err != nil:
			return err
		case hidden && d.IsDir():
			return filepath.SkipDir
		case !hidden && isRegularFile(path, d) && wanted(path):
			files = append(files, CasePath{Path: path})
		}
		return nil
	})
	return files, err
}

// isHidden reports whether the last part of the path begins with a dot.
func isHidden(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") }

// IsCaseFile reports whether the path has the file name extension of a case file:
// .json, .jsonl, .ndjson, .yaml or .yml.
func IsCaseFile(path string) bool {
	return slices.Contains([]string{".json", ".jsonl", ".ndjson", ".yaml", ".yml"}, filepath.Ext(path))
}

// TextLooksLikeCases reports whether a text in JSON or YAML has both id and task as keys,
// as a case has. It does not parse the text, so that data files next to the cases may
// be large or malformed.
func TextLooksLikeCases(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return TextHasKey(text, "id") && TextHasKey(text, "task")
}

// TextHasKey reports whether a text in JSON or YAML has a key of this name at any
// depth. It does not parse the text.
func TextHasKey(text []byte, name string) bool {
	return regexp.MustCompile(`(?m)(^|[\s{,-])["']?` + name + `["']?\s*:`).Match(text)
}

// isRegularFile reports whether a folder's entry is a regular file, a link to one, or a
// broken link. Other entries, such as pipes, would block a reader.
func isRegularFile(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		return err != nil || info.Mode().IsRegular()
	}
	return d.Type().IsRegular()
}
