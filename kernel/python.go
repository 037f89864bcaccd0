package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"assay/kernel/python"
)

// Python is an installed Python interpreter that can run the Python kernel, from
// [ResolvePython].
type Python struct {
	Executable string // path of the interpreter itself, not of a version manager's shim
	Version    string // such as "3.11.7"

	kernelProgram string   // file that starts the unpacked kernel
	poolProgram   string   // file that starts the parent process of a pool
	readPaths     []string // what a sandboxed kernel must read: the kernel and all libraries
}

// pythonProbeCode is Python code that prints the interpreter's path, version and library
// folders as JSON. It compiles the kernel's modules in the folder sys.argv[1], if there is one,
// so that no kernel start has to.
const pythonProbeCode = `
import sys
sys.path[:] = [path for path in sys.path if path]  # '' is the current folder, which may be an agent's: nothing of it may run here
import json, os
if sys.argv[1:] and sys.version_info >= (3, 9):
    import compileall
    compileall.compile_dir(sys.argv[1], quiet=2)
paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, sys.executable] + sys.path
paths = [path for path in paths if os.path.isabs(path)]
paths += [os.path.realpath(path) for path in paths]
print(json.dumps({
    "executable": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3],
    "paths": sorted(set(paths)),
}))
`

// ResolvePython finds a Python interpreter by name or path, checks that it is Python 3.9 or
// newer, and unpacks and compiles the Python kernel below dir. Call it once for all kernels,
// since a version manager's shim takes longer than the start of a kernel. It fails if the
// interpreter cannot be run or is too old.
func ResolvePython(ctx context.Context, name, dir string) (*Python, error) {
	home := filepath.Join(dir, "kernel")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("unpack the kernel: %w", err)
	}
	kernelProgram, err := python.UnpackSources(home)
	if err != nil {
		return nil, err
	}
	found, err := probeInterpreter(ctx, name, home)
	if err != nil {
		return nil, err
	}
	var major, minor int
	if _, err := fmt.Sscanf(found.Version, "%d.%d", &major, &minor); err != nil || major < 3 || major == 3 && minor < 9 {
		return nil, fmt.Errorf("the interpreter %s is Python %s: the kernel needs 3.9 or newer", name, found.Version)
	}
	return &Python{
		Executable: found.Executable, Version: found.Version,
		kernelProgram: kernelProgram, poolProgram: python.PoolParentStartFile(home), readPaths: append(found.Paths, home),
	}, nil
}

// ReadPaths returns what a sandboxed kernel must be able to read: the kernel's modules and all
// libraries.
func (p *Python) ReadPaths() []string { return p.readPaths }

// FindExecutable runs what may be a version manager's shim of a Python interpreter and returns the path of
// the interpreter itself. The interpreter imports nothing that is installed or in the current folder. It fails
// if that takes more than 30 s.
func FindExecutable(ctx context.Context, shim string) (string, error) {
	stdout, stderr, err := runProbe(ctx, shim, "-I", "-S", "-c", "import sys; print(sys.executable)")
	if err != nil {
		return "", fmt.Errorf("the interpreter %s does not run: %w: %s", shim, err, strings.TrimSpace(stderr))
	}
	return strings.TrimSpace(string(stdout)), nil
}

// interpreter is what a Python interpreter says about itself.
type interpreter struct {
	Executable string   // path of the interpreter itself, not of a version manager's shim
	Version    string   // such as "3.11.7"
	Paths      []string // absolute paths of the executable, its prefixes and its libraries
}

// probeInterpreter runs pythonProbeCode with these arguments.
func probeInterpreter(ctx context.Context, name string, args ...string) (found interpreter, err error) {
	stdout, stderr, err := runProbe(ctx, name, append([]string{"-c", pythonProbeCode}, args...)...)
	if err != nil {
		if text := strings.TrimSpace(stderr); text != "" && !errors.Is(err, exec.ErrNotFound) {
			return found, fmt.Errorf("the interpreter %s does not run: %w: %s", name, err, text)
		}
		return found, fmt.Errorf("the interpreter %s cannot be started: %w (name another with --python)", name, err)
	}
	if err := json.Unmarshal(stdout, &found); err != nil {
		return found, fmt.Errorf("the interpreter %s is no Python: it printed %q", name, strings.TrimSpace(string(stdout)))
	}
	return found, nil
}

// probeTimeout is how long an interpreter may take to say what it is.
const probeTimeout = 30 * time.Second

// runProbe runs a program to its end and returns its stdout and stderr. If ctx ends first, or
// probeTimeout passes, it kills the program's whole process group, because a version manager's shim
// starts the interpreter as a subprocess; then it fails with the cause.
func runProbe(ctx context.Context, name string, args ...string) (stdout []byte, stderr string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("it has not ended within %v", probeTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	// If this process is killed, the program is, too: it would go on to write the kernel's compiled modules
	// into a folder that is removed. Linux sends the signal when the thread that has started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var errors strings.Builder
	cmd.Stderr = &errors
	stdout, err = cmd.Output()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return stdout, errors.String(), err
}
