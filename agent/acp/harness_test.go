package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/acp"
	"assay/agent/builtin/agenttest"
	"assay/agent/mcp"
	"assay/internal/model"
	"assay/internal/protocol"
	"assay/internal/subprocess/subprocesstest"
)

type (
	frame = agenttest.Frame
	step  = map[string]any
)

// maxTestWaitTimeout bounds waits that end soon unless something is broken.
const maxTestWaitTimeout = 60 * time.Second

// script is what testdata/agent.py does.
type script struct {
	Initialize       map[string]any `json:"initialize,omitempty"`
	BeforeInitialize string         `json:"before_initialize,omitempty"`
	NeedsAuth        bool           `json:"needs_auth,omitempty"`
	Prompts          [][]step       `json:"prompts,omitempty"`
}

// onePrompt is a script for one prompt.
func onePrompt(steps ...step) script { return script{Prompts: [][]step{steps}} }

// harness is an agent with a fake server, in a folder in which its program runs.
type harness struct {
	*agenttest.Server
	dir    string
	output *outputBuffer // of the program
}

// outputBuffer collects what a program prints. It is safe for concurrent use.
type outputBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends p.
func (b *outputBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *outputBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// scriptedAgent returns the command of testdata/agent.py with a script.
func scriptedAgent(t *testing.T, s script) []string {
	t.Helper()
	python, err := exec.LookPath("python3")
	require.NoError(t, err)
	path, err := filepath.Abs(filepath.Join("testdata", "agent.py"))
	require.NoError(t, err)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	return []string{python, path, string(text)}
}

// startAgent runs an agent whose program plays a script, and initialises it.
func startAgent(t *testing.T, s script, cfg acp.Config) *harness {
	t.Helper()
	cfg.Command = scriptedAgent(t, s)
	return startCommand(t, cfg, false)
}

// startEvaluation is startAgent in an evaluation.
func startEvaluation(t *testing.T, s script, cfg acp.Config) *harness {
	t.Helper()
	cfg.Command = scriptedAgent(t, s)
	return startCommand(t, cfg, true)
}

// startCommand runs an agent that starts cfg.Command, and initialises it.
func startCommand(t *testing.T, cfg acp.Config, isEvaluation bool) *harness {
	t.Helper()
	h := &harness{dir: t.TempDir(), output: &outputBuffer{}}
	cfg.Socket, cfg.WorkDir, cfg.Program, cfg.Version, cfg.Stderr = mcp.SocketPath(h.dir), h.dir, os.Args[0], "1.2.3", h.output
	cfg.Environ = append(cfg.Environ, os.Environ()...)
	h.Server = agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error { return acp.Run(ctx, conn, cfg) })
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the program printed:", h.output)
		}
	})
	h.InitAndAwaitReady(frame{"eval_mode": isEvaluation})
	return h
}

// runQuery sends a query and returns the status or fatal error that it ends with.
func (h *harness) runQuery(text string) string {
	h.T.Helper()
	from := len(h.Frames())
	h.SendQuery(text)
	return h.AwaitQueryEnd(from)
}

// awaitPID waits until the program has written its process id to the file pid, and returns it.
func (h *harness) awaitPID() string {
	h.T.Helper()
	var text []byte
	require.Eventually(h.T, func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(h.dir, "pid"))
		return err == nil && strings.HasSuffix(string(text), "\n")
	}, maxTestWaitTimeout, time.Millisecond)
	return strings.TrimSpace(string(text))
}

// errorTexts returns the texts of the agent's errors.
func (h *harness) errorTexts() (texts []string) {
	for _, f := range h.FramesOfType("agent_error") {
		texts = append(texts, f.StringField("error"))
	}
	return texts
}

// blocks returns the content blocks of the conversation as short texts, such as
// "assistant text: Hello", and the messages joined by newlines.
func (h *harness) blocks() (lines []string) {
	for _, m := range h.Transcript() {
		var parts []string
		for _, b := range m.Content {
			parts = append(parts, describeBlock(b))
		}
		lines = append(lines, m.Role+" "+strings.Join(parts, " | "))
	}
	return lines
}

func describeBlock(b model.Block) string {
	switch b.Type {
	case model.BlockToolUse:
		return "use " + b.Name + " " + string(b.Input)
	case model.BlockToolResult:
		text := "result: "
		if b.IsError {
			text = "failure: "
		}
		return text + model.JoinTextBlocks(b.Content)
	case model.BlockThinking:
		return "thinking: " + b.Thinking
	default:
		return "text: " + b.Text
	}
}

// requireProcessGone waits until a process is gone or a zombie.
func requireProcessGone(t *testing.T, pid string) {
	t.Helper()
	require.Eventually(t, func() bool { return subprocesstest.HasEnded(pid) }, maxTestWaitTimeout, time.Millisecond, "process %s", pid)
}
