package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// feedingCell is a cell that shows random bytes in its first run, and leaves a process that shows them to the next run by
// its command line. The process forks and ends all the time.
const feedingCell = `
import os, subprocess, sys
seen = None
for folder in os.listdir('/proc'):
    try:
        command = open(f'/proc/{folder}/cmdline').read().split('\0')
    except OSError:
        continue
    if len(command) > 3 and command[3].startswith('seen-'):
        seen = command[3]
if seen is None:
    seen = 'seen-' + os.urandom(8).hex()
    subprocess.run([sys.executable, '-c', '''
import os, time
end = time.time() + 30
if os.fork() == 0:
    while time.time() < end:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(0.005)
''', seen])
print(seen)
`

// ordinaryUser is the user nobody with a folder, in which its home and a copy of the program assay are.
type ordinaryUser struct{ dir string }

// newOrdinaryUser makes an ordinaryUser, whose folder is removed after the test. The test is skipped if it cannot become
// another user.
func newOrdinaryUser(t *testing.T) ordinaryUser {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "assay-ordinary-") //nolint:usetesting // other users cannot enter the test's own folder
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chown(dir, nobodyUID, nobodyUID))
	program, err := exec.LookPath("assay")
	require.NoError(t, err)
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "assay"), text, 0o755))
	return ordinaryUser{dir}
}

// nobodyUID is the user id of "nobody", which is the same on every Linux.
const nobodyUID = 65534

// writeFile writes a file of the user and returns its path.
func (u ordinaryUser) writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := writeFile(t, filepath.Join(u.dir, name), text)
	require.NoError(t, os.Chown(path, nobodyUID, nobodyUID))
	return path
}

// runCases runs cases as the user. It returns what the run printed and its attempts.jsonl. The test is skipped if an
// attempt got no PID namespace.
func (u ordinaryUser) runCases(t *testing.T, cases string, args ...string) (printed, attempts string) {
	t.Helper()
	out := filepath.Join(u.dir, "run-"+uuid.NewString())
	args = append([]string{"run", u.writeFile(t, "cases.json", cases), "--python", "/usr/bin/python3", "--out", out}, args...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(u.dir, "assay"), args...)
	cmd.Dir = u.dir
	name, value := raceExitEnv()
	cmd.Env = []string{"PATH=" + u.dir + ":/usr/bin:/bin", "HOME=" + u.dir, "TMPDIR=" + u.dir, "LANG=C.UTF-8", name + "=" + value}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyUID, Gid: nobodyUID}}
	text, _ := cmd.CombinedOutput() // fails if a case is not passed
	recorded, err := os.ReadFile(filepath.Join(out, "attempts.jsonl"))
	require.NoError(t, err, string(text))
	if strings.Contains(string(recorded), `"namespace_kill":false`) {
		t.Skip("NOT TESTED: no PID namespace can be made here")
	}
	require.Contains(t, string(recorded), `"outcome":"completed"`, string(text))
	return string(text), string(recorded)
}

// As an ordinary user, nothing of a kernel is left when its notebook is run again, cold or from a pool.
func TestOrdinaryUserCannotFeedNotebook(t *testing.T) {
	t.Parallel()
	user := newOrdinaryUser(t)
	cases := `{"id": "clean", "task": "t", "oracle": [` + quoteJSON(t, feedingCell) + `],
		"grader": {"type": "notebook_check", "config": {"must_run_clean": true, "no_errors": true}}}`
	for _, pool := range []int{0, 2} {
		printed, attempts := user.runCases(t, cases, "--agent", "oracle", "--pool", strconv.Itoa(pool))
		require.Contains(t, attempts, `"passed":false`, printed)
		require.Contains(t, attempts, `"process_list":true`)
	}
}

// An ordinary user's agents solve a case, each confined in a PID namespace: an MCP client and a program in Node. The
// process that the server has started finds no parent there: for the client, that is its parent.
func TestOrdinaryUsersAgents(t *testing.T) {
	t.Parallel()
	const parentCheck = "import os\nassert 'PPid:\\t0\\n' in open(f'/proc/{os.getppid()}/status').read()\n"
	node, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "agent.mjs"))
	require.NoError(t, err)
	for name, tc := range map[string]struct{ program, file, text, agent, answer string }{
		"mcp":  {"/usr/bin/python3", "client.py", parentCheck + mcpClientSource, "mcp: /usr/bin/python3 ", `{"result": 42}`},
		"node": {"/usr/bin/node", "agent.mjs", string(node) + "\nif (process.ppid !== 0) process.exit(3);\n", "/usr/bin/node ", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := newOrdinaryUser(t)
			if _, err := os.Stat(tc.program); err != nil {
				t.Skipf("NOT TESTED: %v", err)
			}
			cases := `{"id": "answer", "task": "t", "grader": {"type": "exact", "config": {"ground_truth": ` + tc.answer + `}}}`
			printed, attempts := user.runCases(t, cases, "--agent", tc.agent+user.writeFile(t, tc.file, tc.text))
			require.Contains(t, printed, "PASS 1/1 ")
			require.Contains(t, attempts, `"tamper":0`)
		})
	}
}
