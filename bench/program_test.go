//go:build bench

package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/subprocess"
	"assay/kernel"
)

// program is the built program, and what its kernels are started with.
type program struct {
	path       string
	supervisor *subprocess.Supervisor
	python     *kernel.Python
}

// build builds the program as `make build` does, and finds the interpreter as
// the program does.
func build(t *testing.T) *program {
	t.Helper()
	p := &program{path: filepath.Join(t.TempDir(), "assay")}
	t.Log("building the program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", p.path, "./cmd/assay")
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	p.supervisor, err = subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{p.path, "reap"}, Launcher: p.door()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.supervisor.Close()) })
	p.python, err = kernel.ResolvePython(t.Context(), "python3", p.supervisor.TempDir())
	require.NoError(t, err)
	return p
}

// door is the command that puts another behind a fence.
func (p *program) door() []string { return []string{p.path, "fence"} }

// machine says where the figures come from.
func (r *report) machine(t *testing.T, p *program) {
	t.Helper()
	fmt.Fprintf(r, "\n%s. Command: `make bench`.\n\n", time.Now().Format(time.DateOnly))
	r.table(
		[]string{"machine", ""},
		[]string{"CPU", fmt.Sprintf("%s, %d cores", field(t, "/proc/cpuinfo", "model name"), runtime.NumCPU())},
		[]string{"memory", field(t, "/proc/meminfo", "MemTotal")},
		[]string{"kernel", "Linux " + first(t, "/proc/sys/kernel/osrelease")},
		[]string{"temporary folder", filesystem(t, t.TempDir())},
		[]string{"Go", runtime.Version()},
		[]string{"Python", p.python.Version},
		[]string{"load before the run", first(t, "/proc/loadavg") + ", of the build too"},
	)
}

// field is the value of the first line of a file that is named so.
func field(t *testing.T, path, name string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// first is the first word of a file.
func first(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	word, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return word
}

// filesystem names that of a folder: what a sync costs depends on it.
func filesystem(t *testing.T, dir string) string {
	t.Helper()
	var stat unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &stat))
	switch stat.Type {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs, where a sync costs nothing"
	default:
		return fmt.Sprintf("type %#x", stat.Type)
	}
}

// usage is what a command took.
type usage struct {
	wall    time.Duration
	cpu     time.Duration // of it and of the children that it has waited for
	peakKiB int64         // resident memory of it alone
	verdict string        // its last line without the folder
}

// run runs the program to its end. Attempts that failed are no fault here.
func (p *program) run(t *testing.T, args ...string) usage {
	t.Helper()
	var out, problem strings.Builder
	cmd := exec.CommandContext(t.Context(), p.path, args...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	began := time.Now()
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	peak := make(chan int64, 1)
	go func() { peak <- watchPeak(cmd.Process.Pid, ended) }()
	_ = cmd.Wait()
	took := usage{wall: time.Since(began)}
	close(ended)
	took.peakKiB = <-peak
	require.LessOrEqual(t, cmd.ProcessState.ExitCode(), 1, "%s", problem.String())
	took.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	verdict, _, _ := strings.Cut(strings.TrimSpace(out.String()), ")")
	took.verdict = verdict + ")"
	return took
}

// watchPeak looks at the peak of a process's resident memory, in KiB, until it
// has ended.
func watchPeak(pid int, ended <-chan struct{}) (peak int64) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // gone, or without the line, when it has ended
		if _, rest, ok := strings.Cut(string(text), "VmHWM:"); ok {
			var now int64
			if _, err := fmt.Sscan(rest, &now); err == nil {
				peak = max(peak, now)
			}
		}
		select {
		case <-tick.C:
		case <-ended:
			return peak
		}
	}
}

// wallOf is how long a command takes that must succeed.
func wallOf(t *testing.T, name string, args ...string) time.Duration {
	t.Helper()
	began := time.Now()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	took := time.Since(began)
	require.NoError(t, err, "%s", out)
	return took
}
