package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

// AskMaxTokens is the longest reply of [Ask], in tokens, unless the configuration's Params
// say otherwise.
const AskMaxTokens = 4096

// Ask answers one prompt with the memory in cfg.MemoryDir, which is required. There is no
// server and no notebook: the only tools are those of the memory. It returns the text of
// the final reply, its blocks joined by newlines. Retries are reported on Stderr. The error
// is one of the memory (before any call of the model), of the model or of a limit, the cause
// of ctx, or says that the reply has no text.
func Ask(ctx context.Context, cfg Config, prompt string) (string, error) {
	if cfg.Agent.Params.MaxTokens == 0 {
		cfg.Agent.Params.MaxTokens = AskMaxTokens
	}
	conn := &retryPrintingConn{}
	core := builtin.NewAgentCore(conn, cfg.Agent)
	conn.stderr = core.Config.Stderr
	s, err := newMemoryStrategy(core, cfg.MemoryDir)
	if err != nil {
		return "", err
	}
	s.conversation.AddUserText(strings.TrimSpace(prompt))
	modelCall := &builtin.ModelCall{Conversation: s.conversation, System: s.system, Tools: s.executor.offeredTools}
	_, err = (&queryAnswerer{strategy: s, modelCall: modelCall}).run(ctx)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	}
	messages := s.conversation.Messages()
	if text := strings.TrimSpace(model.JoinTextBlocks(messages[len(messages)-1].Content)); text != "" && text != builtin.EmptyReplyText {
		return text, nil
	}
	return "", errors.New("the reply has no text")
}

// CheckMemoryFiles returns an error that names the first memory file that is missing in dir or
// cannot be read.
func CheckMemoryFiles(dir string) error {
	_, err := (&memoryFolder{dir: dir}).loadSections()
	return err
}

// newMemoryStrategy returns the strategy with the tools of the memory only.
func newMemoryStrategy(core *builtin.AgentCore, memoryDir string) (*strategy, error) {
	if core.Config.Model == nil {
		return nil, builtin.ErrNoModel
	}
	memory := &memoryFolder{dir: memoryDir, clock: core.Config.Clock}
	sections, err := memory.loadSections()
	if err != nil {
		return nil, err
	}
	executor, err := newExecutor(memory.memoryTools())
	if err != nil {
		return nil, err
	}
	parts := append([]string{"You are " + core.Config.Name + ", an agent that answers the user's prompt and keeps a memory."}, sections.promptParts()...)
	return &strategy{
		conversation: builtin.NewConversation(core), executor: executor, system: []model.Block{model.Text(strings.Join(parts, "\n\n"))},
	}, nil
}

// retryPrintingConn is the connection of an agent without a server. It prints retry events on
// stderr and discards all other frames.
type retryPrintingConn struct{ stderr io.Writer }

// Write handles one frame.
func (p *retryPrintingConn) Write(body []byte) error {
	var frame struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Metadata struct {
			Type string `json:"type"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &frame); err != nil {
		return fmt.Errorf("a frame that cannot be read: %w", err)
	}
	if frame.Type == protocol.TypeAgentEvent && frame.Metadata.Type == "retry" {
		_, _ = fmt.Fprintln(p.stderr, frame.Text) // only informs: an error changes nothing
	}
	return nil
}

// Read returns io.EOF: there is nothing to read.
func (p *retryPrintingConn) Read() ([]byte, error) { return nil, io.EOF }

// Close does nothing.
func (p *retryPrintingConn) Close(protocol.CloseCode, string) error { return nil }
