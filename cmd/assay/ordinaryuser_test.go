package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

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

// As an ordinary user, nothing of a kernel is left when its notebook is run again, cold or from a pool.
func TestOrdinaryUserCannotFeedNotebook(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "assay-ordinary-") //nolint:usetesting // other users cannot enter the test's own folder
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	program, err := exec.LookPath("assay")
	require.NoError(t, err)
	copied, err := os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "assay"), copied, 0o755))
	cases := writeFile(t, filepath.Join(dir, "cases.json"), `{"id": "clean", "task": "t", "oracle": [`+quoteJSON(t, feedingCell)+`],
		"grader": {"type": "notebook_check", "config": {"must_run_clean": true, "no_errors": true}}}`)
	for _, path := range []string{dir, cases} {
		require.NoError(t, os.Chown(path, nobody, nobody))
	}
	for _, pool := range []int{0, 2} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "assay"), "run", cases, "--agent", "oracle", "--python", "/usr/bin/python3", "--pool", strconv.Itoa(pool), "--out", filepath.Join(dir, strconv.Itoa(pool)))
		cmd.Dir = dir
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		text, err := cmd.CombinedOutput()
		require.Error(t, err, string(text))
		attempts, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(pool), "attempts.jsonl"))
		require.NoError(t, err, string(text))
		if strings.Contains(string(attempts), `"namespace_kill":false`) {
			t.Skip("no PID namespace can be made here")
		}
		require.Contains(t, string(attempts), `"outcome":"completed"`, string(text))
		require.Contains(t, string(attempts), `"passed":false`, string(text))
		require.Contains(t, string(attempts), `"process_list":true`)
	}
}
