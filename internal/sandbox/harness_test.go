package sandbox_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
)

// nobodyUID is the user id of "nobody", which is the same on every Linux.
const nobodyUID = 65534

// launchMode says how a test starts a command in a sandbox: with which launcher and as
// which user.
type launchMode struct {
	python bool // with the Python launcher, otherwise with sandbox.Exec
	uid    int  // the user of server and command
}

// launchModes returns the launch modes that can be tested here, by name: both launchers
// and, if this process may change its user, each as root and as nobody.
func launchModes() map[string]launchMode {
	if !canChangeUser() {
		return map[string]launchMode{"exec": {uid: os.Getuid()}, "python": {uid: os.Getuid(), python: true}}
	}
	return map[string]launchMode{
		"exec as root": {}, "python as root": {python: true},
		"exec as nobody": {uid: nobodyUID}, "python as nobody": {uid: nobodyUID, python: true},
	}
}

// canChangeUser reports whether this process may start processes of other users.
func canChangeUser() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_CHOWN | 1<<unix.CAP_KILL
	return unix.Capget(&header, &has[0]) == nil && has[0].Effective&needed == needed
}

// makeUserFolder makes a folder that belongs to the mode's user, and removes it after
// the test.
func (mode launchMode) makeUserFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandbox-workdir-") //nolint:usetesting // other users cannot enter the test's own folder
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chown(dir, mode.uid, -1))
	return dir
}

// newRules returns sandbox rules with a new Workdir and with read access to the files
// that Python needs.
func (mode launchMode) newRules(t *testing.T) sandbox.Rules {
	t.Helper()
	return sandbox.Rules{Workdir: mode.makeUserFolder(t), ReadPaths: append(sandbox.SystemPaths(), pythonPrefix(t))}
}

// runCommand has a test server of this mode run a command in a sandbox, and returns the
// result. It fails the test if the server fails, but not if the command does.
func (mode launchMode) runCommand(t *testing.T, o sandboxRequest) sandboxResponse {
	t.Helper()
	if mode.python {
		o.PythonLauncher = []string{pythonPath(t), "-I", installedFilePath("launcher.py"), installedFilePath("kernel")}
	}
	o.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1",
		"HOME=" + o.Rules.Workdir, "TMPDIR=" + o.Rules.Workdir, "MPLCONFIGDIR=" + o.Rules.Workdir, "GORACE=atexit_sleep_ms=0",
	}, o.Env...)
	asked, err := json.Marshal(o)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), installedFilePath("sandbox.test"), "server")
	cmd.Env = []string{"SECRET=of the server", "GORACE=atexit_sleep_ms=0"}
	cmd.Stdin = bytes.NewReader(asked)
	cmd.Stderr = t.Output()
	if mode.uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(mode.uid), Gid: uint32(mode.uid)}}
	}
	out, err := cmd.Output()
	require.NoError(t, err)
	var answer sandboxResponse
	require.NoError(t, json.Unmarshal(out, &answer))
	return answer
}

// runPythonSnippets runs pieces of Python code in one sandbox, each in a separate process,
// and returns the outcome of each by its name: "done", or the error. The code may use
// the given names, NR for the numbers of system calls, and what attempts.py defines.
func (mode launchMode) runPythonSnippets(t *testing.T, o sandboxRequest, attempts map[string]string, names map[string]any) (outcomes map[string]string, enforced map[string]bool) {
	t.Helper()
	all := map[string]any{"NR": syscallNumbers()}
	maps.Copy(all, names)
	text, err := json.Marshal([]any{attempts, all})
	require.NoError(t, err)
	list := filepath.Join(o.Rules.Workdir, "attempts.json")
	require.NoError(t, os.WriteFile(list, text, 0o644))
	program, err := os.ReadFile(installedFilePath("attempts.py"))
	require.NoError(t, err)
	script := filepath.Join(o.Rules.Workdir, "attempts.py")
	require.NoError(t, os.WriteFile(script, program, 0o644))
	o.Argv = []string{pythonPath(t), script, list}
	answer := mode.runCommand(t, o)
	require.Empty(t, answer.ExitStatus, answer.Stderr)
	require.NoError(t, json.Unmarshal([]byte(answer.Stdout), &outcomes), answer.Stdout)
	return outcomes, answer.Enforced
}

// requireSnippetsFail runs pieces of Python code in a sandbox. It fails the test if one
// of them succeeds although the machine claims to enforce the key.
func (mode launchMode) requireSnippetsFail(t *testing.T, o sandboxRequest, key string, attempts map[string]string, names map[string]any) {
	t.Helper()
	outcomes, enforced := mode.runPythonSnippets(t, o, attempts, names)
	require.Contains(t, enforced, key)
	for name, outcome := range outcomes {
		if !isAccessRefused(outcome) {
			require.False(t, enforced[key], "%s: %s", name, outcome)
		}
	}
}

// syscallNumbers returns the numbers of system calls by name, for Python code of
// runPythonSnippets.
func syscallNumbers() map[string]int {
	return map[string]int{
		"tgkill": unix.SYS_TGKILL, "ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV,
		"pidfd_getfd": unix.SYS_PIDFD_GETFD, "unshare": unix.SYS_UNSHARE, "clone": unix.SYS_CLONE, "setns": unix.SYS_SETNS,
		"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD,
		"keyctl": unix.SYS_KEYCTL, "shmget": unix.SYS_SHMGET, "mq_open": unix.SYS_MQ_OPEN, "io_uring_setup": unix.SYS_IO_URING_SETUP,
		"ioprio_set": unix.SYS_IOPRIO_SET, "fallocate": unix.SYS_FALLOCATE, "sendmmsg": unix.SYS_SENDMMSG,
	}
}

// hiddenProcess matches the error of looking at a process that a sandbox cannot see.
var hiddenProcess = regexp.MustCompile(`^FileNotFoundError: .*: '/proc/\d+/`)

// isAccessRefused reports whether an outcome is EACCES, EPERM or EROFS, or EXDEV, the error of
// moving or linking a file across the sandbox's border, or that of a process that is hidden or in another PID namespace.
func isAccessRefused(outcome string) bool {
	return hiddenProcess.MatchString(outcome) || strings.HasPrefix(outcome, "ProcessLookupError: ") || strings.HasPrefix(outcome, "PermissionError: ") || strings.HasPrefix(outcome, "OSError: [Errno 18]") || strings.HasPrefix(outcome, "OSError: [Errno 30]")
}

// requireSnippetsSucceed runs pieces of Python code in a sandbox and requires that each
// succeeds.
func (mode launchMode) requireSnippetsSucceed(t *testing.T, o sandboxRequest, code map[string]string, names map[string]any) {
	t.Helper()
	outcomes, _ := mode.runPythonSnippets(t, o, code, names)
	for name, outcome := range outcomes {
		require.Equal(t, "done", outcome, name)
	}
}

// installedFilePath returns the path of a file that installTestPrograms has copied.
func installedFilePath(name string) string { return filepath.Join(os.Getenv(installDirEnvVar), name) }

// pythonPath returns the path, without symbolic links, of /usr/bin/python3, which every user can
// run, or if that does not work of python3 on the PATH.
func pythonPath(t *testing.T) string {
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

// pythonPrefix returns the folder in which the Python of pythonPath is installed.
func pythonPrefix(t *testing.T) string {
	t.Helper()
	return filepath.Dir(filepath.Dir(pythonPath(t)))
}
