package jupyter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxSpecBytes is the largest size, in bytes, of a kernel.json file that is read.
const maxSpecBytes = 1 << 20

// Spec is the kernelspec of an installed Jupyter kernel, read from its kernel.json.
type Spec struct {
	Name       string // name of its folder, in lower case
	Path       string // absolute path of its kernel.json
	Executable string // path of its program

	argv               []string
	env                map[string]string
	interruptByMessage bool // it is interrupted by a message, not by a signal
}

// kernelJSONFile has those fields of a kernel.json file that are used.
type kernelJSONFile struct {
	Argv          []string          `json:"argv"`
	Env           map[string]string `json:"env"`
	InterruptMode string            `json:"interrupt_mode"`
}

// ReadSpec reads the kernel.json file at path and finds the kernel's program, if necessary on
// the PATH of environ. The error, of one line, says that the file is missing or malformed, or
// that the program is missing.
func ReadSpec(path string, environ []string) (Spec, error) {
	fail := func(err error) (Spec, error) { return Spec{}, fmt.Errorf("the kernelspec %s: %w", path, err) }
	path, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fail(errors.Unwrap(err)) // without the path, which fail adds
	case !info.Mode().IsRegular() || info.Size() > maxSpecBytes:
		return fail(fmt.Errorf("no file of at most %d bytes", maxSpecBytes))
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

// parseSpec decodes the content of a kernel.json file. It fails if the content is not JSON,
// its argv names no program, or its interrupt_mode is unknown.
func parseSpec(body []byte) (Spec, error) {
	var file kernelJSONFile
	if err := json.Unmarshal(body, &file); err != nil {
		return Spec{}, fmt.Errorf("it is no kernel.json: %w", err)
	}
	switch {
	case len(file.Argv) == 0 || file.Argv[0] == "":
		return Spec{}, errors.New("its argv names no program")
	case !slices.Contains([]string{"", "signal", "message"}, file.InterruptMode):
		return Spec{}, fmt.Errorf("its interrupt_mode %q is neither signal nor message", file.InterruptMode)
	}
	return Spec{argv: file.Argv, env: file.Env, interruptByMessage: file.InterruptMode == "message"}, nil
}

// findProgram returns the path of the kernel's program. A name without a slash is looked up
// first in the bin folder of the environment that contains the kernelspec, which may not be on
// PATH, and then on the PATH of environ. It fails if there is no such executable.
func (s Spec) findProgram(environ []string) (string, error) {
	name := s.argv[0]
	if strings.Contains(name, "/") {
		if !isExecutable(name) {
			return "", fmt.Errorf("its program %s is not there, or cannot be executed", name)
		}
		return filepath.Abs(name)
	}
	folders := filepath.SplitList(lookupEnv(environ, "PATH"))
	if prefix, ok := strings.CutSuffix(filepath.Dir(filepath.Dir(s.Path)), "/share/jupyter/kernels"); ok {
		folders = append([]string{filepath.Join(prefix, "bin")}, folders...)
	}
	for _, folder := range folders {
		if path := filepath.Join(folder, name); filepath.IsAbs(path) && isExecutable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("its program %s is not on PATH", name)
}

// isExecutable reports whether path is a regular file that this process may execute.
func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

// expandedArguments returns the program's arguments with {connection_file} and {resource_dir}
// (the kernelspec's folder) replaced.
func (s Spec) expandedArguments(connectionFile string) []string {
	fill := strings.NewReplacer("{connection_file}", connectionFile, "{resource_dir}", filepath.Dir(s.Path))
	var arguments []string
	for _, argument := range s.argv[1:] {
		arguments = append(arguments, fill.Replace(argument))
	}
	return arguments
}

// expandedEnvironment returns environ with the variables of the kernelspec appended. In their
// values, ${NAME} is replaced by that variable of environ, and left as it is if environ has no
// such variable.
func (s Spec) expandedEnvironment(environ []string) []string {
	full := slices.Clone(environ)
	for name, value := range s.env {
		full = append(full, name+"="+os.Expand(value, func(variable string) string {
			if found := lookupEnv(environ, variable); found != "" {
				return found
			}
			return "${" + variable + "}"
		}))
	}
	return full
}

// ReadPaths returns the files and folders that a sandboxed kernel must be able to read besides
// those of the system: the kernelspec's folder, the folder in which its program is installed,
// with links resolved, and existing paths among its arguments. It does not know what else a
// language reads, such as Julia's depot.
func (s Spec) ReadPaths() []string {
	paths := []string{filepath.Dir(s.Path), installFolder(s.Executable)}
	if real, err := filepath.EvalSymlinks(s.Executable); err == nil {
		paths = append(paths, installFolder(real))
	}
	for _, argument := range s.argv[1:] {
		if _, err := os.Stat(argument); err == nil && filepath.IsAbs(argument) {
			paths = append(paths, filepath.Clean(argument))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// installFolder returns the folder in which a program is installed: the parent of the
// program's bin folder, or the program's own folder if that is not named bin.
func installFolder(program string) string {
	folder := filepath.Dir(program)
	if prefix := filepath.Dir(folder); filepath.Base(folder) == "bin" && prefix != "/" {
		return prefix
	}
	return folder
}

// lookupEnv returns the last value of the variable name in environ, a list of NAME=value, or
// "" if there is none.
func lookupEnv(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// pythonPrefixTimeout is how long python3 may take to print where it is installed.
const pythonPrefixTimeout = 5 * time.Second

// FindSpec finds an installed Jupyter kernel by the name of its kernelspec, ignoring case, in
// the folders where Jupyter looks, and reads its kernel.json. environ must be the user's
// environment, because kernels have another HOME. If there is no such kernel, the error lists
// those that are installed.
func FindSpec(ctx context.Context, name string, environ []string) (Spec, error) {
	folders := kernelspecFolders(ctx, environ)
	known := map[string]string{} // path by name, from the first folder that has it
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // most of them do not exist
		for _, entry := range entries {
			path := filepath.Join(folder, entry.Name(), "kernel.json")
			if _, err := os.Stat(path); err != nil {
				continue
			}
			if key := strings.ToLower(entry.Name()); known[key] == "" {
				known[key] = path
			}
		}
	}
	if path, ok := known[strings.ToLower(name)]; ok {
		return ReadSpec(path, environ)
	}
	return Spec{}, unknownKernelError(name, known, folders)
}

// unknownKernelError returns the error for a kernel name that was not found. It lists the
// known names or, if there are none, the folders that were searched.
func unknownKernelError(name string, known map[string]string, folders []string) error {
	if len(known) == 0 {
		return fmt.Errorf("there is no Jupyter kernel %q: none is installed in %s", name, strings.Join(folders, ", "))
	}
	var names []string
	for known := range known {
		names = append(names, known)
	}
	slices.Sort(names)
	return fmt.Errorf("there is no Jupyter kernel %q: installed are %s", name, strings.Join(names, ", "))
}

// kernelspecFolders returns the folders that may contain kernelspecs, in order of precedence:
// those in JUPYTER_PATH, the user's, those of the virtual, conda and python3 environments, and
// the system's.
func kernelspecFolders(ctx context.Context, environ []string) []string {
	folders := filepath.SplitList(lookupEnv(environ, "JUPYTER_PATH"))
	folders = append(folders, userDataFolder(environ))
	for _, prefix := range []string{lookupEnv(environ, "VIRTUAL_ENV"), lookupEnv(environ, "CONDA_PREFIX"), pythonPrefix(ctx, environ)} {
		if prefix != "" {
			folders = append(folders, filepath.Join(prefix, "share", "jupyter"))
		}
	}
	folders = append(folders, "/usr/local/share/jupyter", "/usr/share/jupyter")
	var path []string
	for _, folder := range folders {
		if folder = filepath.Join(folder, "kernels"); filepath.IsAbs(folder) && !slices.Contains(path, folder) {
			path = append(path, folder)
		}
	}
	return path
}

// userDataFolder returns the folder where Jupyter keeps what a user has installed, or "" if
// environ has no HOME.
func userDataFolder(environ []string) string {
	if folder := lookupEnv(environ, "JUPYTER_DATA_DIR"); folder != "" {
		return folder
	}
	if folder := lookupEnv(environ, "XDG_DATA_HOME"); folder != "" {
		return filepath.Join(folder, "jupyter")
	}
	if home := lookupEnv(environ, "HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "jupyter")
	}
	return ""
}

// pythonPrefix returns the folder in which the python3 on the PATH of environ is installed. It
// asks python3 itself, since that may be a version manager's shim. It returns "" if there is
// no python3 or it does not answer within pythonPrefixTimeout.
func pythonPrefix(ctx context.Context, environ []string) string {
	program, err := Spec{argv: []string{"python3"}}.findProgram(environ)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, pythonPrefixTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-I", "-c", "import sys; print(sys.prefix)")
	cmd.Env = environ
	// A shim starts the interpreter as a subprocess, so the whole group is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
