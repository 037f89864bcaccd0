package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"assay/cmd/assay/internal/leftovers"
	"assay/internal/sandbox"
	"assay/testcases"
)

// withhold makes sure that neither kernel nor agent can read the files of the cases, nor folders. What else is in
// the folders of the cases, withholdBesideCases withholds.
func (f *sandboxFlags) withhold(cases []testcases.Case, paths ...string) {
	for _, path := range absolutePaths(paths) {
		f.withholdPath(path)
	}
	for _, c := range cases {
		for _, path := range c.TruthPaths() {
			f.withholdPath(path)
		}
		file := sandbox.ResolvePath(filepath.Join(c.Source.Dir(), filepath.Base(c.Source.File)))
		if !slices.Contains(f.caseFiles, file) {
			f.caseFiles = append(f.caseFiles, file)
		}
	}
}

// withholdFolders makes sure that neither kernel nor agent can read these folders, nor learn the sizes of their files.
func (f *sandboxFlags) withholdFolders(folders ...string) {
	for _, folder := range absolutePaths(folders) {
		f.withholdPath(folder)
		f.coveredFolders = append(f.coveredFolders, sandbox.ResolvePath(folder))
	}
}

// withholdPath makes sure that neither kernel nor agent can read a file or folder.
func (f *sandboxFlags) withholdPath(path string) {
	if path = sandbox.ResolvePath(path); !slices.Contains(f.withheldPaths, path) {
		f.withheldPaths = append(f.withheldPaths, path)
	}
}

// withholdBesideCases withholds what else may tell how to pass, of what may be read: the folders of the cases or, of one
// that must be readable, the copies that editors make; repositories; other names of the same file; and what
// package leftovers finds.
func (f *sandboxFlags) withholdBesideCases(readPaths []string) (w withheldBeside) {
	var folders []string
	for _, file := range f.caseFiles {
		if folder := filepath.Dir(file); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	readable := resolvePaths(readPaths)
	for _, folder := range folders {
		for _, repository := range repositoriesOf(folder) {
			f.withholdPath(repository)
		}
		if !slices.Contains(readable, folder) {
			f.withholdFolders(folder)
			continue
		}
		w.sharedFolders = append(w.sharedFolders, folder)
		for _, path := range f.copiesOfCases(folder) {
			f.withholdPath(path)
		}
	}
	for _, path := range otherNames(f.caseFiles, readable) {
		f.withholdPath(path)
	}
	for _, folder := range foldersOfUser(readable) {
		found, isComplete := leftovers.Find(folder, readable, f.withheldPaths)
		if !isComplete {
			w.largeFolders = append(w.largeFolders, folder)
		}
		for _, path := range found {
			f.withholdPath(path)
		}
		w.leftovers = append(w.leftovers, found...)
	}
	return w
}

// newLeftovers returns a function that finds what has come since, in the folders of these paths. It must be called when all
// that is there is withheld.
func (f *sandboxFlags) newLeftovers(readPaths []string) func() []string {
	readable, withheld := resolvePaths(readPaths), slices.Clone(f.withheldPaths)
	folders := foldersOfUser(readable)
	return func() (all []string) {
		for _, folder := range folders {
			found, _ := leftovers.Find(folder, readable, withheld)
			all = append(all, found...)
		}
		return all
	}
}

// resolvePaths returns paths as [sandbox.ResolvePath] does.
func resolvePaths(paths []string) []string {
	resolved := make([]string, len(paths))
	for i, path := range paths {
		resolved[i] = sandbox.ResolvePath(path)
	}
	return resolved
}

// withheldBeside is what [sandboxFlags.withholdBesideCases] has found, for the user.
type withheldBeside struct {
	sharedFolders []string // folders of cases that stay readable
	leftovers     []string // files that hold other cases or earlier results, and folders of runs
	largeFolders  []string // folders that were not looked through to the end
}

// report tells the user what was found.
func (w withheldBeside) report(printf func(format string, args ...any)) {
	for _, folder := range w.sharedFolders {
		printf("the agent or the kernel may read %s, where cases are: only these are hidden; put cases into a folder of their own", folder)
	}
	const maxNamed = 3
	if more := len(w.leftovers) - maxNamed; more > 0 {
		w.leftovers = append(w.leftovers[:maxNamed], fmt.Sprintf("%d more", more))
	}
	if len(w.leftovers) > 0 {
		printf("hidden from the agent and the kernel, as they hold cases or earlier results: %s", strings.Join(w.leftovers, ", "))
	}
	for _, folder := range w.largeFolders {
		printf("%s has more files than are searched for cases and earlier results: an agent or a kernel that may read it can find them", folder)
	}
}

// foldersOfUser returns the folders that are neither of the system, nor of an installation of Python, nor below an earlier one.
func foldersOfUser(paths []string) (folders []string) {
	for _, path := range paths {
		info, err := os.Stat(path)
		isIn := func(folder string) bool { return sandbox.IsWithin(path, folder) }
		if err == nil && info.IsDir() && !isOfPython(path) && !slices.ContainsFunc(slices.Concat(sandbox.SystemPaths(), folders), isIn) {
			folders = append(folders, path)
		}
	}
	return folders
}

// isOfPython reports whether a folder is an installation of Python, or in one: there is the standard library, which a virtual
// environment lacks.
func isOfPython(folder string) bool {
	for ; folder != "/"; folder = filepath.Dir(folder) {
		if libraries, _ := filepath.Glob(filepath.Join(folder, "lib", "python3*", "os.py")); len(libraries) > 0 { // the pattern is well-formed
			return true
		}
	}
	return false
}

// repositoriesOf returns the folders in which Git and others keep the history of a folder.
func repositoriesOf(folder string) (found []string) {
	for ; ; folder = filepath.Dir(folder) {
		for _, name := range []string{".git", ".hg", ".svn", ".jj"} {
			path := filepath.Join(folder, name)
			info, err := os.Lstat(path)
			if err != nil {
				continue
			}
			if found = append(found, path); info.Mode().IsRegular() { // of a linked working tree: "gitdir: PATH"
				text, _ := os.ReadFile(path)
				if target, isLink := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: "); isLink {
					common, _, _ := strings.Cut(target, "/worktrees/")
					found = append(found, common)
				}
			}
		}
		if folder == filepath.Dir(folder) {
			return found
		}
	}
}

// copiesOfCases returns the files of a folder whose names contain that of a case file, as those of editors do.
func (f *sandboxFlags) copiesOfCases(folder string) (found []string) {
	entries, _ := os.ReadDir(folder) // without them there is nothing to read
	for _, entry := range entries {
		isCopy := slices.ContainsFunc(f.caseFiles, func(file string) bool { return strings.Contains(entry.Name(), filepath.Base(file)) })
		if entry.Type().IsRegular() && isCopy {
			found = append(found, filepath.Join(folder, entry.Name()))
		}
	}
	return found
}

// otherNames returns the files below folders that are one of these files under another name.
func otherNames(files, folders []string) (found []string) {
	var linked []fs.FileInfo
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			continue // nothing to read
		}
		if stat, isUnix := info.Sys().(*syscall.Stat_t); isUnix && stat.Nlink > 1 {
			linked = append(linked, info)
		}
	}
	if len(linked) == 0 {
		return nil
	}
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil //nolint:nilerr // what cannot be looked at cannot be read
			}
			info, err := entry.Info()
			if err == nil && slices.ContainsFunc(linked, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

// withholdOutput withholds the files to which this process writes: they say what was expected.
func (f *sandboxFlags) withholdOutput(record string) {
	for _, descriptor := range []string{"/proc/self/fd/1", "/proc/self/fd/2"} {
		path, err := os.Readlink(descriptor)
		if err == nil && isRegularFile(path) {
			f.withholdPath(path)
		}
	}
	if record != "" {
		f.withhold(nil, record)
	}
}

// checkWithheldPaths returns an error if one of readPaths, which reader ("the agent") must be able to
// read, is withheld. A withheld path below one of readPaths is no error: it is hidden.
func (f *sandboxFlags) checkWithheldPaths(reader string, readPaths []string) error {
	for _, path := range readPaths {
		if slices.Contains(f.withheldPaths, sandbox.ResolvePath(path)) {
			return fmt.Errorf("%s may not read %s: a case or its grader is there, and may tell how to pass; keep programs and libraries in another folder", reader, path)
		}
	}
	return nil
}

// checkWritePaths returns an error if a withheld path is one of writePaths or below it: it cannot be
// hidden there.
func (f *sandboxFlags) checkWritePaths(writePaths []string) error {
	for _, path := range writePaths {
		for _, withheld := range f.withheldPaths {
			if sandbox.IsWithin(withheld, sandbox.ResolvePath(path)) {
				return fmt.Errorf("--agent-write %s: the agent may not write %s, which may tell how to pass, or has the results", path, withheld)
			}
		}
	}
	return nil
}

// checkAgentHome returns an error if a folder that is copied to the agent's HOME has what is withheld, or what package
// leftovers finds, or is too large to be searched.
func (f *sandboxFlags) checkAgentHome(home string) error {
	if home == "" {
		return nil
	}
	home = sandbox.ResolvePath(home)
	found, isComplete := leftovers.Find(home, nil, nil)
	for _, withheld := range f.withheldPaths {
		if _, err := os.Stat(withheld); err == nil && sandbox.IsWithin(withheld, home) {
			found = append(found, withheld)
		}
	}
	switch {
	case len(found) > 0:
		return fmt.Errorf("--agent-home %s: the agent would get a copy of %s, which may tell how to pass", home, found[0])
	case !isComplete:
		return fmt.Errorf("--agent-home %s: it has too many files to be searched for cases and earlier results: copy what the agent needs into a folder of its own", home)
	default:
		return nil
	}
}
