package sandbox_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
)

// nobody is a user without rights: 65534 everywhere.
const nobody = 65534

// way is one of the ways in which a command gets behind a fence: through which
// door, and as whom server and command run.
type way struct {
	python bool
	uid    int
}

// ways are those that there are here, by name: as another user too if we may become
// one.
func ways() map[string]way {
	if !mayBecome() {
		return map[string]way{"exec": {uid: os.Getuid()}, "python": {uid: os.Getuid(), python: true}}
	}
	return map[string]way{
		"exec as root": {}, "python as root": {python: true},
		"exec as nobody": {uid: nobody}, "python as nobody": {uid: nobody, python: true},
	}
}

// mayBecome tells whether we can start what is another user's.
func mayBecome() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_CHOWN | 1<<unix.CAP_KILL
	return unix.Capget(&header, &has[0]) == nil && has[0].Effective&needed == needed
}

// folder makes a folder that is the user's own, where he can reach it.
func (w way) folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fence-root-") //nolint:usetesting // that folder is the test's user's alone
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chown(dir, w.uid, -1))
	return dir
}

// rules are those of a sandbox in a new folder, with what python needs.
func (w way) rules(t *testing.T) sandbox.Rules {
	t.Helper()
	return sandbox.Rules{Workdir: w.folder(t), ReadPaths: append(sandbox.SystemPaths(), prefix(t))}
}

// run runs a command behind the fence and requires that this was possible.
func (w way) run(t *testing.T, o order) report {
	t.Helper()
	if w.python {
		o.Python = []string{interpreter(t), "-I", in("door.py"), in("kernel")}
	}
	o.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1",
		"HOME=" + o.Rules.Workdir, "TMPDIR=" + o.Rules.Workdir, "MPLCONFIGDIR=" + o.Rules.Workdir, "GORACE=atexit_sleep_ms=0",
	}, o.Env...)
	asked, err := json.Marshal(o)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), in("fence.test"), "server")
	cmd.Env = []string{"SECRET=of the server", "GORACE=atexit_sleep_ms=0"}
	cmd.Stdin = bytes.NewReader(asked)
	cmd.Stderr = t.Output()
	if w.uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(w.uid), Gid: uint32(w.uid)}}
	}
	out, err := cmd.Output()
	require.NoError(t, err)
	var said report
	require.NoError(t, json.Unmarshal(out, &said))
	return said
}

// try makes attempts, code by name, behind the fence, and returns how each ended:
// "done", or the error. Their code may use names, NR for the numbers of system
// calls, and what attempts.py gives it.
func (w way) try(t *testing.T, o order, attempts map[string]string, names map[string]any) (outcomes map[string]string, enforced map[string]bool) {
	t.Helper()
	all := map[string]any{"NR": numbers()}
	maps.Copy(all, names)
	text, err := json.Marshal([]any{attempts, all})
	require.NoError(t, err)
	list := filepath.Join(o.Rules.Workdir, "attempts.json")
	require.NoError(t, os.WriteFile(list, text, 0o644))
	program, err := os.ReadFile(in("attempts.py"))
	require.NoError(t, err)
	script := filepath.Join(o.Rules.Workdir, "attempts.py")
	require.NoError(t, os.WriteFile(script, program, 0o644))
	o.Argv = []string{interpreter(t), script, list}
	said := w.run(t, o)
	require.Empty(t, said.Status, said.Stderr)
	require.NoError(t, json.Unmarshal([]byte(said.Stdout), &outcomes), said.Stdout)
	return outcomes, said.Enforced
}

// prevent makes attempts, and requires of each that it is refused, or that the
// promise it would break is not said to hold.
func (w way) prevent(t *testing.T, o order, promise string, attempts map[string]string, names map[string]any) {
	t.Helper()
	outcomes, enforced := w.try(t, o, attempts, names)
	require.Contains(t, enforced, promise)
	for name, outcome := range outcomes {
		if !refused(outcome) {
			require.False(t, enforced[promise], "%s: %s", name, outcome)
		}
	}
}

func numbers() map[string]int {
	return map[string]int{
		"tgkill": unix.SYS_TGKILL, "ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV,
		"pidfd_getfd": unix.SYS_PIDFD_GETFD, "unshare": unix.SYS_UNSHARE, "clone": unix.SYS_CLONE, "setns": unix.SYS_SETNS,
		"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD,
		"keyctl": unix.SYS_KEYCTL, "shmget": unix.SYS_SHMGET, "mq_open": unix.SYS_MQ_OPEN, "io_uring_setup": unix.SYS_IO_URING_SETUP,
	}
}

// refused tells whether an attempt ended by EACCES or EPERM, or by EXDEV, the error
// about a file that may not come from, or go, where it is to.
func refused(outcome string) bool {
	return strings.HasPrefix(outcome, "PermissionError: ") || strings.HasPrefix(outcome, "OSError: [Errno 18]")
}

// allow does things, and requires that they are done.
func (w way) allow(t *testing.T, o order, things map[string]string, names map[string]any) {
	t.Helper()
	outcomes, _ := w.try(t, o, things, names)
	for name, outcome := range outcomes {
		require.Equal(t, "done", outcome, name)
	}
}

// in is a file of the folder that TestMain made.
func in(name string) string { return filepath.Join(os.Getenv(shared), name) }

// interpreter is a Python that every user can run, with the scientific stack if
// there is one.
func interpreter(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		out, err := exec.CommandContext(t.Context(), name, "-c", "import os, sys; print(os.path.realpath(sys.executable), end='')").Output()
		if err == nil {
			return string(out)
		}
	}
	t.Fatal("there is no python3")
	return ""
}

// prefix is the folder in which it is installed.
func prefix(t *testing.T) string {
	t.Helper()
	return filepath.Dir(filepath.Dir(interpreter(t)))
}
