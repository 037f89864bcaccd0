package testcases

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// readFiles reads the files that a case contains.
func readFiles(f *fields) []File {
	var files []File
	for name, v := range f.members("files").All() {
		field := fmt.Sprintf("files[%q]", name)
		if why := unfit(name); why != "" {
			f.fail(field, "%s", why)
			continue
		}
		text, ok := v.(pyvalue.String)
		if !ok {
			f.wrong(field, "a string", v)
		}
		files = append(files, File{Name: name, Text: string(text)})
	}
	return files
}

// unfit says why a name cannot be one in a sandbox. The folder .assay there is
// the kernel's.
func unfit(name string) string {
	parts := strings.Split(name, "/")
	switch {
	case path.IsAbs(name):
		return "the name is not relative"
	case slices.Contains(parts, ".."):
		return "the name leaves the sandbox"
	case path.Clean(name) != name || name == "." || strings.ContainsRune(name, 0):
		return "not the name of a file"
	case parts[0] == ".assay":
		return "names in .assay are taken"
	}
	return ""
}

// checkSandbox reports what cannot lie in one sandbox together: two files of one
// name, and a file where another needs a folder.
func checkSandbox(f *fields, files []File) {
	for _, file := range files {
		field := fmt.Sprintf("files[%q]", file.Name)
		if earlier := f.owners[file.Name]; earlier != "" {
			f.fail(field, "%s has that name in the sandbox", earlier)
		}
		f.own(file.Name, field)
	}
	for _, name := range slices.Sorted(maps.Keys(f.owners)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if inTheWay, taken := f.owners[dir]; taken {
				f.fail(f.owners[name], "%s is a file where this needs a folder", inTheWay)
			}
		}
	}
}
