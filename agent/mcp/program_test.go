package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/mcp"
	"assay/internal/protocol"
)

// sh is the command that runs a script, with arguments.
func sh(script string, arguments ...string) mcp.Config {
	return mcp.Config{Command: append([]string{"/bin/sh", "-c", script, "sh"}, arguments...)}
}

// awaitFile waits for a file of the session's folder and returns what is in it.
func (s *session) awaitFile(name string) string {
	s.t.Helper()
	var text []byte
	require.Eventually(s.t, func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(s.dir, name))
		return err == nil && strings.HasSuffix(string(text), "\n")
	}, generous, time.Millisecond, name)
	return strings.TrimSpace(string(text))
}

// requireGone waits until a process is gone; one that waits for init is.
func requireGone(t *testing.T, pid string) {
	t.Helper()
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return errors.Is(syscall.Kill(number, 0), syscall.ESRCH) || err == nil && strings.Contains(string(stat), ") Z ")
	}, generous, time.Millisecond, "process %s", pid)
}

func TestProgramGetsItsTask(t *testing.T) {
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
			s := start(t, sh(tc.script, tc.arguments...))
			s.query("sum up")
			s.await("its end", isStatus("done"))
			if tc.want == "" {
				require.ElementsMatch(t, []string{"a", "b", "c"}, strings.Fields(s.said()))
				return
			}
			require.Equal(t, tc.want, s.said())
			require.Zero(t, s.count(ofType("agent_error")))
		})
	}
}

// Many lines on both of its streams come out whole, however they were written.
func TestProgramChatters(t *testing.T) {
	t.Parallel()
	s := start(t, sh(`(for i in $(seq 2000); do echo "out $i."; done) & for i in $(seq 2000); do echo "err $i." >&2; done; wait; head -c 200000 /dev/zero | tr '\0' x`))
	s.query("talk")
	s.await("its end", isStatus("done"))
	whole := regexp.MustCompile(`(?m)^(out|err) \d+\.$`).FindAllString(s.said(), -1)
	require.Len(t, whole, 4000)
	require.GreaterOrEqual(t, strings.Count(s.said(), "x"), 200_000, "a line without end is passed on too")
}

func TestProgramFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script, want string
	}{
		"by status":   {`echo first; echo "no key" >&2; exit 3`, "sh exited with status 3; it printed last:\n"},
		"by a signal": {`kill -9 $$`, "sh was killed by SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sh(tc.script))
			s.query("x")
			s.await("its end", isStatus("done"))
			complaint := s.await("why", ofType("agent_error"))
			require.Equal(t, false, complaint["fatal"])
			require.True(t, strings.HasPrefix(complaint.text("error"), tc.want), complaint)
		})
	}
	t.Run("to start", func(t *testing.T) {
		t.Parallel()
		s := start(t, mcp.Config{Command: []string{"/no/such/program"}})
		s.query("x")
		complaint := s.await("why", ofType("agent_error"))
		require.Equal(t, true, complaint["fatal"])
		require.Contains(t, complaint.text("error"), "start program: fork/exec /no/such/program: no such file or directory")
	})
}

func TestProgramFindsTheTools(t *testing.T) {
	t.Parallel()
	s := start(t, sh(`cp .mcp.json seen; stat -c %a .mcp.json; echo "$ASSAY_SOCKET"`))
	s.query("x")
	s.await("its end", isStatus("done"))
	require.Equal(t, "600\n"+s.socket+"\n", s.said())
	var seen map[string]map[string]struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.awaitFile("seen")), &seen))
	require.Equal(t, "/bin/assay", seen["mcpServers"]["assay"].Command)
	require.Equal(t, []string{"mcp", "--socket", s.socket}, seen["mcpServers"]["assay"].Args)
	s.query("y")
	require.Eventually(t, func() bool { return s.count(isStatus("done")) == 2 }, generous, time.Millisecond, "our own file is there already")
}

func TestProgramWithAConfigurationOfTheCase(t *testing.T) {
	t.Parallel()
	s := start(t, sh(`echo it runs`))
	path := filepath.Join(s.dir, ".mcp.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"mcpServers": {}}`), 0o600))
	s.query("x")
	complaint := s.await("why", ofType("agent_error"))
	require.Equal(t, true, complaint["fatal"])
	require.Contains(t, complaint.text("error"), "the sandbox has a .mcp.json already")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, `{"mcpServers": {}}`, string(kept))
	require.Empty(t, s.said())
}

// deaf is a program that does not end when it is asked to, nor does what it has
// started. It tells their numbers.
const deaf = `trap '' TERM; (trap '' TERM; while :; do sleep 100; done) & echo $! > child; echo $$ > self; while :; do sleep 100; done`

func TestProgramIsKilled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*session){
		"by a cancel":     func(s *session) { s.send(frame{"type": "agent_cancel", "request_id": "q-x"}) },
		"with the server": func(s *session) { _ = s.conn.Close(protocol.CloseNormal, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, sh(deaf))
			s.query("x")
			child, self := s.awaitFile("child"), s.awaitFile("self")
			end(s)
			requireGone(t, self)
			requireGone(t, child)
		})
	}
}

func TestProgramLeavesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, sh(`sleep 1000 & echo $! > child`))
	s.query("x")
	s.await("its end", isStatus("done"))
	requireGone(t, s.awaitFile("child"))
}

// A program that has submitted may go on for a while, and is then ended.
func TestProgramSaysGoodbye(t *testing.T) {
	t.Parallel()
	cfg := sh(`echo $$ > self; cat > /dev/null; exec sleep 1000`)
	cfg.CloseTimeout = time.Millisecond
	s := start(t, cfg)
	s.query("x")
	self := s.awaitFile("self")
	_, result := call(t, s.overHTTP(nil), "submit_response", map[string]any{"summary": "[EVAL_COMPLETE]", "next_status": "done"})
	require.False(t, result.IsError)
	s.await("its end", isStatus("done"))
	requireGone(t, self)
	require.Zero(t, s.count(ofType("agent_error")), "that it was ended is no failure of its")
}

// Who has to ask is told, with the answer, what it had been asked: it is another
// process.
func TestProgramIsReminded(t *testing.T) {
	t.Parallel()
	s := start(t, sh(`cat; echo; echo ready > ready; while [ ! -e go ]; do sleep 0.01; done`))
	s.query("count")
	s.awaitFile("ready")
	_, result := call(t, s.overHTTP(nil), "submit_response", map[string]any{"summary": "What?", "next_status": "awaiting_user_response"})
	require.False(t, result.IsError)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600))
	s.await("its end", isStatus("awaiting_user_response"))
	s.query("rows")
	s.await("the other's", isStatus("done"))
	require.Equal(t, "count\nYou were asked:\n\ncount\n\nYou handed in:\n\nWhat?\n\nNow you are asked:\n\nrows\n", s.said())
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ours, theirs := protocol.Pipe()
	defer ours.Close(protocol.CloseNormal, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := make(chan error, 1)
	socket := mcp.Socket(t.TempDir(), "s")
	go func() { over <- mcp.Run(ctx, theirs, mcp.Config{Socket: socket}) }()
	_, err := ours.Read()
	require.NoError(t, err)
	cancel(errors.New("SIGTERM"))
	require.EqualError(t, <-over, "SIGTERM")
}
