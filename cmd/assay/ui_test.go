package main

import (
	"bufio"
	"encoding/json"
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

// waitingAgent is an agent that works until a line is written to its pipe.
const waitingAgent = `
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

// A run can be looked at while it goes on: its attempts as sessions, by the API,
// the trace and a view; and its folder. It ends as it would have.
func TestRunUI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	agent := writeFile(t, filepath.Join(dir, "agent.py"), waitingAgent)
	file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "a", "task": "t", "tags": ["quick"], "limits": {"wall_s": 99}, "grader": {"type": "exact", "config": {"ground_truth": 1}}}`)
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, exec.CommandContext(t.Context(), "mkfifo", pipe).Run())
	cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", "python3 "+agent+" "+pipe,
		"--ui=127.0.0.1:0", "--token", "secret", "--out", filepath.Join(dir, "runs", "one"))
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	address := ""
	for address == "" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		if _, rest, ok := strings.Cut(line, "shown at "); ok {
			page, _, _ := strings.Cut(rest, " ")
			var shown bool
			address, shown = strings.CutSuffix(page, "/runs/one")
			require.True(t, shown, "it names the page of the run: %s", page)
		}
	}
	const session = "0001-a-e1-t1"
	goOn, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the agent has its task
	require.NoError(t, err)

	stranger, err := client.New(address, "wrong")
	require.NoError(t, err)
	var sessions struct {
		Sessions []struct{ ID, State, Holder string }
	}
	require.Error(t, stranger.GetJSON(t.Context(), "/api/sessions", &sessions))
	c, err := client.New(address, "secret")
	require.NoError(t, err)
	require.NoError(t, c.GetJSON(t.Context(), "/api/sessions", &sessions))
	require.Len(t, sessions.Sessions, 1)
	require.Equal(t, session, sessions.Sessions[0].ID)
	require.Equal(t, "running", sessions.Sessions[0].State)
	require.Equal(t, "server", sessions.Sessions[0].Holder)
	var config struct{ Console bool }
	require.NoError(t, c.GetJSON(t.Context(), "/api/config", &config))
	require.False(t, config.Console, "there is only something to look at")
	var going struct {
		Attempt struct {
			CaseID  string `json:"case_id"`
			Task    string
			Started *time.Time
			Limits  runs.Limits
		}
	}
	require.NoError(t, c.GetJSON(t.Context(), "/api/sessions/"+session, &going))
	require.Equal(t, "a", going.Attempt.CaseID)
	require.Equal(t, "t", going.Attempt.Task)
	require.Equal(t, 99.0, going.Attempt.Limits.WallTimeoutS) //nolint:testifylint // it is that very number
	require.NotNil(t, going.Attempt.Started)
	var attempt struct{ State string }
	require.NoError(t, c.GetJSON(t.Context(), "/api/runs/one/attempts/"+session, &attempt))
	require.Equal(t, "running", attempt.State)

	view, _, err := websocket.Dial(t.Context(), strings.Replace(address, "http", "ws", 1)+"/agent?session="+session, nil)
	require.NoError(t, err)
	require.NoError(t, view.Write(t.Context(), websocket.MessageText, []byte(`{"type":"init","token":"secret","role":"view"}`)))
	_, state, err := view.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(state), `"type":"notebook_state"`)

	require.NoError(t, view.Write(t.Context(), websocket.MessageText, []byte(`{"type":"agent_cancel","request_id":"x"}`)))
	_, refused, err := view.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(refused), "this session is only shown")

	watch, err := c.WatchTrace(t.Context(), session, 1)
	require.NoError(t, err)
	require.NoError(t, goOn.Close())
	last := ""
	for {
		line, err := watch.Next(t.Context())
		if err != nil {
			break
		}
		last = string(line)
	}
	require.Contains(t, last, `"hop":"session"`, "the trace to its end")
	_, told, err := view.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(told), `"status": "done"`)
	_, verdict, err := view.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(verdict), `"outcome":"stopped_without_answer"`)
	_, _, err = view.Read(t.Context())
	var how websocket.CloseError
	require.ErrorAs(t, err, &how)
	require.Equal(t, "the session has ended", how.Reason)
	require.NoError(t, watch.Close())

	for _, err := lines.ReadString('\n'); err == nil; _, err = lines.ReadString('\n') { //nolint:revive // to its end
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
