package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"assay/internal/model"
	"assay/internal/protocol"
)

// AskMaxTokens is the longest reply of [Ask], in tokens, unless Config.Params
// says otherwise.
const AskMaxTokens = 4096

// Ask puts one prompt to an agent with a memory, Config.MemoryDir, and without a
// server or a notebook: its tools are those of the memory. It returns the text of
// the reply that called no tool, its blocks joined by newlines. A retry is told on
// Config.Stderr. The error is that of the memory, which comes before any call of
// the model, of the model or of a limit, or the cause of ctx; a reply without text
// is one too.
func Ask(ctx context.Context, cfg Config, prompt string) (string, error) {
	if cfg.Params.MaxTokens == 0 {
		cfg.Params.MaxTokens = AskMaxTokens
	}
	nobody := &nobody{}
	c := newCore(nobody, cfg)
	nobody.stderr = c.cfg.Stderr
	t, err := newAsked(c)
	if err != nil {
		return "", err
	}
	c.account.open(false)
	t.conversation.say(strings.TrimSpace(prompt))
	asking := &asking{conversation: t.conversation, system: t.system, tools: t.executor.offered}
	_, err = (&turn{tools: t, asking: asking}).run(ctx)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, errDeclined):
		return "", errors.New(nobody.failed())
	case err != nil:
		return "", err
	}
	last := t.conversation.messages[len(t.conversation.messages)-1]
	if text := strings.TrimSpace(model.PlainText(last.Content)); text != "" && text != emptyReply {
		return text, nil
	}
	return "", errors.New("the reply has no text")
}

// CheckMemory reads the memory in dir, and returns an error that names the first
// file which is not there.
func CheckMemory(dir string) error {
	_, err := (&memory{dir: dir}).load()
	return err
}

// newAsked is the strategy tools with those of the memory only.
func newAsked(c *core) (*tools, error) {
	if c.cfg.Model == nil {
		return nil, errors.New("the agent needs a model")
	}
	memory := &memory{dir: c.cfg.MemoryDir, clock: c.cfg.Clock}
	sections, err := memory.load()
	if err != nil {
		return nil, err
	}
	executor, err := newExecutor(memory.tools())
	if err != nil {
		return nil, err
	}
	parts := append([]string{"You are " + c.cfg.Name + ", an agent that answers the user's prompt and keeps a memory."}, sections.parts()...)
	return &tools{
		conversation: newConversation(c), executor: executor, system: []model.Block{model.Text(strings.Join(parts, "\n\n"))},
	}, nil
}

// nobody is a connection without a server at its other end: what is told there is
// lost, but for a retry, which goes to stderr, and why the model declined. It is
// safe for concurrent use.
type nobody struct {
	stderr io.Writer

	mu    sync.Mutex
	error string // of the last agent_error
}

// Write takes in a frame.
func (n *nobody) Write(body []byte) error {
	var told struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Error    string `json:"error"`
		Metadata struct {
			Type string `json:"type"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return fmt.Errorf("a frame that cannot be read: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case told.Type == protocol.TypeAgentError:
		n.error = told.Error
	case told.Type == protocol.TypeAgentEvent && told.Metadata.Type == "retry":
		_, _ = fmt.Fprintln(n.stderr, told.Text) // nothing hangs on it
	}
	return nil
}

// failed is the last agent_error.
func (n *nobody) failed() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.error
}

// Read has nothing to return.
func (n *nobody) Read() ([]byte, error) { return nil, io.EOF }

// Close has nothing to close.
func (n *nobody) Close(protocol.CloseCode, string) error { return nil }
