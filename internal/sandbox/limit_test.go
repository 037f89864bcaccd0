package sandbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

// PK-15: exceeding a limit on memory, file size or descriptors is an error in the
// program and does not kill it.
func TestMemoryFileAndDescriptorLimits(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := mode.newRules(t)
			rules.MaxMemoryBytes, rules.MaxOpenFiles, rules.MaxFileBytes = 512<<20, 64, 1<<20
			outcomes, enforced := mode.runPythonSnippets(t, sandboxRequest{Rules: rules}, map[string]string{
				"memory": `bytearray(1 << 30)`,
				"memory in small pieces": `
pieces = []
while True: pieces.append(bytes(1 << 20))`,
				"a large file":     `open("large", "wb").truncate(2 << 20)`,
				"a growing file":   `os.write(os.open("grown", os.O_CREAT | os.O_WRONLY), bytes(1 << 20)); os.write(os.open("grown", os.O_WRONLY | os.O_APPEND), b"x")`,
				"files":            `files = [open("/dev/null") for _ in range(100)]`,
				"raise the limit":  `import resource; resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))`,
				"enough memory":    `bytearray(100 << 20)`,
				"enough of a file": `open("enough", "wb").write(bytes(1 << 20))`,
			}, nil)
			require.Equal(t, "MemoryError: ", outcomes["memory"])
			require.Equal(t, "MemoryError: ", outcomes["memory in small pieces"])
			require.Contains(t, outcomes["a large file"], "File too large")
			require.Contains(t, outcomes["a growing file"], "File too large")
			require.Contains(t, outcomes["files"], "Too many open files")
			require.Regexp(t, "ValueError|PermissionError", outcomes["raise the limit"])
			require.Equal(t, "done", outcomes["enough memory"])
			require.Equal(t, "done", outcomes["enough of a file"])
			for _, key := range []string{sandbox.EnforcesMemory, sandbox.EnforcesOpenFiles, sandbox.EnforcesFileSize} {
				require.True(t, enforced[key])
			}
			require.NotContains(t, enforced, sandbox.EnforcesProcesses)
		})
	}
}

// forkBombCode is Python code that forks up to 200 processes which run at the same time. It
// raises an error whose text is the number of processes that it got.
const forkBombCode = `
gate, release = os.pipe()
count = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            os.close(release)
            os.read(gate, 1)
            os._exit(0)
        count += 1
except BlockingIOError as error:
    raise RuntimeError(count)`

// PK-15: a sandbox cannot have more processes than its limit.
func TestProcessLimit(t *testing.T) {
	t.Parallel()
	pids, err := sandbox.NewPidsLimit(1, "")
	if err == nil {
		require.NoError(t, pids.Remove())
	}
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := mode.newRules(t)
			rules.MaxProcesses = 64
			// Only root can make cgroups.
			o := sandboxRequest{Rules: rules, UsePidsCgroup: err == nil && mode.uid == 0}
			outcomes, enforced := mode.runPythonSnippets(t, o, map[string]string{
				"fork": forkBombCode,
				"threads": `
import threading
gate = threading.Event()
try:
    for count in range(200): threading.Thread(target=gate.wait, daemon=True).start()
except RuntimeError as error:
    os._exit(7)`,
			}, nil)
			if !enforced[sandbox.EnforcesProcesses] {
				require.Equal(t, "done", outcomes["fork"])
				t.Log("processes cannot be limited here, and Enforceable says so")
				return
			}
			if !o.UsePidsCgroup && !enforced[sandbox.EnforcesSharedMemory] {
				t.Skip("the limit counts all processes of this user")
			}
			require.Regexp(t, `^RuntimeError: (5\d|6\d)$`, outcomes["fork"])
			require.Equal(t, "status 1792", outcomes["threads"]) // exit status 7
		})
	}
}
