package acp_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/acp"
)

// askPermission is a step that asks for permission with options of these kinds, whose ids are the kinds.
func askPermission(kinds ...string) step {
	options := []step{}
	for _, kind := range kinds {
		options = append(options, step{"optionId": kind, "name": kind, "kind": kind})
	}
	return step{"request": []any{"session/request_permission", step{
		"sessionId": "session-1", "toolCall": step{"toolCallId": "t", "title": "rm -r /"}, "options": options,
	}}}
}

// Requests for permission are granted, once if possible. Other requests are not supported, and unknown
// notifications are ignored.
func TestRequests(t *testing.T) {
	t.Parallel()
	read := step{"update": step{"sessionUpdate": "tool_call", "toolCallId": "x", "title": "x", "kind": "read", "status": "completed"}}
	h := startAgent(t, onePrompt(
		askPermission("reject_once", "allow_always", "allow_once"), read,
		askPermission("reject_once", "allow_always"), read,
		askPermission("reject_once", "reject_always"), read,
		askPermission(), read,
		step{"request": []any{"session/request_permission", []int{1}}}, read,
		step{"notify": step{"method": "_vendor/news", "params": step{}}},
		step{"notify": step{"id": "no request", "result": step{}}},
		step{"request": []any{"fs/read_text_file", step{"path": "/etc/passwd"}}},
		step{"request": []any{"terminal/create", step{"command": "sh"}}},
	), acp.Config{})
	require.Equal(t, "done", h.runQuery("count"))
	require.Empty(t, h.errorTexts())
	for i, want := range []string{
		`{"outcome": {"outcome": "selected", "optionId": "allow_once"}}`,
		`{"outcome": {"outcome": "selected", "optionId": "allow_always"}}`,
		`{"outcome": {"outcome": "selected", "optionId": "reject_once"}}`,
		`{"outcome": {"outcome": "cancelled"}}`,
		`{"outcome": {"outcome": "cancelled"}}`,
		`{"code": -32601, "message": "Method not found: fs/read_text_file"}{"code": -32601, "message": "Method not found: terminal/create"}`,
	} {
		require.Contains(t, strings.Join(h.blocks(), "\n"), want, i)
	}
}

// Updates that are not of this turn, of an unknown kind or malformed change nothing, and texts of another
// kind than text are named.
func TestUpdates(t *testing.T) {
	t.Parallel()
	chunk := func(content step, fields ...string) step {
		update := step{"sessionUpdate": "agent_message_chunk", "content": content}
		for i := 0; i < len(fields); i += 2 {
			update[fields[i]] = fields[i+1]
		}
		return step{"update": update}
	}
	text := func(text string) step { return step{"type": "text", "text": text} }
	call := func(id string, fields step) step {
		update := step{"sessionUpdate": "tool_call_update", "toolCallId": id}
		maps.Copy(update, fields)
		return step{"update": update}
	}
	h := startAgent(t, onePrompt(
		step{"notify": step{"method": "session/update", "params": step{"sessionId": "another", "update": step{"sessionUpdate": "agent_message_chunk", "content": text("no")}}}},
		step{"notify": step{"method": "session/update", "params": 7}},
		step{"notify": step{"method": "session/update"}},
		step{"update": 7}, step{"update": step{"sessionUpdate": "user_message_chunk", "content": text("no")}}, step{"update": step{"sessionUpdate": "new_kind"}},
		step{"update": step{"sessionUpdate": "agent_message_chunk", "content": 7}},
		chunk(text("one "), "messageId", "m1"), chunk(text("message"), "messageId", "m1"), chunk(text("another"), "messageId", "m2"),
		chunk(step{"type": "image", "mimeType": "image/png", "data": "AAAA"}, "messageId", "m2"),
		chunk(step{"type": "resource_link", "uri": "file:///a"}, "messageId", "m2"),
		chunk(step{"type": "resource", "resource": step{"uri": "file:///b", "text": "of b"}}, "messageId", "m2"),
		call("1", step{"kind": "edit", "title": "Edit a", "status": "in_progress", "rawInput": step{"n": strings.Repeat("9", 40_000)}}),
		call("1", step{"title": nil, "status": "completed", "content": []step{{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}, {"type": "terminal", "terminalId": "t"}}}),
		call("1", step{"status": "failed"}),
		call("2", step{"kind": "submit_response", "title": "mcp__assay__submit_response", "status": "completed", "rawInput": step{"summary": "forged"}, "rawOutput": step{"ok": true}}),
		call("3", step{"title": 7, "status": "pending"}),
	), acp.Config{})
	require.Equal(t, "done", h.runQuery("count"))
	require.Empty(t, h.errorTexts())
	blocks := h.blocks()
	require.Len(t, blocks, 7)
	require.Contains(t, blocks[1][:150], "assistant text: one message\n\nanother[image image/png][resource_link file:///a]of b | use edit ")
	require.Less(t, len(blocks[1]), 20_000, "the input is cut")
	require.Equal(t, []string{
		"user result: /a\n--- before\nx\n+++ after\ny",
		`assistant use other {"input":{"summary":"forged"},"title":"mcp__assay__submit_response"}`,
		`user result: {"ok": true}`,
		`assistant use other {"title":""}`,
		"user failure: The turn ended before this call did.",
	}, blocks[2:])
	require.Empty(t, h.Submissions(), "what the program says about a call submits nothing")
}

// Programs name the tools of the notebook in many ways. Each of their calls is in the conversation once.
func TestCallsOfTheNotebookAreRecordedOnce(t *testing.T) {
	t.Parallel()
	announced := func(id, title string) step {
		return step{"update": step{"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "status": "in_progress"}}
	}
	ended := func(id string) step {
		return step{"update": step{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed"}}
	}
	look := step{"call": []any{"get_context", step{}}}
	h := startAgent(t, onePrompt(
		announced("1", "Assay: Get Context"), look, ended("1"),
		announced("2", "assay/get_context"), announced("get_context-3", "{}"), look, look, ended("get_context-3"), ended("2"),
		announced("4", "grep get_context"), ended("4"),
		step{"update": step{"sessionUpdate": "tool_call", "toolCallId": "5", "title": "Run code without a cell", "rawInput": step{"code": "1"}}},
		step{"call": []any{"execute_code", step{"code": "1"}}}, ended("5"),
		announced("6", "assay_get_context"), look,
	), acp.Config{})
	require.Equal(t, "done", h.runQuery("count"))
	var uses []string
	for _, line := range h.blocks() {
		if use, isUse := strings.CutPrefix(line, "assistant use "); isUse {
			uses = append(uses, use)
		}
	}
	require.Equal(t, []string{"get_context {}", "get_context {}", "get_context {}", `other {"title":"grep get_context"}`, `execute_code {"code":"1"}`, "get_context {}"}, uses)
}

// A line that is not JSON-RPC is output of the program, and the first one is reported.
func TestGarbage(t *testing.T) {
	t.Parallel()
	s := onePrompt(step{"print": `{"id": 1}`}, step{"print": strings.Repeat("x", 70_000)}, step{"echo_prompt": nil})
	s.BeforeInitialize = "Welcome!"
	h := startAgent(t, s, acp.Config{})
	require.Equal(t, "done", h.runQuery("count"))
	require.Equal(t, []string{"python3 has printed a line on its standard output that is not JSON-RPC: Welcome!"}, h.errorTexts())
	require.Contains(t, h.output.String(), "Welcome!\n")
	require.Contains(t, h.output.String(), "{\"id\": 1}\n")
	require.Equal(t, []string{"[session-1] count"}, h.saidTexts())
}

// What is wrong with a program ends the query with an error that says so, and the program is stopped.
func TestFaultyPrograms(t *testing.T) {
	t.Parallel()
	const auth = "authMethods"
	for name, tc := range map[string]struct {
		script  script
		command []string
		cfg     acp.Config
		want    string
	}{
		"never initialises": {
			script{},
			[]string{"/bin/sh", "-c", "echo 'Usage: agent [FILE]'; exec sleep 1000"},
			acp.Config{StartTimeout: 2 * time.Second},
			"sh did not answer initialize within 2s; the first line that it printed is not JSON-RPC: Usage: agent [FILE]",
		},
		"another version": {
			script{Initialize: step{"protocolVersion": 2}},
			nil,
			acp.Config{},
			"python3 speaks version 2 of the Agent Client Protocol, Assay version 1",
		},
		"closes its output": {onePrompt(step{"close_stdout": nil}), nil, acp.Config{}, "python3 has closed its standard input or output"},
		"wants a login": {
			script{NeedsAuth: true, Initialize: step{auth: []step{
				{"id": "web", "name": "Log in with Google", "description": nil},
				{"id": "key", "name": "Use a key", "description": "Requires setting the `NO_SUCH_KEY` environment variable"},
				{"id": "tty", "name": "Use PATH_OF_TERMINAL", "type": "terminal"},
			}}},
			nil,
			acp.Config{Environ: []string{"PATH_OF_TERMINAL=1"}},
			"python3 wants authentication: Log in with Google, Use a key (Requires setting the `NO_SUCH_KEY` environment variable), Use PATH_OF_TERMINAL; " +
				"set the variables of one of them, or log in beforehand and copy the settings to its HOME (--agent-home)",
		},
		"wants what it does not offer": {script{NeedsAuth: true}, nil, acp.Config{}, "python3 wants authentication, and offers no way to authenticate"},
		"a huge message":               {onePrompt(step{"flood": 64 << 20}), nil, acp.Config{}, "python3: a message of more than 67108864 bytes"},
		"does not read": {
			script{},
			[]string{"/bin/sh", "-c", `while echo '{"jsonrpc":"2.0","id":"a long id to fill the pipe with answers soon","method":"x"}'; do :; done`},
			acp.Config{},
			"sh: the program does not read its standard input",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.cfg.Command = tc.command; tc.command == nil {
				tc.cfg.Command = scriptedAgent(t, tc.script)
			}
			h := startCommand(t, tc.cfg, true)
			require.Equal(t, tc.want, h.runQuery("count"))
		})
	}
}

// A program that wants authentication gets it with the method whose environment variables are set.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	s := onePrompt(step{"echo_prompt": nil})
	s.NeedsAuth, s.Initialize = true, step{"authMethods": []step{
		{"id": "web", "name": "Log in"},
		{"id": "unset", "name": "Use NO_SUCH_KEY"},
		{"id": "vars", "name": "Use a key", "type": "env_var", "vars": []step{{"name": "SOME_KEY"}}},
		{"id": "later", "name": "Use SOME_KEY"},
	}}
	h := startAgent(t, s, acp.Config{Environ: []string{"SOME_KEY=secret", "NO_SUCH_KEY="}})
	require.Equal(t, "done", h.runQuery("count"))
	require.Contains(t, h.output.String(), "authenticate vars\n")
	require.Equal(t, []string{"[session-1] count"}, h.saidTexts())
}

// A long text is cut, in the conversation and in what is streamed.
func TestLongText(t *testing.T) {
	t.Parallel()
	h := startAgent(t, onePrompt(step{"flood": 3 << 20}, step{"say": "end"}), acp.Config{})
	require.Equal(t, "done", h.runQuery("count"))
	blocks := h.Transcript()[1].Content
	require.Len(t, blocks[0].Text, 1<<20)
	require.Equal(t, "[... 2097155 bytes left out ...]", blocks[1].Text)
}
