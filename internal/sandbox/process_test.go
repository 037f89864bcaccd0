package sandbox_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

// Processes outside, and their command lines, cannot be seen.
func TestProcessesOutsideAreHidden(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := sandboxRequest{Rules: mode.newRules(t)}
			mode.requireSnippetsFail(t, request, sandbox.EnforcesProcessList, map[string]string{
				"list":         `if str(SERVER) not in os.listdir("/proc"): raise PermissionError`,
				"command line": `open(f"/proc/{SERVER}/cmdline").read()`,
				"first":        `open("/proc/1/cmdline").read()`,
			}, map[string]any{"SERVER": os.Getpid()})
			mode.requireSnippetsFail(t, request, sandbox.EnforcesRead, map[string]string{
				"cgroups": `os.listdir("/sys/fs/cgroup")`,
			}, nil)
			mode.requireSnippetsFail(t, request, sandbox.EnforcesSharedMemory, map[string]string{
				"pages":   `if not open("/proc/kpageflags", "rb").read(8): raise PermissionError`,
				"numbers": `if not open("/proc/vmstat").read(): raise PermissionError`,
				"slabs":   `if not open("/proc/slabinfo").read(): raise PermissionError`,
				"locks": `
import fcntl
file = open("own", "w")
fcntl.flock(file, fcntl.LOCK_EX)
if not open("/proc/locks").read(): raise PermissionError`,
			}, nil)
			mode.requireSnippetsSucceed(t, request, map[string]string{
				"asyncio": "import asyncio\nasync def run():\n    child = await asyncio.create_subprocess_exec('true')\n    assert await child.wait() == 0\nasyncio.run(run())",
				"own":     `open(f"/proc/{os.getpid()}/cmdline").read(), open("/proc/self/environ").read()`,
				"child":   "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nopen(f'/proc/{child.pid}/cmdline').read()\nassert str(child.pid) in os.listdir('/proc')\nchild.kill(); child.wait()",
			}, nil)
		})
	}
}

// PK-15: processes outside the sandbox cannot be signalled, limited or slowed down.
func TestProcessesOutsideCannotBeSignalled(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := mode.newRules(t)
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesSignals, map[string]string{
				"ask":        `os.kill(SERVER, 0)`,
				"signal":     `import signal; os.kill(SERVER, signal.SIGURG)`,
				"the group":  `import signal; os.killpg(os.getpgid(SERVER), signal.SIGURG)`,
				"the thread": `syscall(NR["tgkill"], SERVER, SERVER, 23)`,
				"by file":    `import signal; signal.pidfd_send_signal(os.pidfd_open(SERVER), signal.SIGURG)`,
				"limit":      `import resource; resource.prlimit(SERVER, resource.RLIMIT_NOFILE, (9, 9))`,
				"priority":   `os.setpriority(os.PRIO_PROCESS, SERVER, 19)`,
				"of a user":  `os.setpriority(os.PRIO_USER, 0, 19)`,
				"of a group": `os.setpriority(os.PRIO_PGRP, 0, 19)`,
				"disk":       `syscall(NR["ioprio_set"], 3, 0, 3 << 13)`, // of all processes of the user
				"processor":  `os.sched_setaffinity(SERVER, {0})`,
				"scheduler":  `os.sched_setscheduler(SERVER, os.SCHED_IDLE, os.sched_param(0))`,
				"lease":      `import fcntl; fcntl.fcntl(open("mine", "w"), fcntl.F_SETLEASE, fcntl.F_WRLCK)`, // others would wait to open it
				"notify":     `import fcntl; fcntl.fcntl(os.open(".", os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE)`,
				"keystrokes": `import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b"x")`,
			}, nil)
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"own child": `
import signal, subprocess
child = subprocess.Popen(["sleep", "60"])
child.terminate()
assert child.wait() == -signal.SIGTERM`,
				"reserve disk": `
import errno
file = os.open("reserved", os.O_CREAT | os.O_RDWR)
try: syscall(NR["fallocate"], file, 0, 0, 1 << 40)
except OSError as error: assert error.errno == errno.EOPNOTSUPP, error
else: raise AssertionError
os.posix_fallocate(file, 0, 1 << 20)  # writes
assert os.fstat(file).st_blocks * 512 >= 1 << 20`,
				"own group": `import signal; signal.signal(signal.SIGUSR1, lambda *_: None); os.setpgid(0, 0); os.killpg(0, signal.SIGUSR1)`,
				"itself":    `import resource; os.sched_setaffinity(0, {0}); os.nice(1); syscall(NR["ioprio_set"], 1, 0, 3 << 13); resource.setrlimit(resource.RLIMIT_CORE, (0, 0))`,
			}, nil)
		})
	}
}

// PK-15: sandboxed code cannot read the server's environment, which has keys, nor its
// memory.
func TestEnvironmentOfServerCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mode.requireSnippetsFail(t, sandboxRequest{Rules: mode.newRules(t)}, sandbox.EnforcesEnvironment, map[string]string{
				"environment": `open(f"/proc/{SERVER}/environ").read()`,
				"by a thread": `open(f"/proc/{SERVER}/task/{SERVER}/environ").read()`,
				"of a parent": `open(f"/proc/{os.getppid()}/../{SERVER}/environ").read()`,
				"memory":      `open(f"/proc/{SERVER}/mem", "rb")`,
				"maps":        `open(f"/proc/{SERVER}/maps").read()`,
				"trace":       `syscall(NR["ptrace"], 16, SERVER, 0, 0)`,
				"read memory": `
import ctypes
vector = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
syscall(NR["process_vm_readv"], SERVER, vector, 1, vector, 1, 0)`,
				"watch":       `os.pidfd_open(SERVER)`,
				"all events":  `import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 11)`,
				"take a file": `syscall(NR["pidfd_getfd"], os.pidfd_open(SERVER), 0, 0)`,
			}, nil)
		})
	}
}

// PK-15: a sandboxed process has no capabilities and cannot gain any.
func TestCapabilitiesCannotBeGained(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := sandboxRequest{Rules: mode.newRules(t)}
			mode.requireSnippetsSucceed(t, o, map[string]string{"none": `
fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"): assert int(fields[name], 16) == 0, (name, fields[name])
assert int(fields["CapBnd"], 16) == 0 or os.getuid()
assert int(fields["NoNewPrivs"]) == 1 and int(fields["Seccomp"]) == 2`}, nil)
			attempts := map[string]string{
				"users":          `syscall(NR["unshare"], 0x10000000)`,
				"mounts":         `syscall(NR["unshare"], 0x20000)`,
				"a sibling":      `syscall(NR["clone"], 0x8000 | 17, 0, 0, 0, 0)`,
				"users by clone": `syscall(NR["clone"], 0x10000000 | 17, 0, 0, 0, 0)`,
				"enter":          `syscall(NR["setns"], os.open("/proc/self/ns/uts", os.O_RDONLY), 0)`,
				"mount":          `import ctypes; l = ctypes.CDLL(None, use_errno=True); l.mount(b"none", b".", b"tmpfs", 0, None); raise OSError(ctypes.get_errno(), "")`,
				"root":           `os.chroot(".")`,
				"become somebody": `
try: os.setuid(os.getuid() + 1)
except OSError as error: raise PermissionError(error)`,
				"machine's name": `import socket; socket.sethostname("x")`,
				"program":        `syscall(NR["bpf"], 5, bytes(128), 128)`,
				"watch":          `syscall(NR["perf_event_open"], bytes(128), 0, -1, -1, 0)`,
				"faults":         `syscall(NR["userfaultfd"], 0)`,
				"keys":           `syscall(NR["keyctl"], 0, -3, 0)`,
				"shared memory":  `syscall(NR["shmget"], 0, 4096, 0o1600)`,
				"queue":          `syscall(NR["mq_open"], b"x", 0o102, 0o600, 0)`,
				"other numbers":  `syscall(0x40000000 + 39)`,
				"other machine": `
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")  # getpid of i386
result = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
raise OSError(-result, "") if result < 0 else AssertionError(result)`,
			}
			if runtime.GOARCH != "amd64" { // only amd64 has several sets of system calls
				delete(attempts, "other numbers")
				delete(attempts, "other machine")
			}
			mode.requireSnippetsFail(t, o, sandbox.EnforcesCapabilities, attempts, nil)
			mode.requireSnippetsSucceed(t, o, map[string]string{"threads, by clone instead of clone3": `
import threading
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()`}, nil)
		})
	}
}

// In a sandbox, a setuid program runs as the user that starts it, not as its owner.
func TestSetuidProgramsGainNothing(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || !canChangeUser() {
		t.Skip("only root can make a setuid program of root")
	}
	program, err := os.ReadFile("/usr/bin/id")
	require.NoError(t, err)
	for _, python := range []bool{false, true} {
		mode := launchMode{python: python, uid: nobodyUID}
		rules := mode.newRules(t)
		owners := filepath.Join(rules.Workdir, "id")
		require.NoError(t, os.WriteFile(owners, program, 0o755))
		require.NoError(t, os.Chmod(owners, 0o755|os.ModeSetuid))
		said := mode.runCommand(t, sandboxRequest{Rules: rules, Argv: []string{owners, "-u"}})
		require.Equal(t, "65534\n", said.Stdout, said.Stderr)
	}
}
