package jupyter

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// askPython is how long python3 may take to say where it is installed.
const askPython = 5 * time.Second

// FindSpec finds an installed kernel by the name of its kernelspec, in the places
// where Jupyter looks, as environ says, which must be the user's own: a kernel's
// has another HOME. Upper and lower case are the same. Where there is no kernel
// of the name the error lists those that there are.
func FindSpec(ctx context.Context, name string, environ []string) (Spec, error) {
	folders := searchPath(ctx, environ)
	known := map[string]string{} // name to path, the first folder's first
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
	return Spec{}, unknownKernel(name, known, folders)
}

func unknownKernel(name string, known map[string]string, folders []string) error {
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

// searchPath lists the folders that may hold kernelspecs, the first to count
// first: those the user names, the user's own, the environment's, the system's.
func searchPath(ctx context.Context, environ []string) []string {
	folders := filepath.SplitList(lookup(environ, "JUPYTER_PATH"))
	folders = append(folders, dataFolder(environ))
	for _, prefix := range []string{lookup(environ, "VIRTUAL_ENV"), lookup(environ, "CONDA_PREFIX"), pythonPrefix(ctx, environ)} {
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

// dataFolder is where Jupyter keeps what a user has installed for themselves;
// empty when the user has no home.
func dataFolder(environ []string) string {
	if folder := lookup(environ, "JUPYTER_DATA_DIR"); folder != "" {
		return folder
	}
	if folder := lookup(environ, "XDG_DATA_HOME"); folder != "" {
		return filepath.Join(folder, "jupyter")
	}
	if home := lookup(environ, "HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "jupyter")
	}
	return ""
}

// pythonPrefix asks the python3 on PATH where it is installed: what is on PATH
// may be a version manager's shim. Empty when there is none that answers.
func pythonPrefix(ctx context.Context, environ []string) string {
	program, err := Spec{argv: []string{"python3"}}.findProgram(environ)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askPython)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-I", "-c", "import sys; print(sys.prefix)")
	cmd.Env = environ
	// A shim is not the interpreter, but what starts it: both must go.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
