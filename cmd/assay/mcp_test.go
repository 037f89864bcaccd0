package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/exit"
	"assay/eval/runs"
)

// sumCase is what the official client solves.
const sumCase = `{"id": "sum", "task": "Sum the whole numbers from 0 to 9 in a cell. Answer {\"total\": n}.",
	"grader": {"type": "exact", "config": {"ground_truth": {"total": 45}}}}`

// typeScriptClient is the command of the official client, which is installed if it is
// not there. Where that cannot be the test is skipped, but not in CI.
func typeScriptClient(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "agent", "mcp", "testdata", "typescript"))
	require.NoError(t, err)
	node, missing := exec.LookPath("node")
	if missing == nil {
		_, installed := os.Stat(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "sdk", "package.json"))
		if installed != nil {
			install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts")
			install.Dir = dir
			if out, err := install.CombinedOutput(); err != nil {
				missing = err
				t.Logf("npm ci: %s", out)
			}
		}
	}
	if missing != nil && os.Getenv("CI") != "true" {
		t.Skipf("the official client of MCP cannot be had here: %v", missing)
	}
	require.NoError(t, missing)
	return node + " " + filepath.Join(dir, "client.mjs")
}

// The official client does all that it can, in every way in which it may come.
func TestMCP_TypeScriptClient(t *testing.T) {
	t.Parallel()
	client := typeScriptClient(t)
	for name, args := range map[string][]string{
		"stdin":    {"--agent", "mcp: " + client},
		"argument": {"--agent", "mcp: " + client + " {task}"},
		"fenced":   {"--agent", "mcp: " + client, "--sandbox-agent"},
	} {
		t.Run("run/"+name, func(t *testing.T) {
			t.Parallel()
			runWithClient(t, args)
		})
	}
	t.Run("serve/command", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := startServe(t, serveConfig{args: []string{"--agent", "mcp: " + client, "--case", writeFile(t, filepath.Join(dir, "sum.json"), sumCase)}})
		c := s.connectView(t, "default")
		verdict := c.awaitVerdict(t, 1)
		require.True(t, verdict.Passed, verdict)
		c.agent.await(t, "its calls", contains("agent_history_updated", `"name":"create_cell"`))
		s.stop(t)
	})
	t.Run("serve/client", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := startServe(t, serveConfig{token: "secret", args: []string{"--agent", "mcp", "--case", writeFile(t, filepath.Join(dir, "sum.json"), sumCase)}})
		c := s.connectView(t, "default")
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "exec "+client+" --url '"+s.url+"/mcp?session=default' secret").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "submitted")
		verdict := c.awaitVerdict(t, 1)
		require.True(t, verdict.Passed, verdict)
		s.stop(t)
	})
}

// runWithClient has the client solve the case, and looks at what the run has of it.
func runWithClient(t *testing.T, args []string) {
	t.Helper()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "sum.json"), sumCase)
	out := filepath.Join(dir, "run")
	line := runAssay(t, append([]string{"run", file, "--quiet", "--out", out, "--sandbox-root", filepath.Join(dir, "boxes")}, args...)...)
	attempt := filepath.Join(out, "attempts", "0001-sum-e1-t1")
	printed, err := os.ReadFile(filepath.Join(attempt, "stderr.txt"))
	require.NoError(t, err, line)
	require.Contains(t, line, "PASS 1/1 ", string(printed))
	for _, check := range []string{"tools", "task", "images", "progress", "cancel", "mistakes"} {
		require.Contains(t, string(printed), "agent: "+check+": as it should be\n")
	}
	conversation, err := os.ReadFile(filepath.Join(attempt, "conversation.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(conversation), `"name":"submit_response"`)
	require.Equal(t, 1, bytes.Count(conversation, []byte(`"name":"submit_response"`)), "the refused one is none")
	lines, err := os.ReadFile(filepath.Join(out, "attempts.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(lines), `"outcome":"completed"`)
	require.Contains(t, string(lines), `"tamper":0`)
	eventually(t, "a process is left", func() bool { return len(findProcesses(dir)) == 0 })
}

// connectMCP connects the official Go client to assay mcp.
func connectMCP(t *testing.T, dir string, args ...string) (*sdk.ClientSession, *exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command("assay", append([]string{"mcp"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	said := &bytes.Buffer{}
	cmd.Stderr = said
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err, said)
	t.Cleanup(func() { _ = client.Close() })
	return client, cmd, said
}

// callTool calls a tool and returns its text.
func callTool(t *testing.T, client *sdk.ClientSession, name string, arguments jsonObject) string {
	t.Helper()
	result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	return firstText(t, result)
}

func firstText(t *testing.T, result *sdk.CallToolResult) string {
	t.Helper()
	require.NotEmpty(t, result.Content)
	text, ok := result.Content[0].(*sdk.TextContent)
	require.True(t, ok)
	return text.Text
}

// A notebook of one's own, which goes with the client.
func TestMCP_OwnNotebook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	client, cmd, said := connectMCP(t, dir)
	require.Equal(t, version, client.InitializeResult().ServerInfo.Version)
	require.Contains(t, callTool(t, client, "create_cell", jsonObject{"position": 0, "source": "x = 6 * 7\nprint(x)", "auto_run": true}), "42")
	require.Contains(t, callTool(t, client, "request_globals_summary", nil), `"x"`)
	require.Contains(t, callTool(t, client, "submit_response", jsonObject{"summary": "42", "next_status": "done"}), "nothing was asked")
	require.NoError(t, client.Close())
	require.Equal(t, 0, cmd.ProcessState.ExitCode(), said)
	eventually(t, "a process is left", func() bool { return len(findProcesses(dir)) == 0 })
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A client comes to a live session, which a person looks at, asks for something
// and cancels what goes on.
func TestMCP_LiveSession(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{token: "secret", args: []string{"--agent", "mcp"}})
	client, cmd, said := connectMCP(t, s.dir, "--url", s.url, "--token", "secret") // it may come before the agent is ready
	c := s.connectView(t, "default")
	c.agent.send(jsonObject{"type": "agent_query", "query": "What is it?", "request_id": "q1"})
	require.Equal(t, "What is it?", callTool(t, client, "get_task", nil))
	made := callTool(t, client, "create_cell", jsonObject{"position": 0, "source": "print('seen by all')", "auto_run": true})
	require.Contains(t, made, "seen by all")
	c.agent.await(t, "the cell", contains("notebook_event", "seen by all"))
	over := make(chan *sdk.CallToolResult, 1)
	go func() {
		result, _ := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "create_cell", Arguments: jsonObject{
			"position": 0, "source": "print('begun', flush=True)\nimport time\ntime.sleep(600)", "auto_run": true,
		}})
		over <- result
	}()
	c.agent.await(t, "its output", func(m message) bool { return m.Type == "kernel_stdio" && strings.Contains(m.body, "begun") })
	c.agent.send(jsonObject{"type": "agent_cancel", "request_id": "q1"})
	result := <-over
	require.NotNil(t, result)
	require.True(t, result.IsError)
	require.Contains(t, firstText(t, result), "the query was cancelled")
	c.agent.await(t, "the end of the cell", func(m message) bool { return m.Type == "cell_result" && m.Status == "interrupted" })
	require.Contains(t, callTool(t, client, "execute_code", jsonObject{"code": "print('free')"}), "free")

	again := uuid.NewString()
	c.agent.send(jsonObject{"type": "agent_query", "query": "And now?", "request_id": again})
	require.Equal(t, "And now?", callTool(t, client, "get_task", jsonObject{"wait_s": 60}))
	require.Equal(t, "Submitted.", callTool(t, client, "submit_response", jsonObject{"summary": "That.", "next_status": "done"}))
	c.agent.await(t, "its answer", contains("agent_history_updated", "That."))
	c.agent.await(t, "its end", contains("agent_status", "done"))

	c.run.send(jsonObject{"type": "managed_process_restart", "name": "agent"})
	_ = client.Wait()
	_ = client.Close()
	require.Equal(t, exit.StatusBroken, cmd.ProcessState.ExitCode())
	require.Contains(t, said.String(), "assay: the session has ended: its agent is gone")
	ready := func(line string) bool { return strings.HasSuffix(strings.TrimSpace(line), "session: ready agent") }
	s.stderr.awaitNth(t, 2, "another agent", ready)
	client, cmd, _ = connectMCP(t, s.dir, "--url", s.url, "--session", "default", "--token", "secret")
	require.Contains(t, callTool(t, client, "get_context", nil), "seen by all")
	require.NoError(t, client.Close())
	require.Equal(t, 0, cmd.ProcessState.ExitCode())
	s.stop(t)
}

// Who may not come is told why, over HTTP and by the command.
func TestMCP_Refused(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{token: "secret", args: []string{"--agent", "mcp"}})
	other := startServe(t, serveConfig{})
	for _, tc := range []struct {
		at     *serveProcess
		path   string
		header []string
		status int
		want   string
	}{
		{s, "/mcp", nil, http.StatusUnauthorized, "the token is wrong or missing"},
		{s, "/mcp?token=x", nil, http.StatusUnauthorized, "the token is wrong or missing"},
		{s, "/mcp?token=secret", []string{"Origin", "http://evil.example"}, http.StatusForbidden, "pages of http://evil.example may not use this server"},
		{s, "/mcp?token=secret", []string{"Host", "evil.example"}, http.StatusForbidden, "this server is for localhost"},
		{s, "/mcp?session=x&token=secret", nil, http.StatusNotFound, `there is no session \"x\"`},
		{other, "/mcp", nil, http.StatusConflict, `the agent of session \"default\" does not speak MCP`},
	} {
		status, body := tc.at.request(t, http.MethodPost, tc.path, `{}`, tc.header...)
		require.Equal(t, tc.status, status, body)
		require.Contains(t, body, tc.want)
	}
	status, _ := s.request(t, http.MethodPost, "/mcp", `{}`, "Authorization", "Bearer secret", "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	require.Equal(t, http.StatusBadRequest, status, "the agent's own answer")

	for _, tc := range []struct {
		args []string
		want string
		exit int
	}{
		{[]string{"--url", s.url}, "assay: the token is wrong or missing", exit.StatusBroken},
		{[]string{"--url", s.url, "--token", "secret", "--session", "x"}, `assay: there is no session "x"`, exit.StatusBroken},
		{[]string{"--url", other.url}, "does not speak MCP", exit.StatusBroken},
		{[]string{"--url", "here"}, "assay: \"here\" is not the address of a server", exit.StatusUsage},
		{[]string{"--socket", "/no/socket"}, "assay: /no/socket: nobody listens there", exit.StatusBroken},
	} {
		cmd := exec.CommandContext(t.Context(), "assay", append([]string{"mcp"}, tc.args...)...)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), tc.want)
		require.Equal(t, tc.exit, cmd.ProcessState.ExitCode())
	}
	socket := ""
	for _, path := range glob(t, filepath.Join(s.dir, "tmp", "*", "mcp-*", "*")) {
		socket = path
	}
	require.NoError(t, os.Remove(socket))
	status, body := s.request(t, http.MethodPost, "/mcp", `{}`, "Authorization", "Bearer secret")
	require.Equal(t, http.StatusBadGateway, status)
	require.Contains(t, body, `the agent of session \"default\" cannot be reached`)
	s.stop(t)
	other.stop(t)
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return paths
}

// What becomes of attempts whose client does not do what it should.
func TestMCP_Outcomes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "sum.json"), sumCase)
	taken := writeFile(t, filepath.Join(dir, "taken.json"), strings.Replace(sumCase, `"id"`, `"files": {".mcp.json": "{}"}, "id"`, 1))
	for name, tc := range map[string]struct {
		file, agent string
		args        []string
		outcome     runs.Outcome
		detail      string
	}{
		"it leaves": {file, "mcp: true", nil, runs.OutcomeStopped, "done"},
		"it fails":  {file, `mcp: sh -c 'echo "no key" >&2; exit 4'`, nil, runs.OutcomeStopped, "sh exited with status 4; it printed last:\nno key"},
		"it stays":  {file, "mcp: sleep 1000", []string{"--idle", "1s"}, runs.OutcomeLimit, "idle"},
		"its file":  {taken, "mcp: true", nil, runs.OutcomeAgentError, "the sandbox has a .mcp.json already"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "run")
			runAssay(t, append([]string{"run", tc.file, "--agent", tc.agent, "--quiet", "--out", out}, tc.args...)...)
			text, err := os.ReadFile(filepath.Join(out, "attempts.jsonl"))
			require.NoError(t, err)
			var a runs.Attempt
			for line := range strings.SplitSeq(string(text), "\n") {
				if strings.Contains(line, `"type":"attempt"`) {
					require.NoError(t, json.Unmarshal([]byte(line), &a))
				}
			}
			require.Equal(t, tc.outcome, a.Outcome, a.Detail)
			require.Contains(t, a.Detail, tc.detail)
		})
	}
	for _, tc := range [][2]string{
		{"mcp:", "--agent mcp: is empty"},
		{"mcp: no-such-program", `--agent mcp: "no-such-program"`},
	} {
		cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", tc[0])
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), tc[1])
		require.Equal(t, exit.StatusUsage, cmd.ProcessState.ExitCode())
	}
}

// A server that is killed leaves no client of an agent behind.
func TestMCP_KilledServerLeavesNoProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServe(t, serveConfig{args: []string{"--agent", "mcp: sh -c 'echo begun; sleep 1000'", "--case", writeFile(t, filepath.Join(dir, "sum.json"), sumCase)}})
	s.connectView(t, "default")
	eventually(t, "it has not begun", func() bool {
		files := glob(t, filepath.Join(s.dir, "runs", "*", "attempts", "*", "stderr.txt"))
		if len(files) == 0 {
			return false
		}
		text, _ := os.ReadFile(files[0])
		return strings.Contains(string(text), "begun")
	})
	require.NoError(t, s.cmd.Process.Kill())
	<-s.exited
	eventually(t, "a process is left", func() bool { return len(findProcesses(s.dir)) == 0 })
}
