package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/command"
	"assay/internal/subprocess/subprocesstest"
)

// maxTestWaitTimeout bounds waits that end soon unless something is broken.
const maxTestWaitTimeout = 20 * time.Second

// startShell starts a shell script, which is stopped at the end of the test.
func startShell(t *testing.T, script string, cfg command.Config) *command.Process {
	t.Helper()
	cfg.Argv = []string{"/bin/sh", "-c", script}
	p, err := command.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	return p
}

func TestExitText(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script, want string
		hasFailed    bool
	}{
		"without output": {`exit 0`, "sh exited with status 0", false},
		"with output":    {`echo first >&2; echo "no key" >&2; exit 3`, "sh exited with status 3; it printed last:\nfirst\nno key", true},
		"by a signal":    {`kill -9 $$`, "sh was killed by SIGKILL", true},
		"a long output":  {`head -c 3000 /dev/zero | tr '\0' x`, "sh exited with status 0; it printed last:\n" + strings.Repeat("x", 2047), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startShell(t, tc.script, command.Config{})
			<-p.Exited()
			require.Equal(t, tc.want, p.ExitText())
			require.Equal(t, tc.hasFailed, p.HasFailed())
		})
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	var stdout, output bytes.Buffer
	p := startShell(t, `cat; echo "$NAME"; pwd; printf 'an error' >&2`, command.Config{
		Dir: "/", Env: []string{"NAME=value"}, Stdin: strings.NewReader("input\n"), Stdout: &stdout, Output: &output,
	})
	<-p.Exited()
	require.Equal(t, "input\nvalue\n/\n", stdout.String())
	require.Equal(t, "an error\n", output.String())
	p.WriteLine([]byte("a line"))
	require.Equal(t, "an error\na line\n", output.String())
	require.Equal(t, "sh exited with status 0; it printed last:\nan error\na line", p.ExitText())
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	_, err := command.Start(command.Config{Argv: []string{"/no/such/program"}})
	require.EqualError(t, err, "start program: fork/exec /no/such/program: no such file or directory")
}

// Stop kills a group that ignores SIGTERM. It may be called again.
func TestStopKillsTheGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startShell(t, `trap '' TERM; (trap '' TERM; while :; do sleep 100; done) & echo $! > child; while :; do sleep 100; done`, command.Config{Dir: dir})
	var child string
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "child"))
		child = strings.TrimSpace(string(text))
		return err == nil && strings.HasSuffix(string(text), "\n")
	}, maxTestWaitTimeout, time.Millisecond)
	p.Stop()
	require.Equal(t, "sh was killed by SIGKILL", p.ExitText())
	require.Eventually(t, func() bool { return subprocesstest.HasEnded(child) }, maxTestWaitTimeout, time.Millisecond)
	p.Stop()
}
