package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
	"assay/kernel/python"
)

// hears is a model whose replies are a function of what it hears.
type hears func(req model.Request) string

// Complete returns the reply.
func (h hears) Complete(_ context.Context, req model.Request, _ func(model.Delta)) (*model.Response, error) {
	return &model.Response{Content: []model.Block{model.Text(h(req))}, StopReason: model.StopEndTurn}, nil
}

// parrot says what a prompt tells it to behind "say:", and to what comes back
// "done".
func parrot(req model.Request) string {
	heard := model.PlainText(req.Messages[len(req.Messages)-1].Content)
	if i := strings.LastIndex(heard, "say:\n"); i >= 0 && !strings.HasPrefix(heard, "[Block ") {
		return heard[i+len("say:\n"):]
	}
	return "done"
}

// sayBlocks is a prompt that has the parrot run code.
func sayBlocks(code ...string) string {
	var text strings.Builder
	text.WriteString("say:\n")
	for _, block := range code {
		fmt.Fprintf(&text, "```python\n%s\n```\n", strings.TrimSpace(block))
	}
	return text.String()
}

// startParrot runs the agent that works by blocks, with a parrot for a model, on
// a real Python kernel.
func startParrot(t *testing.T) *peer {
	t.Helper()
	p := start(t, builtin.Run, builtin.Config{Strategy: "blocks", Model: hears(parrot)})
	p.hasPython()
	p.init(nil)
	return p
}

// hasPython puts a real Python kernel behind the peer.
func (p *peer) hasPython() {
	p.t.Helper()
	var reading sync.WaitGroup
	p.t.Cleanup(reading.Wait) // until the kernel's connection ends, below
	kernel := startPython(p.t)
	reading.Go(func() { p.relay(kernel) })
	p.onAction(func(action string, params frame, tx string) bool {
		request := frame{"type": strings.TrimPrefix(action, "request_"), "agent_tx_id": tx}
		switch action {
		case "execute_code":
			request["code"], request["session"] = params["code"], params["session"]
		case "stop_cell":
			request["agent_tx_id"] = params["agent_tx_id"]
		case "request_globals_summary":
		default:
			return false
		}
		body, err := json.Marshal(request)
		return err == nil && kernel.Write(body) == nil
	})
}

// relay takes the kernel's answers to the agent.
func (p *peer) relay(kernel protocol.Conn) {
	for {
		body, err := kernel.Read()
		if err != nil {
			return
		}
		var answer frame
		if json.Unmarshal(body, &answer) == nil && answer.text("agent_tx_id") != "" {
			answer["type"], answer["tx_id"] = "agent_action_response", answer["agent_tx_id"]
			p.send(answer)
		}
	}
}

// startPython starts a kernel that ends with the test.
func startPython(t *testing.T) protocol.Conn {
	t.Helper()
	program, err := python.Unpack(t.TempDir())
	require.NoError(t, err)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	// The test's context ends before its cleanup, which has the kernel exit by itself.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "python3", "-u", program, "3")
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	end, err := net.FileConn(ours)
	require.NoError(t, err)
	require.NoError(t, ours.Close())
	conn := protocol.NewStream(end, 0)
	t.Cleanup(func() {
		require.NoError(t, conn.Close(protocol.CloseNormal, ""))
		require.NoError(t, cmd.Wait())
	})
	ready, err := json.Marshal(protocol.NewKernelInit(cmd.Process.Pid))
	require.NoError(t, err)
	require.NoError(t, conn.Write(ready))
	return conn
}

// feedback asks something and returns what came of the blocks.
func (p *peer) feedback(text string) string {
	p.t.Helper()
	seen := len(p.seen())
	p.send(frame{"type": "agent_query", "query": text, "request_id": "feedback"})
	p.await(seen, "the end of the query", func(f frame) bool { return isEnded(f) && f.object("metadata").text("request_id") == "feedback" })
	p.ends(seen) // the status comes behind it
	said := p.said()
	return strings.TrimPrefix(said[len(said)-2], "user: ")
}

func TestBL3_RealKernel(t *testing.T) {
	t.Parallel()
	p := startParrot(t)
	require.Equal(t, "[Block 1 output]\n42", p.feedback(sayBlocks("42")))
	require.Equal(t, "[Block 1 output]\na\n'b'\n[Block 2 output]\n(no output)\n[Block 3 output]\nc\nd\n4",
		p.feedback(sayBlocks("print('a')\n'b'", "x = 4\nNone", "import sys\nprint('d', file=sys.stderr)\nprint('c')\nx")))
}

func TestBL5_AwaitablesAreAwaited(t *testing.T) {
	t.Parallel()
	p := startParrot(t)
	define := "import asyncio\nasync def f(x=42):\n    print('begins')\n    await asyncio.sleep(0)\n    print('ends')\n    return x"
	for _, code := range []string{"f()", "await f()", "task = asyncio.ensure_future(f())\ntask"} {
		require.Equal(t, "[Block 1 output]\n(no output)\n[Block 2 output]\nbegins\nends\n42\n[Block 3 output]\nbegins\nends",
			p.feedback(sayBlocks(define, code, "f(None)")))
	}
}

func TestBL6_RealFailures(t *testing.T) {
	t.Parallel()
	p := startParrot(t)
	output := p.feedback(sayBlocks("print('so far')\n1 / 0", "x = = 1", "raise ValueError('mine')", "'\x00'", "6 * 7"))
	require.Regexp(t, `(?s)^\[Block 1 output\]\nso far\nTraceback.*\nZeroDivisionError: division by zero\n`+
		`\[Block 2 output\]\n.*SyntaxError: invalid syntax\n\[Block 3 output\]\nTraceback.*ValueError: mine\n`+
		`\[Block 4 output\]\n.*null bytes\n\[Block 5 output\]\n42$`, output)
}

func TestBL6_RealEnds(t *testing.T) {
	t.Parallel()
	p := startParrot(t)
	for _, code := range []string{
		"exit()", "raise SystemExit(3)", "raise KeyboardInterrupt", "import asyncio\nraise asyncio.CancelledError",
		"import asyncio\nawait asyncio.sleep(0)\nraise SystemExit", "async def f():\n    raise asyncio.CancelledError\nf()",
	} {
		runs := p.count("action", "execute_code")
		require.Equal(t, "done", p.ask(sayBlocks(code, "never = 1")))
		require.Equal(t, runs+1, p.count("action", "execute_code"), code)
		said := p.said()
		require.Contains(t, said[len(said)-1], "assistant: ```python\n", code)
	}
	require.Equal(t, "[Block 1 output]\nFalse", p.feedback(sayBlocks("'never' in globals()")))
}

// What a cancelled query runs in the kernel is stopped there, and the kernel
// lives on.
func TestBL6_RealCancel(t *testing.T) {
	t.Parallel()
	p := startParrot(t)
	for _, code := range []string{"while True: pass", "import asyncio\nawait asyncio.sleep(1000)"} {
		seen := len(p.seen())
		p.query(sayBlocks(code, "never = 1"))
		p.await(seen, "the block", func(f frame) bool { return f.text("action") == "execute_code" })
		p.send(frame{"type": "agent_cancel", "request_id": "q1"})
		require.Equal(t, "ready", p.ends(seen))
	}
	require.Equal(t, "[Block 1 output]\nFalse", p.feedback(sayBlocks("'never' in globals()")))
}

func TestBL9_RealNames(t *testing.T) {
	t.Parallel()
	p := startParrot(t)
	p.feedback(sayBlocks("import math\nfrom os.path import join\n_hidden = 1\nx = 3\nword = 'a' * 100\ndef f(): pass\nclass C: pass\nlines = 'a\\nb'\nc = len"))
	require.Equal(t, "done", p.ask("and?"))
	said := p.said()
	require.Equal(t, "user: ## Namespace\n\nC: type = <class '__main__.C'>\nlines: str = 'a\\nb'\nword: str = '"+strings.Repeat("a", 56)+"...\nx: int = 3\n\nand?", said[len(said)-2])
}
