package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"assay/internal/model"
	"assay/internal/protocol"
)

// tools is the strategy that works with tools: the model is asked, the tools
// that it calls are run, and so on until it submits or calls none.
type tools struct {
	conversation *conversation
	executor     *executor
	system       []model.Block

	submitted *submission // by a call of the round under way
}

// newTools reads the memory, if there is one, and makes the tools.
func newTools(c *core) (strategy, error) {
	t := &tools{conversation: newConversation(c)}
	list := slices.Concat(notebookTools(c.notebook), []tool{submissionTool(t.submit)})
	var sections memorySections
	if c.cfg.MemoryDir != "" {
		memory := &memory{dir: c.cfg.MemoryDir, clock: c.cfg.Clock}
		var err error
		if sections, err = memory.load(); err != nil {
			return nil, err
		}
		list = append(list, memory.tools()...)
	}
	var err error
	t.system = []model.Block{model.Text(systemPrompt(c.cfg.Name, sections))}
	t.executor, err = newExecutor(list)
	return &single{t.conversation, t.answer}, err
}

// answer works on one query.
func (t *tools) answer(ctx context.Context, query protocol.AgentQuery) (string, error) {
	t.conversation.say(queryText(query))
	asking := &asking{conversation: t.conversation, system: t.system, tools: t.executor.offered, rounds: toolRounds()}
	return (&turn{tools: t, asking: asking}).run(ctx)
}

// submission is a valid submit_response.
type submission struct {
	Summary    string `json:"summary"`
	NextStatus string `json:"next_status"`
	Continue   bool   `json:"continue,omitempty"`
}

// endsAs is the status that the submission ends the turn with. It ends nothing,
// "", when the agent wants to go on and waits for nobody.
func (s *submission) endsAs() string {
	switch s.NextStatus {
	case protocol.AgentAwaitingUser, protocol.AgentAwaitingCell, protocol.AgentAwaitingWidget:
		return s.NextStatus
	case protocol.AgentDone:
		return protocol.AgentDone
	}
	if s.Continue {
		return ""
	}
	return protocol.AgentDone
}

// submit takes in a submission.
func (t *tools) submit(s submission) error {
	t.submitted = &s
	return nil
}

// submissionTool hands valid submissions to take.
func submissionTool(take func(submission) error) tool {
	statuses, _ := json.Marshal([]string{ //nolint:errchkjson // strings
		protocol.AgentExecuting, "fixing", protocol.AgentThinking, protocol.AgentAwaitingUser,
		protocol.AgentAwaitingCell, protocol.AgentAwaitingWidget, protocol.AgentDone,
	})
	return tool{
		name: submitTool,
		description: "Hand in the answer, or a question, and end your turn. It is run after all other tools of the same reply. " +
			"next_status says how it goes on: done when the task is finished, awaiting_user_response with a question.",
		schema: object(fmt.Sprintf(`"summary":{"type":"string","description":"What was done and found. The task may ask for a certain form."},
			"next_status":{"type":"string","enum":%s},
			"plan":{"description":"Steps that are done and that are left."},
			"questions":{"description":"What the user has to answer."},
			"continue":{"type":"boolean","description":"With next_status executing, fixing or thinking: go on at once."}`, statuses), "summary", "next_status"),
		run: takes(func(_ context.Context, s submission) ([]model.Block, error) {
			if err := take(s); err != nil {
				return nil, err
			}
			return says("Submitted."), nil
		}),
	}
}
