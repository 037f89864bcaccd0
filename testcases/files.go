package testcases

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// readInlineFiles returns the files whose content is written in the case's member
// files. It records an error for each malformed one.
func readInlineFiles(f *fieldReader) []InlineFile {
	var files []InlineFile
	for name, v := range f.getObject("files").All() {
		field := fmt.Sprintf("files[%q]", name)
		if why := invalidFileNameReason(name); why != "" {
			f.addFault(field, "%s", why)
			continue
		}
		text, ok := v.(pyvalue.String)
		if !ok {
			f.addWrongKindFault(field, "a string", v)
		}
		files = append(files, InlineFile{Name: name, Text: string(text)})
	}
	return files
}

// invalidFileNameReason returns why name cannot be the name of a file in a sandbox, or
// "" if it can. The folder .assay is reserved for the kernel.
func invalidFileNameReason(name string) string {
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

// checkFileNameConflicts records an error for files that cannot be in the same sandbox:
// two with the same name, and one whose name another file needs for a folder.
func checkFileNameConflicts(f *fieldReader, files []InlineFile) {
	for _, file := range files {
		field := fmt.Sprintf("files[%q]", file.Name)
		if earlier := f.nameOwners[file.Name]; earlier != "" {
			f.addFault(field, "%s has that name in the sandbox", earlier)
		}
		f.recordSandboxFile(file.Name, field)
	}
	for _, name := range slices.Sorted(maps.Keys(f.nameOwners)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if inTheWay, taken := f.nameOwners[dir]; taken {
				f.addFault(f.nameOwners[name], "%s is a file where this needs a folder", inTheWay)
			}
		}
	}
}

// readDataNode reads the field data_node: absent, the name of a data file, or a list of
// names. A name that occurs twice counts once. Wrong values are recorded as errors.
func readDataNode(f *fieldReader, file string, prefixes map[string]string) []DataFile {
	var names pyvalue.List
	switch v := f.getMember("data_node").(type) {
	case nil:
	case pyvalue.String:
		if v != "" {
			names = pyvalue.List{v}
		}
	case pyvalue.List:
		names = v
	default:
		f.addWrongKindFault("data_node", "a string or a list of strings", v)
	}
	var data []DataFile
	for i, item := range names {
		field := fmt.Sprintf("data_node[%d]", i)
		name, ok := item.(pyvalue.String)
		base := path.Base(string(name))
		switch {
		case !ok:
			f.addWrongKindFault(field, "a string", item)
		case slices.Contains(names[:i], item):
			// the same file again
		case invalidFileNameReason(base) != "":
			f.addFaultOfRunOnly(field, "%q does not end in the name of a file", string(name))
		case f.nameOwners["data/"+base] != "":
			f.addFaultOfRunOnly(field, "%s would be data/%s in the sandbox, and so would %s", string(name), base, f.nameOwners["data/"+base])
		default:
			f.recordSandboxFile("data/"+base, field)
			data = append(data, DataFile{Name: string(name), Base: base, Path: localDataPath(string(name), file, prefixes)})
		}
	}
	return data
}

// localDataPath returns the absolute local path of a data file: below the folder of the
// longest matching prefix; else, unless the name is an address (it contains "://"),
// relative to the case file; else "".
func localDataPath(name, file string, prefixes map[string]string) string {
	found, local := "", ""
	for prefix, dir := range prefixes {
		rest, fits := cutAddressPrefix(name, prefix)
		if fits && (local == "" || len(prefix) > len(found)) {
			found, local = prefix, filepath.Join(dir, rest)
		}
	}
	switch {
	case local != "":
	case strings.Contains(name, "://"):
		return ""
	case filepath.IsAbs(name):
		local = name
	default:
		local = filepath.Join(filepath.Dir(file), name)
	}
	full, err := filepath.Abs(local)
	if err != nil {
		return ""
	}
	return full
}

// cutAddressPrefix removes a prefix from the address of a data file. ok is false if the
// address does not begin with the prefix, if the prefix ends inside a part of the
// address, or if the rest leads out of the prefix's folder.
func cutAddressPrefix(name, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(name, prefix)
	whole := rest == "" || strings.HasPrefix(rest, "/") || strings.HasSuffix(prefix, "/")
	rest = strings.TrimLeft(rest, "/")
	return rest, ok && whole && (rest == "" || filepath.IsLocal(rest))
}

// CheckDataFiles returns an error that names all data files of the case that do not exist
// locally, or nil. It reads the disk at each call.
func (c Case) CheckDataFiles() error {
	var errs []error
	for _, d := range c.Data {
		if err := d.CheckExists(); err != nil {
			errs = append(errs, fmt.Errorf("case %q: data %s: %w", c.ID, d.Name, err))
		}
	}
	return errors.Join(errs...)
}

// CheckExists returns an error if the data file has no local path, does not exist or is not a
// regular file.
func (d DataFile) CheckExists() error {
	if d.Path == "" {
		return errors.New("no local folder is given for such an address (--data PREFIX=DIR)")
	}
	info, err := os.Stat(d.Path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", d.Path)
	}
	return nil
}
