package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

func TestPidsLimit(t *testing.T) {
	t.Parallel()
	_, err := sandbox.NewPidsLimit(0, "")
	require.EqualError(t, err, "limit processes: 0 is no limit")
	pids, err := sandbox.NewPidsLimit(3, "")
	if err != nil {
		t.Skip(err)
	}
	const sleeper = "sleep 60 >/dev/null 2>&1 & "
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "read line; "+strings.Repeat(sleeper, 4)+"wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var errs strings.Builder
	cmd.Stderr = &errs
	begin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, pids.AddProcess(cmd.Process.Pid))
	_, err = begin.Write([]byte("\n"))
	require.NoError(t, err)
	require.Error(t, cmd.Wait()) // the shell gives up at its third process
	require.Contains(t, errs.String(), "fork")
	require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	require.NoError(t, pids.Remove())
}

// Processes that together use more than the limit are killed; one that reaches its own limit first is not.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	_, err := sandbox.NewMemoryLimit(0, "")
	require.EqualError(t, err, "limit memory: 0 is no limit")
	memory, err := sandbox.NewMemoryLimit(100<<20, "")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c", `
import os, signal, sys
sys.stdin.readline()
def use(megabytes):
    gate, release = os.pipe()
    pid = os.fork()
    if pid == 0:
        data = bytearray(megabytes << 20)
        data[::4096] = bytes(len(data) // 4096)
        os.write(release, b"x")
        signal.pause()
    os.close(release)
    print(os.read(gate, 1) == b"x")
use(40)
use(40)
use(40)
signal.signal(signal.SIGTERM, lambda *_: None)
os.killpg(0, signal.SIGTERM)`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = t.Output()
	var out strings.Builder
	cmd.Stdout = &out
	begin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, memory.AddProcess(cmd.Process.Pid))
	require.Zero(t, memory.OOMKills())
	_, err = begin.Write([]byte("\n"))
	require.NoError(t, err)
	_ = cmd.Wait()
	require.Equal(t, 1, memory.OOMKills(), out.String())
	require.NoError(t, memory.Remove())
}

func TestParseCgroups(t *testing.T) {
	t.Parallel()
	const first = "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 25 0:27 / /sys/fs/cgroup/pids rw,nosuid shared:9 - cgroup cgroup rw,pids\n"
	const second = "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	for name, test := range map[string]struct{ mounts, member, pids, memory, unified string }{
		"both":         {first + second, "9:memory:/m\n8:cpu,pids:/a/b\n0::/u\n", "/sys/fs/cgroup/pids/a/b", "/sys/fs/cgroup/memory/m", "/sys/fs/cgroup/unified/u"},
		"version 2":    {second, "0::/\n", "", "", "/sys/fs/cgroup/unified"},
		"none":         {"", "", "", "", ""},
		"no such line": {first, "9:cpu:/m\n", "", "", ""},
		"nonsense":     {"- - -\nx - cgroup\n", "x\n", "", "", ""},
	} {
		pids, memory, unified := sandbox.ParseCgroups(test.mounts, test.member)
		require.Equal(t, test.pids, pids, name)
		require.Equal(t, test.memory, memory, name)
		require.Equal(t, test.unified, unified, name)
	}
}

func FuzzParseCgroups(f *testing.F) {
	f.Add("31 25 0:27 / /sys/fs/cgroup/pids rw,nosuid shared:9 - cgroup cgroup rw,pids\n", "8:pids:/a\n0::/\n")
	f.Fuzz(func(t *testing.T, mounts, member string) {
		pids, memory, unified := sandbox.ParseCgroups(mounts, member)
		for _, path := range []string{pids, memory, unified} {
			require.False(t, strings.HasSuffix(path, "/") && len(path) > 1)
		}
	})
}

// The limits work with cgroups of version 2. Ordinary folders and files take their
// place here.
func TestUnifiedLimits(t *testing.T) {
	t.Parallel()
	ours := t.TempDir()
	server := filepath.Join(ours, "assay-1")
	group := filepath.Join(server, "1")
	require.NoError(t, os.MkdirAll(group, 0o755))
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	read := func(elements ...string) string {
		text, err := os.ReadFile(filepath.Join(elements...))
		require.NoError(t, err)
		return string(text)
	}
	for _, name := range []string{ours, server, group} {
		for _, file := range []string{"cgroup.subtree_control", "pids.max", "memory.max", "cgroup.procs"} {
			write(filepath.Join(name, file), "")
		}
	}
	write(filepath.Join(ours, "cgroup.controllers"), "cpu memory pids\n")
	write(filepath.Join(server, "cgroup.controllers"), "\n")

	pids, err := sandbox.NewUnifiedPidsLimit(64, ours, group)
	require.NoError(t, err)
	require.Equal(t, "+pids", read(ours, "cgroup.subtree_control"))
	require.Equal(t, "+pids", read(server, "cgroup.subtree_control"))
	require.Equal(t, "64", read(group, "pids.max"))
	require.NoError(t, pids.AddProcess(7))
	require.Equal(t, "7", read(group, "cgroup.procs"))
	require.NoError(t, pids.Remove())
	require.DirExists(t, group) // the caller of NewPidsLimit made it

	memory, err := sandbox.NewUnifiedMemoryLimit(64<<20, ours, group)
	require.NoError(t, err)
	require.Equal(t, "+memory", read(ours, "cgroup.subtree_control"))
	require.Equal(t, "67108864", read(group, "memory.max"))
	require.Zero(t, memory.OOMKills(), "no file, so no kills are known")
	write(filepath.Join(group, "memory.events"), "low 0\nhigh 0\nmax 2\noom 1\noom_kill 3\noom_group_kill 0\n")
	require.Equal(t, 3, memory.OOMKills())
	require.Zero(t, memory.PeakBytes(), "Linux before 5.19 has no such file")
	write(filepath.Join(group, "memory.peak"), "4096\n")
	require.EqualValues(t, 4096, memory.PeakBytes())

	write(filepath.Join(ours, "cgroup.controllers"), "cpu\n")
	_, err = sandbox.NewUnifiedPidsLimit(64, ours, group)
	require.ErrorContains(t, err, "has no pids controller")
	_, err = sandbox.NewUnifiedPidsLimit(64, "", "")
	require.ErrorContains(t, err, "no cgroup")
}

// In a container, its limit is all the memory that there is. Ordinary folders and files take the place of cgroups
// here.
func TestUsableMemory(t *testing.T) {
	t.Parallel()
	require.Greater(t, sandbox.UsableMemoryBytes(), int64(64<<20))
	require.Zero(t, sandbox.CgroupMemoryBytes("", ""))
	top := t.TempDir()
	inner := filepath.Join(top, "a", "b")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }

	write(filepath.Join(inner, "memory.max"), "max\n")
	require.Zero(t, sandbox.CgroupMemoryBytes("", inner))
	write(filepath.Join(top, "a", "memory.max"), "2147483648\n")
	require.EqualValues(t, 2<<30, sandbox.CgroupMemoryBytes("", inner))
	write(filepath.Join(inner, "memory.max"), "1073741824\n")
	require.EqualValues(t, 1<<30, sandbox.CgroupMemoryBytes("", inner))

	require.Zero(t, sandbox.CgroupMemoryBytes(inner, ""), "no file")
	write(filepath.Join(inner, "memory.stat"), "cache 1\nhierarchical_memory_limit 536870912\nhierarchical_memsw_limit 7\n")
	require.EqualValues(t, 512<<20, sandbox.CgroupMemoryBytes(inner, ""))
}
