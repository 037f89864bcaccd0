package builtin_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/model/script"
)

// ask puts a prompt to a script, with the memory of the test.
func ask(t *testing.T, cfg builtin.Config, lines ...string) (answer string, r *recorder, err error) {
	t.Helper()
	script, err := script.Parse("script.jsonl", []byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	r = &recorder{Client: script.Client()}
	cfg.Model = r
	if cfg.MemoryDir == "" {
		cfg.MemoryDir = memoryDir(t)
	}
	answer, err = builtin.Ask(t.Context(), cfg, " What is it?\n")
	return answer, r, err
}

func TestCO13_APlainAnswerIsOneCall(t *testing.T) {
	t.Parallel()
	answer, r, err := ask(t, builtin.Config{}, `{"content":[{"type":"text","text":"It is"},{"type":"text","text":"a test."}]}`)
	require.NoError(t, err)
	require.Equal(t, "It is\na test.", answer)
	require.Len(t, r.requests, 1)
	request := r.requests[0]
	require.Equal(t, 4096, request.MaxTokens)
	require.Equal(t, "What is it?", model.PlainText(request.Messages[0].Content))
	var tools []string
	for _, tool := range request.Tools {
		tools = append(tools, tool.Name)
	}
	require.Equal(t, []string{"read_memory", "update_context"}, tools)
}

// The prompt is that of an agent with a memory, without the rules of a notebook
// that is not there.
func TestCO13_SystemPrompt(t *testing.T) {
	t.Parallel()
	_, r, err := ask(t, builtin.Config{Params: model.Params{MaxTokens: 7}}, `{"content":"x"}`)
	require.NoError(t, err)
	require.Equal(t, 7, r.requests[0].MaxTokens)
	require.Len(t, r.requests[0].System, 1)
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

text of harness`, r.requests[0].System[0].Text)
}

func TestTL8_AskedWithOneRoundOfToolsIsTwoCalls(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	clock := func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	answer, r, err := ask(
		t, builtin.Config{MemoryDir: dir, Clock: clock},
		uses("update_context", `{"category":"Note","summary":"s","details":"d"}`, "read_memory", `{"name":"context"}`, "create_cell", `{"position":0,"source":""}`),
		`{"content":"Kept.","expect":{"tool_result_contains":"Unknown tool: create_cell"}}`,
	)
	require.NoError(t, err)
	require.Equal(t, "Kept.", answer)
	require.Len(t, r.requests, 2)
	results := r.requests[1].Messages[2].Content
	require.Contains(t, model.PlainText(results[0].Content), "success")
	require.Contains(t, model.PlainText(results[1].Content), "### 2026-03-04 05:06 - [Note]\n**Summary:** s\n**Details:** d\n")
	text, err := os.ReadFile(filepath.Join(dir, "context.md"))
	require.NoError(t, err)
	require.Equal(t, "text of context\n\n### 2026-03-04 05:06 - [Note]\n**Summary:** s\n**Details:** d\n", string(text))
	require.NotContains(t, r.requests[1].System[0].Text, "2026-03-04")
}

func TestCO13_AMissingFileIsNamedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	dir := memoryDir(t)
	require.NoError(t, builtin.CheckMemory(dir))
	require.NoError(t, os.Remove(filepath.Join(dir, "telos.md")))
	_, r, err := ask(t, builtin.Config{MemoryDir: dir}, `{"content":"x"}`)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "telos.md")
	require.Empty(t, r.requests)
	require.ErrorContains(t, builtin.CheckMemory(dir), "telos.md")
}

func TestCO13_WhatIsNoAnswerIsAnError(t *testing.T) {
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
		"limit":       {uses("read_memory", `{"name":"soul"}`), "limit reached: turns 1 of 1", builtin.Limits{Turns: 1}},
		"hostile":     {uses("read_memory", `{"name":7}`) + "\n" + uses("x", `{}`) + "\n" + uses("y", `{}`), "limit reached: malformed_turns 3 of 3", builtin.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, _, err := ask(t, builtin.Config{Limits: test.limits}, test.line)
			require.ErrorContains(t, err, test.want)
			require.Empty(t, answer)
		})
	}
}

func TestCO13_RetriesAreTold(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	pause := func(context.Context, time.Duration) error { return nil }
	answer, r, err := ask(t, builtin.Config{Stderr: &stderr, Pause: pause}, `{"error":{"status":529}}`, `{"content":"At last."}`)
	require.NoError(t, err)
	require.Equal(t, "At last.", answer)
	require.Len(t, r.requests, 2)
	require.Regexp(t, `^[^\n]*529[^\n]*retry 1 of 9[^\n]*\n$`, stderr.String())
}

func TestCO13_ACancelEndsItWithItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	script, err := script.Parse("script.jsonl", []byte(`{"error":{"status":529}}`))
	require.NoError(t, err)
	pause := func(context.Context, time.Duration) error {
		cancel(cause)
		return context.Cause(ctx)
	}
	_, err = builtin.Ask(ctx, builtin.Config{Model: script.Client(), MemoryDir: memoryDir(t), Pause: pause}, "go")
	require.ErrorIs(t, err, cause)
}

func TestBL8_TaskNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ strategy, query, current, label, name string }{
		{"blocks", "@2 go", "", "2", "ai:2:go"},
		{"blocks", "go", "", "1", "ai:1:go"},
		{"blocks", "go", "3", "3", "ai:3:go"},
		{"blocks", "@2", "", "1", "ai:1:@2"},
		{"blocks", "@ x", "4", "4", "ai:4:@ x"},
		{"blocks", "hello @2 x", "", "1", "ai:1:hello @2 x"},
		{"blocks", "@a 123456789 123456789 123456789 x", "", "a", "ai:a:123456789 123456789 123456789 "},
		{"tools", "@2 go", "", "1", "ai:1:@2 go"},
	} {
		label, name := builtin.NameTask(test.strategy, test.query, test.current)
		require.Equal(t, []string{test.label, test.name}, []string{label, name}, test.query)
	}
}

// Who has asked for several things is told of the end of each, however it ends. In
// an evaluation there is one query, and nobody to tell.
func TestCO14_TheEndOfAQueryIsTold(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"content":"x"}`, `{"content":"no","stop_reason":"refusal"}`, `{"error":{"status":401}}`} {
		for _, evaluation := range []bool{false, true} {
			p, _ := startRecorded(t, builtin.Config{}, line, `{"content":"after the nudge"}`)
			p.init(frame{"eval_mode": evaluation})
			p.ask("go")
			if evaluation {
				require.Empty(t, p.events("ended"))
				continue
			}
			ended := p.await(0, "the end", func(f frame) bool { return f.object("metadata").text("type") == "ended" })
			require.Equal(t, p.of("agent_history_updated")[0].text("request_id"), ended.object("metadata").text("request_id"))
		}
	}
}
