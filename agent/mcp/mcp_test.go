package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/tools"
	"assay/agent/mcp"
	"assay/internal/protocol"
)

func TestTL5_ToolsAreThoseOfANotebook(t *testing.T) {
	t.Parallel()
	_, theirs := protocol.Pipe()
	agent, err := tools.NewExternalAgent(theirs, builtin.Config{})
	require.NoError(t, err)
	runOverBothTransports(t, func(t *testing.T, connect func(*fakeServerHarness, *sdk.ClientOptions) *sdk.ClientSession) {
		t.Helper()
		s := startAgent(t, mcp.Config{Command: []string{"true"}})
		list, err := connect(s, nil).ListTools(t.Context(), nil)
		require.NoError(t, err)
		offered := map[string]*sdk.Tool{}
		for _, tool := range list.Tools {
			offered[tool.Name] = tool
		}
		require.Len(t, offered, 13)
		for _, want := range agent.Tools() {
			got := offered[want.Name]
			require.NotNil(t, got, want.Name)
			schema, err := json.Marshal(got.InputSchema)
			require.NoError(t, err)
			require.JSONEq(t, string(want.InputSchema), string(schema))
			require.Equal(t, want.Description, got.Description)
			require.NotEmpty(t, got.Title)
			require.NotNil(t, got.Annotations.DestructiveHint)
			require.False(t, got.Annotations.ReadOnlyHint && *got.Annotations.DestructiveHint)
		}
		require.True(t, offered["get_context"].Annotations.ReadOnlyHint)
		require.True(t, offered["delete_all_cells"].Annotations.IdempotentHint)
		require.True(t, *offered["run_cell"].Annotations.OpenWorldHint)
	})
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	runOverBothTransports(t, func(t *testing.T, connect func(*fakeServerHarness, *sdk.ClientOptions) *sdk.ClientSession) {
		t.Helper()
		s := startAgent(t, mcp.Config{})
		client := connect(s, nil)
		text, result := callTool(t, client, "create_cell", map[string]any{"position": 0, "source": "hello", "auto_run": true})
		require.False(t, result.IsError)
		require.Contains(t, text, "hello")
		_, result = callTool(t, client, "create_cell", map[string]any{"position": 0, "source": "picture", "auto_run": true})
		shown, ok := result.Content[1].(*sdk.ImageContent)
		require.True(t, ok)
		require.Equal(t, "image/png", shown.MIMEType)
		require.Equal(t, "PNG", string(shown.Data[1:4]))
		text, result = callTool(t, client, "create_cell", map[string]any{"position": -1, "source": "x"})
		require.True(t, result.IsError)
		require.Contains(t, text, "Bad input for create_cell: position")
		text, result = callTool(t, client, "run_cell", map[string]any{"cell_id": "c9"})
		require.True(t, result.IsError)
		require.Equal(t, "there is no cell c9", text)
		text, _ = callTool(t, client, "execute_code", map[string]any{"code": strings.Repeat("x", 40<<10)})
		require.Less(t, len(text), 17<<10)
		require.Contains(t, text, "bytes left out")
		_, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "no_such_tool"})
		require.ErrorContains(t, err, `unknown tool "no_such_tool"`)
	})
}

// A task is available in every way that MCP has, to clients that connected before it and after.
func TestTaskReachesClients(t *testing.T) {
	t.Parallel()
	runOverBothTransports(t, func(t *testing.T, connect func(*fakeServerHarness, *sdk.ClientOptions) *sdk.ClientSession) {
		t.Helper()
		s := startAgent(t, mcp.Config{})
		early := connect(s, nil)
		require.Contains(t, early.InitializeResult().Instructions, "There is no task yet")
		_, err := early.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "task"})
		require.ErrorContains(t, err, "there is no task now")
		_, err = early.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "assay://task"})
		require.ErrorContains(t, err, "there is no task now")
		text, _ := callTool(t, early, "get_task", map[string]any{"wait_s": 0})
		require.Equal(t, "There is no task yet. Call get_task again to wait for it.", text)
		text, result := callTool(t, early, "get_task", map[string]any{"wait_s": "long"})
		require.True(t, result.IsError)
		require.Contains(t, text, "wait_s")
		waited := make(chan *sdk.CallToolResult, 1)
		go func() {
			result, _ := early.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_task"})
			waited <- result
		}()
		s.sendQuery("count")
		result = <-waited
		require.NotNil(t, result)
		require.Equal(t, &sdk.TextContent{Text: "count"}, result.Content[0])

		late := connect(s, nil)
		require.Contains(t, late.InitializeResult().Instructions, "## The task\n\ncount")
		require.Contains(t, late.InitializeResult().Instructions, "Working in the Notebook")
		prompt, err := late.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "task"})
		require.NoError(t, err)
		require.Equal(t, &sdk.TextContent{Text: "count"}, prompt.Messages[0].Content)
		resource, err := late.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "assay://task"})
		require.NoError(t, err)
		require.Equal(t, "count", resource.Contents[0].Text)
		resource, err = late.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "assay://notebook"})
		require.NoError(t, err)
		require.Contains(t, resource.Contents[0].Text, `notebook "nb", 0 cells`)

		text, result = callTool(t, late, "submit_response", map[string]any{"summary": "[EVAL_COMPLETE]", "next_status": "done"})
		require.False(t, result.IsError, text)
		s.awaitFrame("done", isStatus("done"))
		text, _ = callTool(t, early, "get_task", map[string]any{"wait_s": 0})
		require.Contains(t, text, "There is no task yet")
	})
}

func TestProgressNotifications(t *testing.T) {
	t.Parallel()
	runOverBothTransports(t, func(t *testing.T, connect func(*fakeServerHarness, *sdk.ClientOptions) *sdk.ClientSession) {
		t.Helper()
		s := startAgent(t, mcp.Config{})
		notifications := make(chan *sdk.ProgressNotificationParams, 8)
		client := connect(s, &sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { notifications <- r.Params },
		})
		ctx, cancel := context.WithCancel(t.Context())
		params := &sdk.CallToolParams{Name: "create_cell", Arguments: map[string]any{"position": 0, "source": "hang", "auto_run": true}}
		params.SetProgressToken("token")
		ended := make(chan error, 1)
		go func() {
			_, err := client.CallTool(ctx, params)
			ended <- err
		}()
		first := <-notifications
		require.Equal(t, "token", first.ProgressToken)
		require.InDelta(t, 1, first.Progress, 0)
		require.Equal(t, "the new cell runs, 1 s", first.Message)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		s.awaitFrame("stop_cell", isActionNamed("stop_cell"))
		text, _ := callTool(t, client, "create_cell", map[string]any{"position": 0, "source": "goes on", "auto_run": true})
		require.Contains(t, text, "goes on")
	})
}

// A cell that a client runs is stopped when the client disconnects.
func TestDisconnectStopsCells(t *testing.T) {
	t.Parallel()
	hang := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"create_cell","arguments":{"position":0,"source":"hang","auto_run":true}}}`
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		s := startAgent(t, mcp.Config{})
		client := s.connectHTTP(nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://assay/", strings.NewReader(hang))
		require.NoError(t, err)
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Session-Id": client.ID(), "Assay-Post": "999",
		} {
			request.Header.Set(name, value)
		}
		ended := make(chan error, 1)
		go func() {
			response, err := s.httpClient().Do(request)
			if err == nil {
				_, err = fmt.Fscanln(response.Body)
				_ = response.Body.Close()
			}
			ended <- err
		}()
		s.awaitFrame("the cell", isActionNamed("create_cell"))
		cancel()
		require.Error(t, <-ended)
		s.awaitFrame("stop_cell", isActionNamed("stop_cell"))
	})
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		s := startAgent(t, mcp.Config{})
		in, out, ended := startBridge(t, mcp.Address{Socket: s.socket})
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
			"", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, hang,
		} {
			_, err := in.Write([]byte(line + "\n"))
			require.NoError(t, err)
		}
		var answer struct {
			Result sdk.InitializeResult `json:"result"`
		}
		require.NoError(t, json.NewDecoder(out).Decode(&answer))
		require.Equal(t, "2025-06-18", answer.Result.ProtocolVersion)
		s.awaitFrame("the cell", isActionNamed("create_cell"))
		require.NoError(t, in.Close())
		require.NoError(t, <-ended)
		s.awaitFrame("stop_cell", isActionNamed("stop_cell"))
	})
}

// Many clients on both transports make calls at once. All end with the connection to the
// server.
func TestManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	s := startAgent(t, mcp.Config{})
	var clients sync.WaitGroup
	for i := range 8 {
		connect := s.connectHTTP
		if i%2 == 0 {
			connect = s.connectStdio
		}
		client := connect(nil)
		clients.Go(func() {
			for n := range 5 {
				want := fmt.Sprintf("client %d call %d", i, n)
				result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": want}})
				if err != nil || !strings.Contains(resultText(result), want) {
					t.Errorf("%s: %v", want, err)
				}
			}
		})
	}
	clients.Wait()
	client := s.connectStdio(nil)
	waiting := s.connectHTTP(nil)
	failed := make(chan bool, 2)
	go func() { // waits longer than the test may take
		result, err := waiting.CallTool(context.Background(), &sdk.CallToolParams{Name: "get_task", Arguments: map[string]any{"wait_s": 300}})
		failed <- err != nil || result.IsError
	}()
	go func() {
		result, err := client.CallTool(context.Background(), &sdk.CallToolParams{Name: "create_cell", Arguments: map[string]any{"position": 0, "source": "hang", "auto_run": true}})
		failed <- err != nil || result.IsError
	}()
	s.awaitFrame("the cell", isActionNamed("create_cell"))
	require.NoError(t, s.conn.Close(protocol.CloseNormal, ""))
	require.NoError(t, <-s.ended)
	require.True(t, <-failed)
	require.True(t, <-failed)
	require.NoFileExists(t, s.socket)
}

func TestUnusableSocketPathIsAnError(t *testing.T) {
	t.Parallel()
	_, theirs := protocol.Pipe()
	err := mcp.Run(t.Context(), theirs, mcp.Config{Socket: mcp.SocketPath("/tmp/" + strings.Repeat("d", 100))})
	require.ErrorContains(t, err, "has more than 103 bytes")
	_, theirs = protocol.Pipe()
	err = mcp.Run(t.Context(), theirs, mcp.Config{Socket: mcp.SocketPath("/no/such/folder")})
	require.ErrorContains(t, err, "serve clients")
}
