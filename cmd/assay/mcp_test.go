package main

import (
	"bytes"
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

// sumCase is the case that the official client solves.
const sumCase = `{"id": "sum", "task": "Sum the whole numbers from 0 to 9 in a cell. Answer {\"total\": n}.",
	"grader": {"type": "exact", "config": {"ground_truth": {"total": 45}}}}`

// nodeCommand returns the command of a program in a package of agent/PACKAGE/testdata/typescript, whose
// dependencies it installs if necessary. If that fails, the test is skipped, or fails in CI.
func nodeCommand(t *testing.T, pkg, program, dependency string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "agent", pkg, "testdata", "typescript"))
	require.NoError(t, err)
	node, missing := exec.LookPath("node")
	if missing == nil {
		_, installed := os.Stat(filepath.Join(dir, "node_modules", dependency, "package.json"))
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
		t.Skipf("%s cannot be installed: %v", dependency, missing)
	}
	require.NoError(t, missing)
	return node + " " + filepath.Join(dir, program)
}

// The official TypeScript client of MCP solves a case: as a command of run, which gets the task on
// stdin or as an argument, also in the sandbox of the agent, and as a command or client of serve.
func TestMCP_TypeScriptClient(t *testing.T) {
	t.Parallel()
	client := nodeCommand(t, "mcp", "client.mjs", "@modelcontextprotocol/sdk")
	for name, args := range map[string][]string{
		"stdin":     {"--agent", "mcp: " + client},
		"argument":  {"--agent", "mcp: " + client + " {task}"},
		"sandboxed": {"--agent", "mcp: " + client, "--sandbox-agent"},
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
		c.agent.awaitItem(t, "its calls", hasTypeAndText("agent_history_updated", `"name":"create_cell"`))
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

// runWithClient runs sumCase with args, and requires that the client passed its own checks and the
// case, and that the run has its conversation.
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
	require.Equal(t, 1, bytes.Count(conversation, []byte(`"name":"submit_response"`)), "a refused submission is not recorded")
	lines, err := os.ReadFile(filepath.Join(out, "attempts.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(lines), `"outcome":"completed"`)
	require.Contains(t, string(lines), `"tamper":0`)
	awaitCondition(t, "processes are still running", func() bool { return len(findProcessesWithText(dir)) == 0 })
}

// connectMCP starts assay mcp with args, dir for temporary files, and connects the official Go
// client to it. It returns the standard error of the command too.
func connectMCP(t *testing.T, dir string, args ...string) (*sdk.ClientSession, *exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command("assay", append([]string{"mcp"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "ASSAY_SESSION=inherited", "ASSAY_SOCKET=/no/such/socket") // as in a program that an agent has started
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err, stderr)
	t.Cleanup(func() { _ = client.Close() })
	return client, cmd, stderr
}

// callTool calls a tool and returns the text of its first block.
func callTool(t *testing.T, client *sdk.ClientSession, name string, arguments jsonObject) string {
	t.Helper()
	result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	return firstText(t, result)
}

// firstText returns the text of the first block of a result, which must be a text.
func firstText(t *testing.T, result *sdk.CallToolResult) string {
	t.Helper()
	require.NotEmpty(t, result.Content)
	text, ok := result.Content[0].(*sdk.TextContent)
	require.True(t, ok)
	return text.Text
}

// Without --url assay mcp has its own notebook. It ends with the client and leaves no file.
func TestMCP_OwnNotebook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	client, cmd, stderr := connectMCP(t, dir)
	require.Equal(t, version, client.InitializeResult().ServerInfo.Version)
	require.Contains(t, callTool(t, client, "create_cell", jsonObject{"position": 0, "source": "x = 6 * 7\nprint(x)", "auto_run": true}), "42")
	require.Contains(t, callTool(t, client, "request_globals_summary", nil), `"x"`)
	require.Contains(t, callTool(t, client, "submit_response", jsonObject{"summary": "42", "next_status": "done"}), "nothing was asked")
	require.NoError(t, client.Close())
	require.Equal(t, 0, cmd.ProcessState.ExitCode(), stderr)
	awaitCondition(t, "processes are still running", func() bool { return len(findProcessesWithText(dir)) == 0 })
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A client of assay mcp --url works in a live session while a console is connected. It receives the
// query of the console, and a tool call fails when the console cancels the query.
func TestMCP_LiveSession(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{token: "secret", args: []string{"--agent", "mcp"}})
	secret := writeFile(t, filepath.Join(t.TempDir(), "token"), "secret\n")
	client, cmd, stderr := connectMCP(t, s.dir, "--url", s.url, "--token-file", secret) // it may connect before the agent is ready
	c := s.connectView(t, "default")
	c.agent.send(jsonObject{"type": "agent_query", "query": "What is it?", "request_id": "q1"})
	require.Equal(t, "What is it?", callTool(t, client, "get_task", nil))
	made := callTool(t, client, "create_cell", jsonObject{"position": 0, "source": "print('seen by all')", "auto_run": true})
	require.Contains(t, made, "seen by all")
	c.agent.awaitItem(t, "the cell", hasTypeAndText("notebook_event", "seen by all"))
	results := make(chan *sdk.CallToolResult, 1)
	go func() {
		result, _ := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "create_cell", Arguments: jsonObject{
			"position": 0, "source": "print('begun', flush=True)\nimport time\ntime.sleep(600)", "auto_run": true,
		}})
		results <- result
	}()
	c.agent.awaitItem(t, "its output", func(m consoleMessage) bool { return m.Type == "kernel_stdio" && strings.Contains(m.body, "begun") })
	c.agent.send(jsonObject{"type": "agent_cancel", "request_id": "q1"})
	result := <-results
	require.NotNil(t, result)
	require.True(t, result.IsError)
	require.Contains(t, firstText(t, result), "the query was cancelled")
	c.agent.awaitItem(t, "the end of the cell", func(m consoleMessage) bool { return m.Type == "cell_result" && m.Status == "interrupted" })
	require.Contains(t, callTool(t, client, "execute_code", jsonObject{"code": "print('free')"}), "free")

	secondQuery := uuid.NewString()
	c.agent.send(jsonObject{"type": "agent_query", "query": "And now?", "request_id": secondQuery})
	require.Equal(t, "And now?", callTool(t, client, "get_task", jsonObject{"wait_s": 60}))
	require.Equal(t, "Submitted.", callTool(t, client, "submit_response", jsonObject{"summary": "That.", "next_status": "done"}))
	c.agent.awaitItem(t, "its answer", hasTypeAndText("agent_history_updated", "That."))
	c.agent.awaitItem(t, "its end", hasTypeAndText("agent_status", "done"))

	c.run.send(jsonObject{"type": "managed_process_restart", "name": "agent"})
	_ = client.Wait()
	_ = client.Close()
	require.Equal(t, exit.StatusBroken, cmd.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "assay: the session has ended: its agent is gone")
	ready := func(line string) bool { return strings.HasSuffix(strings.TrimSpace(line), "session: ready agent") }
	s.stderr.awaitNthItem(t, 2, "another agent", ready)
	client, cmd, _ = connectMCP(t, s.dir, "--url", s.url, "--session", "default", "--token-file", secret)
	require.Contains(t, callTool(t, client, "get_context", nil), "seen by all")
	require.NoError(t, client.Close())
	require.Equal(t, 0, cmd.ProcessState.ExitCode())
	s.stop(t)
}

// A refused client gets the reason, over HTTP and from assay mcp.
func TestMCP_Refused(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{token: "secret", args: []string{"--agent", "mcp"}})
	secret := writeFile(t, filepath.Join(t.TempDir(), "token"), "secret\n")
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
	require.Equal(t, http.StatusBadRequest, status, "the answer of the agent itself")

	for _, tc := range []struct {
		args []string
		want string
		exit int
	}{
		{[]string{"--url", s.url}, "assay: the token is wrong or missing", exit.StatusBroken},
		{[]string{"--url", s.url, "--token-file", secret, "--session", "x"}, `assay: there is no session "x"`, exit.StatusBroken},
		{[]string{"--url", other.url}, "does not speak MCP", exit.StatusBroken},
		{[]string{"--url", "here"}, "assay: \"here\" is not the address of a server", exit.StatusUsage},
		{[]string{"--attach"}, "assay: --attach: ASSAY_SOCKET is not set", exit.StatusUsage},
		{[]string{"--socket", "/no/socket"}, "assay: /no/socket: nobody listens there", exit.StatusBroken},
	} {
		cmd := exec.CommandContext(t.Context(), "assay", append([]string{"mcp"}, tc.args...)...)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), tc.want)
		require.Equal(t, tc.exit, cmd.ProcessState.ExitCode())
	}
	socket := ""
	for _, path := range globPaths(t, filepath.Join(s.dir, "tmp", "*", "agents-*", "*", "mcp")) {
		socket = path
	}
	require.NoError(t, os.Remove(socket))
	status, body := s.request(t, http.MethodPost, "/mcp", `{}`, "Authorization", "Bearer secret")
	require.Equal(t, http.StatusBadGateway, status)
	require.Contains(t, body, `the agent of session \"default\" cannot be reached`)
	s.stop(t)
	other.stop(t)
}

// globPaths returns the paths that match the pattern.
func globPaths(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return paths
}

// Attempts whose MCP client exits, fails or hangs without a submission have the right outcome.
func TestMCP_Outcomes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "sum.json"), sumCase)
	withConfig := writeFile(t, filepath.Join(dir, "with-config.json"), strings.Replace(sumCase, `"id"`, `"files": {".mcp.json": "{}"}, "id"`, 1))
	for name, tc := range map[string]struct {
		file, agent string
		args        []string
		outcome     runs.Outcome
		detail      string
	}{
		"exits":                         {file, "mcp: true", nil, runs.OutcomeStopped, "done"},
		"fails":                         {file, `mcp: sh -c 'echo "no key" >&2; exit 4'`, nil, runs.OutcomeAgentExit, "sh exited with status 4; it printed last:\nno key"},
		"is killed":                     {file, `mcp: sh -c 'kill -9 $$'`, nil, runs.OutcomeAgentExit, "sh was killed by SIGKILL"},
		"fails silently":                {file, "mcp: false", nil, runs.OutcomeAgentExit, "agent exited with status 3: false exited with status 1; folder attempts/"},
		"hangs":                         {file, "mcp: sleep 1000", []string{"--idle", "1s"}, runs.OutcomeLimit, "idle"},
		"its configuration file exists": {withConfig, "mcp: true", nil, runs.OutcomeAgentError, "the sandbox has a .mcp.json already"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "run")
			runAssay(t, append([]string{"run", tc.file, "--agent", tc.agent, "--quiet", "--out", out}, tc.args...)...)
			a := readAttempts(t, out)[0]
			require.Equal(t, tc.outcome, a.Outcome, a.Detail)
			require.Contains(t, a.Detail, tc.detail)
		})
	}
	for _, tc := range [][2]string{
		{"mcp:", "--agent mcp: want a command, such as 'mcp: claude -p --mcp-config .mcp.json', or mcp alone"},
		{"mcp: no-such-program", `--agent mcp: "no-such-program"`},
	} {
		cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", tc[0])
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), tc[1])
		require.Equal(t, exit.StatusUsage, cmd.ProcessState.ExitCode())
	}
}

// When the server is killed, the MCP client that its agent started ends too.
func TestMCP_KilledServerLeavesNoProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServe(t, serveConfig{args: []string{"--agent", "mcp: sh -c 'echo begun; sleep 1000'", "--case", writeFile(t, filepath.Join(dir, "sum.json"), sumCase)}})
	s.connectView(t, "default")
	awaitCondition(t, "the client has not started", func() bool {
		files := globPaths(t, filepath.Join(s.dir, "runs", "*", "attempts", "*", "stderr.txt"))
		if len(files) == 0 {
			return false
		}
		text, _ := os.ReadFile(files[0])
		return strings.Contains(string(text), "begun")
	})
	require.NoError(t, s.cmd.Process.Kill())
	<-s.exited
	awaitCondition(t, "processes are still running", func() bool { return len(findProcessesWithText(s.dir)) == 0 })
}
