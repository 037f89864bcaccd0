package tools_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/internal/model"
)

// askScriptedModel calls Ask with a scripted model, and with its own memory unless cfg has one.
func askScriptedModel(t *testing.T, cfg tools.Config, lines ...string) (answer string, r *agenttest.RequestRecorder, err error) {
	t.Helper()
	r = &agenttest.RequestRecorder{Client: agenttest.ParseModelScript(t, lines...).Client()}
	cfg.Agent.Model = r
	if cfg.MemoryDir == "" {
		cfg.MemoryDir = newMemoryDir(t)
	}
	answer, err = tools.Ask(t.Context(), cfg, " What is it?\n")
	return answer, r, err
}

func TestCO13_PlainAnswerIsOneModelCall(t *testing.T) {
	t.Parallel()
	answer, r, err := askScriptedModel(t, tools.Config{}, `{"content":[{"type":"text","text":"It is"},{"type":"text","text":"a test."}]}`)
	require.NoError(t, err)
	require.Equal(t, "It is\na test.", answer)
	require.Len(t, r.Requests, 1)
	request := r.Requests[0]
	require.Equal(t, 4096, request.MaxTokens)
	require.Equal(t, "What is it?", model.JoinTextBlocks(request.Messages[0].Content))
	var names []string
	for _, tool := range request.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"read_memory", "update_context"}, names)
}

// The system prompt has the memory, but not the rules of a notebook.
func TestCO13_SystemPrompt(t *testing.T) {
	t.Parallel()
	_, r, err := askScriptedModel(t, tools.Config{Agent: builtin.Config{Params: model.Params{MaxTokens: 7}}}, `{"content":"x"}`)
	require.NoError(t, err)
	require.Equal(t, 7, r.Requests[0].MaxTokens)
	require.Len(t, r.Requests[0].System, 1)
	require.Equal(t, `You are Eva, an agent that answers the user's prompt and keeps a memory.

## Your Identity

text of soul

## Your User

text of user

## Your Purpose

text of telos

## Recent Context

text of context

## Your Architecture (Self-Awareness)

text of harness`, r.Requests[0].System[0].Text)
}

func TestTL8_AskWithOneToolRoundIsTwoModelCalls(t *testing.T) {
	t.Parallel()
	dir := newMemoryDir(t)
	clock := func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	answer, r, err := askScriptedModel(
		t, tools.Config{Agent: builtin.Config{Clock: clock}, MemoryDir: dir},
		agenttest.ToolCallScriptLine("update_context", `{"category":"Note","summary":"s","details":"d"}`, "read_memory", `{"name":"context"}`, "create_cell", `{"position":0,"source":""}`),
		`{"content":"Kept.","expect":{"tool_result_contains":"Unknown tool: create_cell"}}`,
	)
	require.NoError(t, err)
	require.Equal(t, "Kept.", answer)
	require.Len(t, r.Requests, 2)
	results := r.Requests[1].Messages[2].Content
	require.Contains(t, model.JoinTextBlocks(results[0].Content), "success")
	require.Contains(t, model.JoinTextBlocks(results[1].Content), "### 2026-03-04 05:06 - [Note]\n**Summary:** s\n**Details:** d\n")
	text, err := os.ReadFile(filepath.Join(dir, "context.md"))
	require.NoError(t, err)
	require.Equal(t, "text of context\n\n### 2026-03-04 05:06 - [Note]\n**Summary:** s\n**Details:** d\n", string(text))
	require.NotContains(t, r.Requests[1].System[0].Text, "2026-03-04")
}

func TestCO13_MissingFileIsNamedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	dir := newMemoryDir(t)
	require.NoError(t, tools.CheckMemoryFiles(dir))
	require.NoError(t, os.Remove(filepath.Join(dir, "telos.md")))
	_, r, err := askScriptedModel(t, tools.Config{MemoryDir: dir}, `{"content":"x"}`)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "telos.md")
	require.Empty(t, r.Requests)
	require.ErrorContains(t, tools.CheckMemoryFiles(dir), "telos.md")
}

func TestCO13_NoAnswerIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line, want string
		limits     builtin.Limits
	}{
		"no text":     {`{"content":[]}`, "the reply has no text", builtin.Limits{}},
		"blank":       {`{"content":" \n"}`, "the reply has no text", builtin.Limits{}},
		"refusal":     {`{"content":"no","stop_reason":"refusal"}`, "the model declined to go on (stop reason refusal)", builtin.Limits{}},
		"unknown end": {`{"content":"no","stop_reason":"tired"}`, `the model stopped for the unknown reason "tired"`, builtin.Limits{}},
		"refused":     {`{"error":{"status":401,"body":"{\"error\":{\"type\":\"authentication_error\",\"message\":\"bad key\"}}"}}`, "401", builtin.Limits{}},
		"limit":       {agenttest.ToolCallScriptLine("read_memory", `{"name":"soul"}`), "limit reached: turns 1 of 1", builtin.Limits{MaxTurns: 1}},
		"hostile":     {agenttest.ToolCallScriptLine("read_memory", `{"name":7}`) + "\n" + agenttest.ToolCallScriptLine("x", `{}`) + "\n" + agenttest.ToolCallScriptLine("y", `{}`), "limit reached: malformed_turns 3 of 3", builtin.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, _, err := askScriptedModel(t, configWithLimits(test.limits), test.line)
			require.ErrorContains(t, err, test.want)
			require.Empty(t, answer)
		})
	}
}

func TestCO13_RetriesArePrinted(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	sleep := func(context.Context, time.Duration) error { return nil }
	answer, r, err := askScriptedModel(t, tools.Config{Agent: builtin.Config{Stderr: &stderr, Sleep: sleep}}, `{"error":{"status":529}}`, `{"content":"At last."}`)
	require.NoError(t, err)
	require.Equal(t, "At last.", answer)
	require.Len(t, r.Requests, 2)
	require.Regexp(t, `^[^\n]*529[^\n]*retry 1 of 9[^\n]*\n$`, stderr.String())
}

func TestCO13_CancelReturnsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	client := agenttest.ParseModelScript(t, `{"error":{"status":529}}`).Client()
	sleep := func(context.Context, time.Duration) error {
		cancel(cause)
		return context.Cause(ctx)
	}
	_, err := tools.Ask(ctx, tools.Config{Agent: builtin.Config{Model: client, Sleep: sleep}, MemoryDir: newMemoryDir(t)}, "go")
	require.ErrorIs(t, err, cause)
}
