package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// largestSpec is how large a kernel.json may be, in bytes.
const largestSpec = 1 << 20

// Spec is an installed Jupyter kernel: what its kernel.json says.
type Spec struct {
	Name       string // of its folder, in lower case
	Path       string // of its kernel.json, absolute
	Executable string // the program that argv begins with, found

	argv      []string
	env       map[string]string
	byMessage bool // it is interrupted by a message, not by a signal
}

// kernelJSON is the file.
type kernelJSON struct {
	Argv          []string          `json:"argv"`
	Env           map[string]string `json:"env"`
	InterruptMode string            `json:"interrupt_mode"`
}

// ReadSpec reads a kernel.json and looks for the program that it names, on the PATH
// in environ. It fails, in one line, where there is no such file, it makes no
// sense, or there is no such program.
func ReadSpec(path string, environ []string) (Spec, error) {
	fail := func(err error) (Spec, error) { return Spec{}, fmt.Errorf("the kernelspec %s: %w", path, err) }
	path, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fail(errors.Unwrap(err)) // without the path, which is said already
	case !info.Mode().IsRegular() || info.Size() > largestSpec:
		return fail(fmt.Errorf("no file of at most %d bytes", largestSpec))
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return fail(errors.Unwrap(err))
	}
	spec, err := parseSpec(body)
	if err != nil {
		return fail(err)
	}
	spec.Path, spec.Name = path, strings.ToLower(filepath.Base(filepath.Dir(path)))
	if spec.Executable, err = spec.findProgram(environ); err != nil {
		return fail(err)
	}
	return spec, nil
}

// parseSpec reads the content of a kernel.json.
func parseSpec(body []byte) (Spec, error) {
	var file kernelJSON
	if err := json.Unmarshal(body, &file); err != nil {
		return Spec{}, fmt.Errorf("it is no kernel.json: %w", err)
	}
	switch {
	case len(file.Argv) == 0 || file.Argv[0] == "":
		return Spec{}, errors.New("its argv names no program")
	case !slices.Contains([]string{"", "signal", "message"}, file.InterruptMode):
		return Spec{}, fmt.Errorf("its interrupt_mode %q is neither signal nor message", file.InterruptMode)
	}
	return Spec{argv: file.Argv, env: file.Env, byMessage: file.InterruptMode == "message"}, nil
}

// findProgram returns the path of the program. A bare name is first looked for
// beside the kernelspec, which may be part of an environment that is not on PATH.
func (s Spec) findProgram(environ []string) (string, error) {
	name := s.argv[0]
	if strings.Contains(name, "/") {
		if !executable(name) {
			return "", fmt.Errorf("its program %s is not there, or cannot be executed", name)
		}
		return filepath.Abs(name)
	}
	folders := filepath.SplitList(lookup(environ, "PATH"))
	if prefix, ok := strings.CutSuffix(filepath.Dir(filepath.Dir(s.Path)), "/share/jupyter/kernels"); ok {
		folders = append([]string{filepath.Join(prefix, "bin")}, folders...)
	}
	for _, folder := range folders {
		if path := filepath.Join(folder, name); filepath.IsAbs(path) && executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("its program %s is not on PATH", name)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

// arguments are those of the program.
func (s Spec) arguments(connectionFile string) []string {
	fill := strings.NewReplacer("{connection_file}", connectionFile, "{resource_dir}", filepath.Dir(s.Path))
	var arguments []string
	for _, argument := range s.argv[1:] {
		arguments = append(arguments, fill.Replace(argument))
	}
	return arguments
}

// environment is environ and what the kernelspec adds. A ${NAME} in that stands
// for a variable of environ, or, where there is none, for itself.
func (s Spec) environment(environ []string) []string {
	full := slices.Clone(environ)
	for name, value := range s.env {
		full = append(full, name+"="+os.Expand(value, func(variable string) string {
			if found := lookup(environ, variable); found != "" {
				return found
			}
			return "${" + variable + "}"
		}))
	}
	return full
}

// ReadPaths lists what the kernel needs to read beside the system's folders: the
// kernelspec's own, the installation of its program, links followed, and the
// files and folders that its arguments name. Each exists. What else a language
// keeps elsewhere, such as Julia's depot, is not among them.
func (s Spec) ReadPaths() []string {
	paths := []string{filepath.Dir(s.Path), installation(s.Executable)}
	if real, err := filepath.EvalSymlinks(s.Executable); err == nil {
		paths = append(paths, installation(real))
	}
	for _, argument := range s.argv[1:] {
		if _, err := os.Stat(argument); err == nil && filepath.IsAbs(argument) {
			paths = append(paths, filepath.Clean(argument))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// installation is the folder that a program was installed in: the one above its
// bin, and for a program that lies elsewhere its own.
func installation(program string) string {
	folder := filepath.Dir(program)
	if prefix := filepath.Dir(folder); filepath.Base(folder) == "bin" && prefix != "/" {
		return prefix
	}
	return folder
}

// lookup returns a variable's value, the last where there are several, empty
// where there is none.
func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
