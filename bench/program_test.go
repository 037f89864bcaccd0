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

// assayProgram is the built assay binary, and what starts kernels with it.
type assayProgram struct {
	path       string
	supervisor *subprocess.Supervisor
	python     *kernel.Python
}

// buildProgram builds the binary as `make build` does and resolves python3 as the binary does.
func buildProgram(t *testing.T) *assayProgram {
	t.Helper()
	p := &assayProgram{path: filepath.Join(t.TempDir(), "assay")}
	t.Log("building assay")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", p.path, "./cmd/assay")
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	p.supervisor, err = subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{p.path, "reap"}, Launcher: p.launcherCommand()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.supervisor.Close()) })
	p.python, err = kernel.ResolvePython(t.Context(), "python3", p.supervisor.TempDir())
	require.NoError(t, err)
	return p
}

// launcherCommand returns the command that starts another command in a sandbox.
func (p *assayProgram) launcherCommand() []string { return []string{p.path, "fence"} }

// addMachineTable writes the date and a table that describes the machine.
func (r *report) addMachineTable(t *testing.T, p *assayProgram) {
	t.Helper()
	fmt.Fprintf(r, "\n%s. Command: `make bench`.\n\n", time.Now().Format(time.DateOnly))
	r.addTable(
		[]string{"machine", ""},
		[]string{"CPU", fmt.Sprintf("%s, %d cores", valueInFile(t, "/proc/cpuinfo", "model name"), runtime.NumCPU())},
		[]string{"memory", valueInFile(t, "/proc/meminfo", "MemTotal")},
		[]string{"kernel", "Linux " + firstWordInFile(t, "/proc/sys/kernel/osrelease")},
		[]string{"file system of temporary files", filesystemName(t, t.TempDir())},
		[]string{"Go", runtime.Version()},
		[]string{"Python", p.python.Version},
		[]string{"load before the run", firstWordInFile(t, "/proc/loadavg") + ", including the build"},
	)
}

// valueInFile returns the value of the first line "name: value" of a file such as
// /proc/meminfo, or "unknown" if there is none.
func valueInFile(t *testing.T, path, name string) string {
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

// firstWordInFile returns the first word of a file.
func firstWordInFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	word, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return word
}

// filesystemName returns the name of the file system that holds dir. The cost of a sync
// depends on it.
func filesystemName(t *testing.T, dir string) string {
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
		return "tmpfs, where a sync is free"
	default:
		return fmt.Sprintf("type %#x", stat.Type)
	}
}

// commandResourceUsage is what one execution of a command used.
type commandResourceUsage struct {
	wall    time.Duration
	cpu     time.Duration // user and system, of the command and of the children that it waited for
	peakKiB int64         // peak resident memory of the command alone
	verdict string        // last line of its output without the run folder
}

// runCommand runs the binary to its end. It fails the test only if the exit status is
// above 1, because status 1 means that attempts failed.
func (p *assayProgram) runCommand(t *testing.T, args ...string) commandResourceUsage {
	t.Helper()
	var out, problem strings.Builder
	cmd := exec.CommandContext(t.Context(), p.path, args...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	began := time.Now()
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	peak := make(chan int64, 1)
	go func() { peak <- watchPeakMemoryKiB(cmd.Process.Pid, ended) }()
	_ = cmd.Wait()
	took := commandResourceUsage{wall: time.Since(began)}
	close(ended)
	took.peakKiB = <-peak
	require.LessOrEqual(t, cmd.ProcessState.ExitCode(), 1, "%s", problem.String())
	took.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	verdict, _, _ := strings.Cut(strings.TrimSpace(out.String()), ")")
	took.verdict = verdict + ")"
	return took
}

// watchPeakMemoryKiB reads the peak resident memory of a process every 20 ms until ended is
// closed, and returns the last value in KiB, or 0 if it read none.
func watchPeakMemoryKiB(pid int, ended <-chan struct{}) (peak int64) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // missing, or without the line, once the process has ended
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

// timeCommand runs a command, which must succeed, and returns its wall time.
func timeCommand(t *testing.T, name string, args ...string) time.Duration {
	t.Helper()
	began := time.Now()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	took := time.Since(began)
	require.NoError(t, err, "%s", out)
	return took
}
