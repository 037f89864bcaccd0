// Package tools is the strategy of an agent whose model calls tools: it calls the model,
// runs the tools that the reply calls, returns their results to the model, and so on
// until the model submits or calls none.
//
// It also defines the tools themselves: those of a notebook, submit_response and those of
// a memory. [ExternalAgent] lets another program call them instead of a model of ours;
// [Ask] answers a single prompt with the tools of the memory, without a notebook.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

// StrategyName is the name by which configurations and init messages select the tool
// strategy.
const StrategyName = "tools"

// Config configures an agent whose model calls tools.
type Config struct {
	Agent     builtin.Config
	MemoryDir string // folder with the five memory files; "" means no memory
}

// Run runs an agent whose model calls tools, until conn or ctx ends; see [builtin.Run]. It
// returns an error before the first frame if a memory file cannot be read.
func Run(ctx context.Context, conn protocol.Conn, cfg Config) error {
	return builtin.Run(ctx, conn, cfg.Agent, StrategyName, func(core *builtin.AgentCore) (builtin.Strategy, error) {
		return newStrategy(core, cfg.MemoryDir)
	})
}

// strategy is the builtin.Strategy of an agent with tools.
type strategy struct {
	conversation *builtin.Conversation
	executor     *toolExecutor
	system       []model.Block

	submitted *builtin.Submission // by a call of the current round; nil if there was none
	isMarked  bool                // the current query has a submission with the completion marker
}

func newStrategy(core *builtin.AgentCore, memoryDir string) (builtin.Strategy, error) {
	s := &strategy{conversation: builtin.NewConversation(core)}
	list := slices.Concat(notebookTools(core.Notebook), []tool{submissionTool(s.recordSubmission)})
	var sections memorySections
	if memoryDir != "" {
		memory := &memoryFolder{dir: memoryDir, clock: core.Config.Clock}
		var err error
		if sections, err = memory.loadSections(); err != nil {
			return nil, err
		}
		list = append(list, memory.memoryTools()...)
	}
	var err error
	s.system = []model.Block{model.Text(systemPrompt(core.Config.Name, sections))}
	s.executor, err = newExecutor(list)
	return builtin.NewSingleConversationStrategy(s.conversation, s.answer), err
}

// answer works on one query: it calls the model and runs the tools that its replies call,
// until the turn ends. It returns the agent's status at the end.
func (s *strategy) answer(ctx context.Context, query protocol.AgentQuery) (status string, err error) {
	s.isMarked = false
	s.conversation.AddUserText(builtin.QueryText(query))
	modelCall := &builtin.ModelCall{Conversation: s.conversation, System: s.system, Tools: s.executor.offeredTools, Compaction: toolCompaction()}
	return (&queryAnswerer{strategy: s, modelCall: modelCall}).run(ctx)
}

// errSubmittedBefore is the result of a submission after the one that counts.
var errSubmittedBefore = errors.New("nothing was submitted: only the first submission with " + builtin.CompleteMarker + " counts, and there is one already")

// recordSubmission stores a valid submission of the current round. In an evaluation it fails after a
// submission with the completion marker.
func (s *strategy) recordSubmission(submission builtin.Submission) error {
	if s.conversation.EvalMode {
		if s.isMarked {
			return errSubmittedBefore
		}
		s.isMarked = submission.IsMarked()
	}
	s.submitted = &submission
	return nil
}

// submissionTool returns the tool submit_response. It passes valid submissions to accept,
// whose error is the result of the call.
func submissionTool(accept func(builtin.Submission) error) tool {
	statuses, _ := json.Marshal([]string{ //nolint:errchkjson // strings
		protocol.AgentExecuting, "fixing", protocol.AgentThinking, protocol.AgentAwaitingUser,
		protocol.AgentAwaitingCell, protocol.AgentAwaitingWidget, protocol.AgentDone,
	})
	return tool{
		name: builtin.SubmitTool,
		description: "Hand in the answer, or a question, and end your turn. It is run after all other tools of the same reply. " +
			"next_status says how it goes on: done when the task is finished, awaiting_user_response with a question.",
		schema: objectSchema(fmt.Sprintf(`"summary":{"type":"string","description":"What was done and found. The task may ask for a certain form."},
			"next_status":{"type":"string","enum":%s},
			"plan":{"description":"Steps that are done and that are left."},
			"questions":{"description":"What the user has to answer."},
			"continue":{"type":"boolean","description":"With next_status executing, fixing or thinking: go on at once."}`, statuses), "summary", "next_status"),
		run: withDecodedInput(func(_ context.Context, submission builtin.Submission) ([]model.Block, error) {
			if err := accept(submission); err != nil {
				return nil, err
			}
			return textResult("Submitted."), nil
		}),
	}
}
