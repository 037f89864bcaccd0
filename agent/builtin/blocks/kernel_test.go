package blocks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/blocks"
	"assay/internal/model"
)

// textReplyModel is a model that replies with a text which depends on the request.
type textReplyModel func(req model.Request) string

// Complete returns the reply.
func (m textReplyModel) Complete(_ context.Context, req model.Request, _ func(model.Delta)) (*model.Response, error) {
	return &model.Response{Content: []model.Block{model.Text(m(req))}, StopReason: model.StopEndTurn}, nil
}

// echoReply returns the text after "say:" in a prompt, and "done" for the feedback on it.
func echoReply(req model.Request) string {
	prompt := model.JoinTextBlocks(req.Messages[len(req.Messages)-1].Content)
	if i := strings.LastIndex(prompt, "say:\n"); i >= 0 && !strings.HasPrefix(prompt, "[Block ") {
		return prompt[i+len("say:\n"):]
	}
	return "done"
}

// promptForReplyWithBlocks returns a prompt to which echoReply replies with blocks of code.
func promptForReplyWithBlocks(code ...string) string {
	var text strings.Builder
	text.WriteString("say:\n")
	for _, block := range code {
		fmt.Fprintf(&text, "```python\n%s\n```\n", strings.TrimSpace(block))
	}
	return text.String()
}

// startAgentOnPythonKernel runs an agent on a real Python kernel; its model is echoReply.
func startAgentOnPythonKernel(t *testing.T) *agenttest.Server {
	t.Helper()
	p := startAgent(t, blocks.Config{Agent: builtin.Config{Model: textReplyModel(echoReply)}})
	p.AttachKernel(agenttest.StartPythonKernel(t))
	p.InitAndAwaitReady(nil)
	return p
}

// queryAndGetFeedback sends a query and returns the feedback on its blocks.
func queryAndGetFeedback(p *agenttest.Server, text string) string {
	p.T.Helper()
	seen := len(p.Frames())
	p.SendFrame(frame{"type": "agent_query", "query": text, "request_id": "feedback"})
	p.AwaitFrame(seen, "the end of the query", func(f frame) bool {
		return agenttest.IsQueryEndedEvent(f) && f.ObjectField("metadata").StringField("request_id") == "feedback"
	})
	p.AwaitQueryEnd(seen) // the status follows the event
	said := p.MessageTexts()
	return strings.TrimPrefix(said[len(said)-2], "user: ")
}

func TestBL3_OutputsOfRealKernel(t *testing.T) {
	t.Parallel()
	p := startAgentOnPythonKernel(t)
	require.Equal(t, "[Block 1 output]\n42", queryAndGetFeedback(p, promptForReplyWithBlocks("42")))
	require.Equal(t, "[Block 1 output]\na\n'b'\n[Block 2 output]\n(no output)\n[Block 3 output]\nc\nd\n4",
		queryAndGetFeedback(p, promptForReplyWithBlocks("print('a')\n'b'", "x = 4\nNone", "import sys\nprint('d', file=sys.stderr)\nprint('c')\nx")))
}

func TestBL5_AwaitablesAreAwaited(t *testing.T) {
	t.Parallel()
	p := startAgentOnPythonKernel(t)
	define := "import asyncio\nasync def f(x=42):\n    print('begins')\n    await asyncio.sleep(0)\n    print('ends')\n    return x"
	for _, code := range []string{"f()", "await f()", "task = asyncio.ensure_future(f())\ntask"} {
		require.Equal(t, "[Block 1 output]\n(no output)\n[Block 2 output]\nbegins\nends\n42\n[Block 3 output]\nbegins\nends",
			queryAndGetFeedback(p, promptForReplyWithBlocks(define, code, "f(None)")))
	}
}

func TestBL6_FailuresInRealKernel(t *testing.T) {
	t.Parallel()
	p := startAgentOnPythonKernel(t)
	output := queryAndGetFeedback(p, promptForReplyWithBlocks("print('so far')\n1 / 0", "x = = 1", "raise ValueError('mine')", "'\x00'", "6 * 7"))
	require.Regexp(t, `(?s)^\[Block 1 output\]\nso far\nTraceback.*\nZeroDivisionError: division by zero\n`+
		`\[Block 2 output\]\n.*SyntaxError: invalid syntax\n\[Block 3 output\]\nTraceback.*ValueError: mine\n`+
		`\[Block 4 output\]\n.*null bytes\n\[Block 5 output\]\n42$`, output)
}

func TestBL6_ExitInRealKernel(t *testing.T) {
	t.Parallel()
	p := startAgentOnPythonKernel(t)
	for _, code := range []string{
		"exit()", "raise SystemExit(3)", "raise KeyboardInterrupt", "import asyncio\nraise asyncio.CancelledError",
		"import asyncio\nawait asyncio.sleep(0)\nraise SystemExit", "async def f():\n    raise asyncio.CancelledError\nf()",
	} {
		runs := p.CountFramesWithField("action", "execute_code")
		require.Equal(t, "done", p.QueryAndWait(promptForReplyWithBlocks(code, "never = 1")))
		require.Equal(t, runs+1, p.CountFramesWithField("action", "execute_code"), code)
		said := p.MessageTexts()
		require.Contains(t, said[len(said)-1], "assistant: ```python\n", code)
	}
	require.Equal(t, "[Block 1 output]\nFalse", queryAndGetFeedback(p, promptForReplyWithBlocks("'never' in globals()")))
}

// A cancel stops the code of the query in a real kernel, which stays alive.
func TestBL6_CancelInRealKernel(t *testing.T) {
	t.Parallel()
	p := startAgentOnPythonKernel(t)
	for _, code := range []string{"while True: pass", "import asyncio\nawait asyncio.sleep(1000)"} {
		seen := len(p.Frames())
		p.SendQuery(promptForReplyWithBlocks(code, "never = 1"))
		p.AwaitFrame(seen, "the block", func(f frame) bool { return f.StringField("action") == "execute_code" })
		p.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
		require.Equal(t, "ready", p.AwaitQueryEnd(seen))
	}
	require.Equal(t, "[Block 1 output]\nFalse", queryAndGetFeedback(p, promptForReplyWithBlocks("'never' in globals()")))
}

func TestBL9_NamespaceOfRealKernel(t *testing.T) {
	t.Parallel()
	p := startAgentOnPythonKernel(t)
	queryAndGetFeedback(p, promptForReplyWithBlocks("import math\nfrom os.path import join\n_hidden = 1\nx = 3\nword = 'a' * 100\ndef f(): pass\nclass C: pass\nlines = 'a\\nb'\nc = len"))
	require.Equal(t, "done", p.QueryAndWait("and?"))
	said := p.MessageTexts()
	require.Equal(t, "user: ## Namespace\n\nC: type = <class '__main__.C'>\nlines: str = 'a\\nb'\nword: str = '"+strings.Repeat("a", 56)+"...\nx: int = 3\n\nand?", said[len(said)-2])
}
