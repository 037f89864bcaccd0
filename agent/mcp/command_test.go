package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/command"
	"assay/agent/mcp"
	"assay/internal/protocol"
	"assay/internal/subprocess/subprocesstest"
)

// shellCommand returns a configuration whose command runs a shell script with arguments.
func shellCommand(script string, arguments ...string) mcp.Config {
	return mcp.Config{Command: append([]string{"/bin/sh", "-c", script, "sh"}, arguments...)}
}

// awaitFile waits for a line in a file of the command's folder and returns the content.
func (s *fakeServerHarness) awaitFile(name string) string {
	s.t.Helper()
	var text []byte
	require.Eventually(s.t, func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(s.dir, name))
		return err == nil && strings.HasSuffix(string(text), "\n")
	}, maxTestWaitTimeout, time.Millisecond, name)
	return strings.TrimSpace(string(text))
}

// requireProcessGone waits until a process is gone or a zombie.
func requireProcessGone(t *testing.T, pid string) {
	t.Helper()
	require.Eventually(t, func() bool { return subprocesstest.HasEnded(pid) }, maxTestWaitTimeout, time.Millisecond, "process %s", pid)
}

func TestCommandGetsTheTask(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script    string
		arguments []string
		want      string
	}{
		"on stdin":     {`cat; echo " $1"`, []string{"x"}, "sum up x\n"},
		"as argument":  {`cat; printf '%s|%s\n' "$1" "$2"`, []string{"--task={task}", "{task}{task}"}, "--task=sum up|sum upsum up\n"},
		"by its lines": {`printf 'a\nb'; printf 'c\n' >&2`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAgent(t, shellCommand(tc.script, tc.arguments...))
			s.sendQuery("sum up")
			s.awaitFrame("its end", isStatus("done"))
			if tc.want == "" {
				require.ElementsMatch(t, []string{"a", "b", "c"}, strings.Fields(s.outputText()))
				return
			}
			require.Equal(t, tc.want, s.outputText())
			require.Zero(t, s.countFrames(isFrameOfType("agent_error")))
		})
	}
}

// Lines on both streams of a command are passed on whole, however they were written.
func TestCommandOutputKeepsLines(t *testing.T) {
	t.Parallel()
	s := startAgent(t, shellCommand(`(for i in $(seq 2000); do echo "out $i."; done) & for i in $(seq 2000); do echo "err $i." >&2; done; wait; head -c 200000 /dev/zero | tr '\0' x`))
	s.sendQuery("talk")
	s.awaitFrame("its end", isStatus("done"))
	whole := regexp.MustCompile(`(?m)^(out|err) \d+\.$`).FindAllString(s.outputText(), -1)
	require.Len(t, whole, 4000)
	require.GreaterOrEqual(t, strings.Count(s.outputText(), "x"), 200_000, "a very long line is passed on too")
}

func TestCommandFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script, want string
	}{
		"by status":   {`echo first; echo "no key" >&2; exit 3`, "sh exited with status 3; it printed last:\n"},
		"by a signal": {`kill -9 $$`, "sh was killed by SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAgent(t, shellCommand(tc.script))
			s.sendQuery("x")
			s.awaitFrame("its end", isStatus("done"))
			complaint := s.awaitFrame("why", isFrameOfType("agent_error"))
			require.Equal(t, false, complaint["fatal"])
			require.True(t, strings.HasPrefix(complaint.StringField("error"), tc.want), complaint)
		})
	}
	t.Run("in an evaluation", func(t *testing.T) {
		t.Parallel()
		s := startAgent(t, shellCommand(`echo "no key"; exit 3`))
		s.sendFrame(frame{"type": "init", "session_id": 1, "eval_mode": true})
		s.sendQuery("x")
		_, isCommandError := errors.AsType[*command.Error](<-s.ended)
		require.True(t, isCommandError)
		require.Equal(t, "no key\n", s.outputText())
	})
	t.Run("to start", func(t *testing.T) {
		t.Parallel()
		s := startAgent(t, mcp.Config{Command: []string{"/no/such/program"}})
		s.sendQuery("x")
		complaint := s.awaitFrame("why", isFrameOfType("agent_error"))
		require.Equal(t, true, complaint["fatal"])
		require.Contains(t, complaint.StringField("error"), "start program: fork/exec /no/such/program: no such file or directory")
	})
}

func TestCommandFindsTheTools(t *testing.T) {
	t.Parallel()
	s := startAgent(t, shellCommand(`cp .mcp.json seen; stat -c %a .mcp.json; echo "$ASSAY_SOCKET"`))
	s.sendQuery("x")
	s.awaitFrame("its end", isStatus("done"))
	require.Equal(t, "600\n"+s.socket+"\n", s.outputText())
	var seen map[string]map[string]struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Env     map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(s.awaitFile("seen")), &seen))
	require.Equal(t, "/bin/assay", seen["mcpServers"]["assay"].Command)
	require.Equal(t, []string{"mcp", "--attach"}, seen["mcpServers"]["assay"].Args)
	require.Equal(t, map[string]string{"ASSAY_SOCKET": s.socket}, seen["mcpServers"]["assay"].Env)
	s.sendQuery("y")
	require.Eventually(t, func() bool { return s.countFrames(isStatus("done")) == 2 }, maxTestWaitTimeout, time.Millisecond, "the file of the first query does not disturb")
}

// What code of the agent has left in place of the file is replaced before the next query.
func TestClientConfigIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"changed": `echo {} > .mcp.json`, "gone": `rm .mcp.json`, "a pipe": `rm .mcp.json; mkfifo .mcp.json`,
		"huge": `truncate -s 4G .mcp.json`, "a folder": `rm .mcp.json; mkdir -p .mcp.json/x`, "a link": `ln -sf /etc/passwd .mcp.json`,
		"no rights": `chmod 0 .`, "a closed folder": `rm .mcp.json; mkdir -p .mcp.json/x; chmod 0 .mcp.json`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAgent(t, shellCommand(`grep -c -- --attach .mcp.json; `+spoil))
			for n := range 2 {
				s.sendQuery("x")
				require.Eventually(t, func() bool { return s.countFrames(isStatus("done")) == n+1 }, maxTestWaitTimeout, time.Millisecond)
			}
			require.Equal(t, "1\n1\n", s.outputText())
		})
	}
}

func TestForeignClientConfigIsAnError(t *testing.T) {
	t.Parallel()
	s := startAgent(t, shellCommand(`echo it runs`))
	path := filepath.Join(s.dir, ".mcp.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"mcpServers": {}}`), 0o600))
	s.sendQuery("x")
	complaint := s.awaitFrame("why", isFrameOfType("agent_error"))
	require.Equal(t, true, complaint["fatal"])
	require.Contains(t, complaint.StringField("error"), "the sandbox has a .mcp.json already")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, `{"mcpServers": {}}`, string(kept))
	require.Empty(t, s.outputText())
}

// unstoppableScript ignores SIGTERM, and so does its child. It writes their process ids to the
// files self and child.
const unstoppableScript = `trap '' TERM; (trap '' TERM; while :; do sleep 100; done) & echo $! > child; echo $$ > self; while :; do sleep 100; done`

func TestCommandIsKilledWithItsGroup(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*fakeServerHarness){
		"by a cancel":     func(s *fakeServerHarness) { s.sendFrame(frame{"type": "agent_cancel", "request_id": "q-x"}) },
		"with the server": func(s *fakeServerHarness) { _ = s.conn.Close(protocol.CloseNormal, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startAgent(t, shellCommand(unstoppableScript))
			s.sendQuery("x")
			child, self := s.awaitFile("child"), s.awaitFile("self")
			end(s)
			requireProcessGone(t, self)
			requireProcessGone(t, child)
		})
	}
}

func TestGroupIsKilledAfterExit(t *testing.T) {
	t.Parallel()
	s := startAgent(t, shellCommand(`sleep 1000 & echo $! > child`))
	s.sendQuery("x")
	s.awaitFrame("its end", isStatus("done"))
	requireProcessGone(t, s.awaitFile("child"))
}

// A command that goes on after its submission is stopped after CloseTimeout.
func TestCommandIsStoppedAfterSubmission(t *testing.T) {
	t.Parallel()
	cfg := shellCommand(`echo $$ > self; cat > /dev/null; exec sleep 1000`)
	cfg.CloseTimeout = time.Millisecond
	s := startAgent(t, cfg)
	s.sendQuery("x")
	self := s.awaitFile("self")
	_, result := callTool(t, s.connectHTTP(nil), "submit_response", map[string]any{"summary": "[EVAL_COMPLETE]", "next_status": "done"})
	require.False(t, result.IsError)
	s.awaitFrame("its end", isStatus("done"))
	requireProcessGone(t, self)
	require.Zero(t, s.countFrames(isFrameOfType("agent_error")), "this is no failure of the command")
}

// A command that asked the user something gets the earlier tasks with the answer, because it
// is started anew.
func TestCommandGetsEarlierTasks(t *testing.T) {
	t.Parallel()
	s := startAgent(t, shellCommand(`cat; echo; echo ready > ready; while [ ! -e go ]; do sleep 0.01; done`))
	s.sendQuery("count")
	s.awaitFile("ready")
	_, result := callTool(t, s.connectHTTP(nil), "submit_response", map[string]any{"summary": "What?", "next_status": "awaiting_user_response"})
	require.False(t, result.IsError)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600))
	s.awaitFrame("its end", isStatus("awaiting_user_response"))
	s.sendQuery("rows")
	s.awaitFrame("the other's", isStatus("done"))
	require.Equal(t, "count\nYou were asked:\n\ncount\n\nYou handed in:\n\nWhat?\n\nNow you are asked:\n\nrows\n", s.outputText())
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ours, theirs := protocol.Pipe()
	defer ours.Close(protocol.CloseNormal, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	socket := mcp.SocketPath(t.TempDir())
	go func() { ended <- mcp.Run(ctx, theirs, mcp.Config{Socket: socket}) }()
	_, err := ours.Read()
	require.NoError(t, err)
	cancel(errors.New("SIGTERM"))
	require.EqualError(t, <-ended, "SIGTERM")
}
