package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// assay trace shows a session of a server that runs: what has been, or with
// --follow also what comes, until the session has ended.
func TestServe_Trace(t *testing.T) {
	t.Parallel()
	s := open(t, plan{token: secret, args: []string{"--session-idle", "1s"}})
	c := s.view(t, "one")
	c.tell("run('1')")
	c.agent.await(t, "the end of the work", finished)
	target := s.url + "/?session=one"

	out, errOut, status := s.traced(t, target)
	require.Zero(t, status, errOut)
	require.Empty(t, errOut)
	require.Regexp(t, `(?m)^\+\d+\.\d{3} agent>server agent_action create_cell tx_1 \d+ B  answered in \d+\.\dms: notebook \d+\.\dms$`, out)
	require.Regexp(t, `(?m)^\+\d+\.\d{3} session state ready \d+ B$`, out)
	out, errOut, status = s.traced(t, target, "--action", "create_cell", "--hop", "agent>server", "--format", "json")
	require.Zero(t, status, errOut)
	require.Equal(t, 1, strings.Count(out, "\n"), out)

	for _, follow := range [][]string{{}, {"--follow"}} {
		_, errOut, status = s.traced(t, append(follow, s.url+"/?session=nowhere")...)
		require.Equal(t, exitUsage, status)
		require.Contains(t, errOut, `there is no session "nowhere"`)
		_, errOut, status = s.traced(t, append(follow, target, "--token", "x")...)
		require.Equal(t, exitUsage, status)
		require.Contains(t, errOut, "token")
	}

	follow := exec.CommandContext(context.WithoutCancel(t.Context()), "assay", "trace", target, "--follow")
	follow.Env = append(os.Environ(), "ASSAY_TOKEN="+secret)
	pipe, err := follow.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, follow.Start())
	lines := newInbox[string]()
	go func() {
		in := bufio.NewReader(pipe)
		lines.fill(func() (string, error) { return in.ReadString('\n') })
	}()
	line := func(text string) func(string) bool {
		return func(line string) bool { return strings.Contains(line, text) }
	}
	lines.await(t, "what has been", line("agent>server agent_action create_cell tx_1"))
	c.tell("run('2')")
	lines.await(t, "what comes", line("agent>server agent_action create_cell tx_2"))
	c.breaks()
	lines.await(t, "the end of the session", line("session state ended"))
	require.ErrorContains(t, lines.awaitEnd(t), "EOF")
	require.NoError(t, follow.Wait())
	s.stop(t)
}

// A summary that the kernel holds back is found by one command, which names the
// kernel.
func TestServe_TraceFindsTheKernel(t *testing.T) {
	t.Parallel()
	s := open(t, plan{})
	c := s.view(t, "default")
	c.tell(`
cell = start("import ctypes\nctypes.PyDLL(None).system(b'echo holds the lock; exec sleep 9')")
hear(of_type("agent_query"))                      # the lock is held now
held = ask("request_globals_summary")
assert act("get_context")["status"] == "success"
late = answer(held)
assert "the kernel did not answer" in late["error"], late
of_run("cell_result", cell)
assert act("request_globals_summary")["status"] == "success"
`)
	c.agent.await(t, "the run", saying("kernel_stdio", "holds the lock"))
	c.tell("pass")
	c.agent.await(t, "the end of the work", finished)
	require.Empty(t, c.agent.all(ofType("agent_error")))
	out, errOut, status := s.traced(t, s.url, "--late", "5000")
	require.Zero(t, status, errOut)
	require.Regexp(t, `(?m)^\+\d+\.\d{3} agent>server agent_action request_globals_summary tx_2 \d+ B  timed out after 8\.\d{3}s: kernel \(its reply came \S+s late\)$`, out)
	require.NotContains(t, out, "get_context")
	s.stop(t)
}

// traced runs assay trace, with the station's token in the environment.
func (s *station) traced(t *testing.T, args ...string) (out, errOut string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "assay", append([]string{"trace"}, args...)...)
	cmd.Env = append(os.Environ(), "ASSAY_TOKEN="+s.token)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the status says it
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}
