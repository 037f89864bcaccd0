package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/exit"
	"assay/eval/runs"
	"assay/internal/client"
)

// waitingAgentSource is a Python agent that works on its task until its pipe is closed. The path of
// the pipe is its first argument.
const waitingAgentSource = `
import json, socket, struct, sys
sock = socket.socket(fileno=int(sys.argv[2])).makefile("rwb")
def say(message):
    body = json.dumps(message).encode()
    sock.write(struct.pack("<q", len(body)) + body)
    sock.flush()
say({"type": "ready"})
while head := sock.read(8):
    kind = json.loads(sock.read(struct.unpack("<q", head)[0]))["type"]
    if kind == "init":
        say({"type": "agent_status", "status": "ready"})
    if kind == "agent_query":
        say({"type": "agent_status", "status": "thinking"})
        open(sys.argv[1]).readline()
        say({"type": "agent_status", "status": "done"})
`

// processArguments returns the command line of a process.
func processArguments(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	require.NoError(t, err)
	return string(text)
}

// With --ui a running attempt is a session of a read-only server: the API lists it, /watch
// streams its trace and a view shows its notebook. The run ends as it does without --ui.
func TestRunUI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agent := writeFile(t, filepath.Join(dir, "agent.py"), waitingAgentSource)
	file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "a", "task": "t", "tags": ["quick"], "limits": {"wall_s": 99}, "grader": {"type": "exact", "config": {"ground_truth": 1}}}`)
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, exec.CommandContext(t.Context(), "mkfifo", pipe).Run())
	cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", "python3 "+agent+" "+pipe,
		"--ui=127.0.0.1:0", "--out", filepath.Join(dir, "runs", "one"))
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	address, token := "", ""
	for address == "" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		if _, rest, ok := strings.Cut(line, "shown at "); ok {
			page, _, _ := strings.Cut(rest, " ")
			var shown bool
			address, token, shown = strings.Cut(page, "/runs/one#token=")
			require.True(t, shown, "the line names the page of the run: %s", page)
		}
	}
	const session = "0001-a-e1-t1"
	agentPipe, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the agent has its task
	require.NoError(t, err)

	require.NotContains(t, processArguments(t, cmd.Process.Pid), token, "every user can read the arguments of a process")
	wrongClient, err := client.New(address, "wrong")
	require.NoError(t, err)
	var sessions struct {
		Sessions []struct{ ID, State, Holder string }
	}
	require.Error(t, wrongClient.GetJSON(t.Context(), "/api/sessions", &sessions))
	c, err := client.New(address, token)
	require.NoError(t, err)
	require.NoError(t, c.GetJSON(t.Context(), "/api/sessions", &sessions))
	require.Len(t, sessions.Sessions, 1)
	require.Equal(t, session, sessions.Sessions[0].ID)
	require.Equal(t, "running", sessions.Sessions[0].State)
	require.Equal(t, "server", sessions.Sessions[0].Holder)
	var config struct{ Console bool }
	require.NoError(t, c.GetJSON(t.Context(), "/api/config", &config))
	require.False(t, config.Console, "the server is read-only")
	var running struct {
		Attempt struct {
			CaseID  string `json:"case_id"`
			Task    string
			Started *time.Time
			Limits  runs.Limits
		}
	}
	require.NoError(t, c.GetJSON(t.Context(), "/api/sessions/"+session, &running))
	require.Equal(t, "a", running.Attempt.CaseID)
	require.Equal(t, "t", running.Attempt.Task)
	require.Equal(t, 99.0, running.Attempt.Limits.WallTimeoutS) //nolint:testifylint // the number is exact
	require.NotNil(t, running.Attempt.Started)
	var attempt struct{ State string }
	require.NoError(t, c.GetJSON(t.Context(), "/api/runs/one/attempts/"+session, &attempt))
	require.Equal(t, "running", attempt.State)

	view, _, err := websocket.Dial(t.Context(), strings.Replace(address, "http", "ws", 1)+"/agent?session="+session, nil)
	require.NoError(t, err)
	require.NoError(t, view.Write(t.Context(), websocket.MessageText, []byte(`{"type":"init","token":"`+token+`","role":"view"}`)))
	_, state, err := view.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(state), `"type":"notebook_state"`)

	require.NoError(t, view.Write(t.Context(), websocket.MessageText, []byte(`{"type":"agent_cancel","request_id":"x"}`)))
	_, refused, err := view.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(refused), "this session is only shown")

	watch, err := c.WatchTrace(t.Context(), session, 1)
	require.NoError(t, err)
	require.NoError(t, agentPipe.Close())
	last := ""
	for {
		line, err := watch.Next(t.Context())
		if err != nil {
			break
		}
		last = string(line)
	}
	require.Contains(t, last, `"hop":"session"`, "the trace was streamed to its end")
	_, status, err := view.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(status), `"status": "done"`)
	_, verdict, err := view.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(verdict), `"outcome":"stopped_without_answer"`)
	_, _, err = view.Read(t.Context())
	var closeErr websocket.CloseError
	require.ErrorAs(t, err, &closeErr)
	require.Equal(t, "the session has ended", closeErr.Reason)
	require.NoError(t, watch.Close())

	for _, err := lines.ReadString('\n'); err == nil; _, err = lines.ReadString('\n') { //nolint:revive // reads to the end
	}
	require.Error(t, cmd.Wait())
	require.Equal(t, exit.StatusFailed, cmd.ProcessState.ExitCode())
	text, err := os.ReadFile(filepath.Join(dir, "runs", "one", "attempts.jsonl"))
	require.NoError(t, err)
	var result struct {
		Outcome string
		Tags    []string
	}
	require.NoError(t, json.Unmarshal([]byte(strings.Split(string(text), "\n")[1]), &result))
	require.Equal(t, "stopped_without_answer", result.Outcome)
	require.Equal(t, []string{"quick"}, result.Tags)
}

// A port that is taken is an error that says what to do, and leaves no run folder.
func TestUI_PortInUse(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	cases := writeFile(t, filepath.Join(t.TempDir(), "case.json"), `{"id": "a", "task": "t"}`)
	out := filepath.Join(t.TempDir(), "run")
	require.Regexp(t, `^assay: --ui: .*address already in use: choose another port with --ui=localhost:PORT`, runAssay(t, "run", cases, "--agent", "noop", "--out", out, "--ui="+taken.Addr().String()))
	require.NoDirExists(t, out)
}
