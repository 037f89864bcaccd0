package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"assay/kernel/python"
)

// Python is an interpreter that can run the Python kernel.
type Python struct {
	Executable string // the interpreter itself, behind any shim
	Version    string // "3.11.7"

	start string   // the kernel's program, unpacked
	pool  string   // that of its warm parent
	paths []string // what it has to read, its program and libraries
}

// probe is run once by the interpreter: it says what it is, and compiles the
// kernel so that no start has to.
const probe = `
import json, os, sys
if sys.version_info >= (3, 9):
    import compileall
    compileall.compile_dir(sys.argv[1], quiet=2)
paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, sys.executable] + sys.path
paths = [path for path in paths if os.path.isabs(path)]  # '' would be the server's folder
paths += [os.path.realpath(path) for path in paths]
print(json.dumps({
    "executable": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3],
    "paths": sorted(set(paths)),
}))
`

// ResolvePython finds the interpreter by name or path, makes sure that it can run the
// kernel, and unpacks the kernel below dir. It is done once, because a version
// manager's shim costs more than a start of the kernel.
func ResolvePython(ctx context.Context, name, dir string) (*Python, error) {
	home := filepath.Join(dir, "kernel")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("unpack the kernel: %w", err)
	}
	start, err := python.Unpack(home)
	if err != nil {
		return nil, err
	}
	out, problem, err := ask(ctx, name, "-c", probe, home)
	if err != nil {
		if text := strings.TrimSpace(problem); text != "" && !errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("the interpreter %s does not run: %w: %s", name, err, text)
		}
		return nil, fmt.Errorf("the interpreter %s cannot be started: %w (name another with --python)", name, err)
	}
	var said struct {
		Executable, Version string
		Paths               []string
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, fmt.Errorf("the interpreter %s is no Python: it printed %q", name, strings.TrimSpace(string(out)))
	}
	found := &Python{
		Executable: said.Executable, Version: said.Version,
		start: start, pool: python.PoolStart(home), paths: append(said.Paths, home),
	}
	var major, minor int
	if _, err := fmt.Sscanf(found.Version, "%d.%d", &major, &minor); err != nil || major < 3 || major == 3 && minor < 9 {
		return nil, fmt.Errorf("the interpreter %s is Python %s: the kernel needs 3.9 or newer", name, found.Version)
	}
	return found, nil
}

// ask runs a program and returns what it prints to stdout and to stderr. When ctx
// ends, what the program has started goes, too: a shim is not the interpreter.
func ask(ctx context.Context, name string, args ...string) (out []byte, said string, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err = cmd.Output()
	return out, problem.String(), err
}
