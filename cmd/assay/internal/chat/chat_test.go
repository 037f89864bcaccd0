package chat

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/agent/builtin/blocks"
	"assay/agent/builtin/tools"
	"assay/internal/model"
	"assay/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newChat returns a chat without a session, and its stdout.
func newChat(ordered bool) (*chat, *bytes.Buffer) {
	var out bytes.Buffer
	return &chat{
		cfg:  Config{Strategy: blocks.StrategyName},
		view: &view{out: outputStream{Writer: &out}, err: outputStream{Writer: io.Discard}, ordered: ordered},
	}, &out
}

// Without a terminal the lines of a turn wait until earlier turns have ended.
func TestOrderedViewShowsTurnsInOrder(t *testing.T) {
	t.Parallel()
	for ordered, want := range map[bool]string{true: "a1 a2 b1 b2 c1", false: "b1 a1 c1 b2 a2"} {
		c, out := newChat(ordered)
		a, b, third := &turn{}, &turn{}, &turn{}
		c.turns = []*turn{a, b, third}
		c.showTurnLines(b, "b1")
		c.showTurnLines(a, "a1")
		c.showTurnLines(third, "c1")
		c.showTurnLines(b, "b2")
		c.endTurn(b)
		c.showTurnLines(a, "a2")
		c.endTurn(a)
		c.endTurn(third)
		require.Equal(t, want, strings.Join(strings.Fields(out.String()), " "))
		require.Empty(t, c.turns)
	}
}

func TestFindPrompt(t *testing.T) {
	t.Parallel()
	c, _ := newChat(false)
	ended, first, second := &turn{requestID: "chat-1", label: "1", isEnded: true}, &turn{requestID: "chat-2", label: "1"}, &turn{requestID: "chat-3", label: "2"}
	c.turns = []*turn{{label: codeLabel}, ended, first, second}
	require.Same(t, second, c.findPrompt("chat-3", ""))
	require.Nil(t, c.findPrompt("chat-1", "1"))
	require.Same(t, second, c.findPrompt("", "2"))
	require.Nil(t, c.findPrompt("", "3"))
	c.cfg.Strategy = tools.StrategyName
	require.Same(t, first, c.findPrompt("", "3"), "without labels the first running prompt")
}

func TestTextsOfTheView(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"[a\uFFFD] x", "[a\uFFFD]     y\uFFFD"}, labeledLines("a\n", "x\r\n\ty\x1b\n\n"))
	require.Equal(t, []string{"x"}, labeledLines("", "x"))
	require.Equal(t, ">>> a", firstCodeLine("\na\n"))
	require.Equal(t, ">>> a … (2 lines)", firstCodeLine("a\nb"))
	result := "3"
	require.Equal(t, "out\nerr\n3\nZeroDivisionError", outputText(protocol.ExecuteCodeResponse{Stdout: "out\n", Stderr: "err\n", Result: &result, Exception: "ZeroDivisionError"}))
	require.Equal(t, "(no output)", outputText(protocol.ExecuteCodeResponse{}))
	cost := 0.25
	require.Equal(t, "5 tokens in, 7 out, 1 from the cache, 2 into it, 0.2500 USD so far",
		usageLine(protocol.UsageUpdate{InputTokens: 5, OutputTokens: 7, CacheReadInputTokens: 1, CacheCreationInputTokens: 2, CostUSD: &cost}))
	require.Equal(t, "done", blockText(model.RoleAssistant, model.Block{Type: model.BlockToolUse, Name: "submit_response", Input: []byte(`{"summary":"done"}`)}))
	require.Empty(t, blockText(model.RoleUser, model.Block{Type: model.BlockText, Text: "prompt"}))
}

// A line of more than a mebibyte ends the input with an error.
func TestReadInputLines(t *testing.T) {
	t.Parallel()
	var texts []string
	var err error
	for line := range readInputLines(strings.NewReader("a\n\nb\n"+strings.Repeat("x", maxLineBytes)+"\nc\n"), nil) {
		if err = line.err; err == nil {
			texts = append(texts, line.text)
		}
	}
	require.Equal(t, []string{"a", "", "b"}, texts)
	require.ErrorContains(t, err, "token too long")
}
