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

	start string // the kernel's program, unpacked
	pool  string // that of its warm parent
}

// probe is run once by the interpreter: it says what it is, and compiles the
// kernel so that no start has to.
const probe = `
import json, sys
if sys.version_info >= (3, 9):
    import compileall
    compileall.compile_dir(sys.argv[1], quiet=2)
print(json.dumps({"executable": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3]}))
`

// Resolve finds the interpreter by name or path, makes sure that it can run the
// kernel, and unpacks the kernel below dir. It is done once, because a version
// manager's shim costs more than a start of the kernel.
func Resolve(ctx context.Context, name, dir string) (*Python, error) {
	home := filepath.Join(dir, "kernel")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("unpack the kernel: %w", err)
	}
	start, err := python.Unpack(home)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, name, "-c", probe, home)
	// A shim is not the interpreter, but what starts it: both must go.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		if text := strings.TrimSpace(problem.String()); text != "" && !errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("the interpreter %s does not run: %w: %s", name, err, text)
		}
		return nil, fmt.Errorf("the interpreter %s cannot be started: %w (name another with --python)", name, err)
	}
	found := &Python{start: start, pool: filepath.Join(filepath.Dir(start), "pool.py")}
	if err := json.Unmarshal(out, found); err != nil {
		return nil, fmt.Errorf("the interpreter %s is no Python: it printed %q", name, strings.TrimSpace(string(out)))
	}
	var major, minor int
	if _, err := fmt.Sscanf(found.Version, "%d.%d", &major, &minor); err != nil || major < 3 || major == 3 && minor < 9 {
		return nil, fmt.Errorf("the interpreter %s is Python %s: the kernel needs 3.9 or newer", name, found.Version)
	}
	return found, nil
}
