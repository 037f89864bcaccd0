// Package blocks is the strategy of an agent whose model writes code: the fenced code
// blocks of a reply are run in the kernel, their outputs are the next message, and so on
// until a reply has no code. Each label has its own conversation; several labels can
// be at work at once and share the kernel.
package blocks

import (
	"context"
	_ "embed" // for the rules of working in code blocks
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"text/template"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

// StrategyName is the name by which configurations and init messages select the code block
// strategy.
const StrategyName = "blocks"

// defaultMaxRounds is how many rounds of running code and returning its output a query may
// have if Config.MaxRounds is 0.
const defaultMaxRounds = 5

// completeMarkerReminder is the message that reminds a model, once per query of an evaluation, that
// its final reply lacks builtin.CompleteMarker.
const completeMarkerReminder = "Nothing has been submitted yet: your reply does not contain " + builtin.CompleteMarker + ". " +
	"If your work is finished, say your whole answer again with the marker, as the task asks for it; otherwise go on with code blocks."

//go:embed rules.md
var rulesMarkdown string

// Config configures an agent whose model writes fenced code blocks.
type Config struct {
	Agent     builtin.Config
	MaxRounds int // how often per query code is run and its output returned; 0 means 5
}

// Run runs an agent whose model writes fenced code blocks, until conn or ctx ends; see
// [builtin.Run].
func Run(ctx context.Context, conn protocol.Conn, cfg Config) error {
	if cfg.MaxRounds == 0 {
		cfg.MaxRounds = defaultMaxRounds
	}
	return builtin.Run(ctx, conn, cfg.Agent, StrategyName, func(core *builtin.AgentCore) (builtin.Strategy, error) {
		return &strategy{core: core, maxRounds: cfg.MaxRounds, labels: newLabelledConversations(core)}, nil
	})
}

// strategy is the builtin.Strategy of an agent whose model writes fenced code blocks.
type strategy struct {
	core          *builtin.AgentCore
	maxRounds     int
	labels        *labelledConversations
	crossLabelLog crossLabelLog
	mentionsAI    atomic.Bool // a code block has had the name ai
}

// Conversations returns the conversations of all labels; see [builtin.Strategy].
func (s *strategy) Conversations() []*builtin.Conversation { return s.labels.allConversations() }

// ClearHistory removes all messages from the conversations of all labels, and all entries of
// the log that labels share.
func (s *strategy) ClearHistory() {
	for _, c := range s.labels.allConversations() {
		c.Clear()
	}
	s.crossLabelLog.clear()
}

// Dispatch returns the task for a query and assigns it to a label's conversation. Outside of
// an evaluation a query "@label text" switches to that label.
func (s *strategy) Dispatch(query protocol.AgentQuery, evalMode bool) builtin.Task {
	conversation, text := s.labels.conversationFor(query.Query, !evalMode)
	query.Query = text
	return builtin.Task{Conversation: conversation, Run: func(ctx context.Context) (string, error) {
		return s.newAnswerer(conversation, query.Query).run(ctx, builtin.QueryText(query))
	}}
}

// newAnswerer returns a queryAnswerer that answers text in a conversation.
func (s *strategy) newAnswerer(c *builtin.Conversation, text string) *queryAnswerer {
	return &queryAnswerer{
		ModelCall: &builtin.ModelCall{Conversation: c, Compaction: codeCompaction(s.core.Language)},
		strategy:  s, crossLabelLog: &s.crossLabelLog, taskName: taskName(c.Label, text),
	}
}

// systemPrompt returns the system prompt: the agent's name, and the rules by which its code
// blocks are run.
func (t *queryAnswerer) systemPrompt() string {
	tags := languageTags(t.Language)
	for i, tag := range tags {
		tags[i] = "`" + tag + "`"
	}
	var text strings.Builder
	err := template.Must(template.New("rules").Parse(rulesMarkdown)).Execute(&text, map[string]any{
		"Language": t.Language, "Tags": strings.Join(tags, ", "), "Rounds": t.strategy.maxRounds,
		"HasAI": t.Language == "python" && !t.askedByCode, "AskedByCode": t.askedByCode,
	})
	if err != nil {
		panic(err) // the template has no action that can fail
	}
	return builtin.SystemPromptIntro(t.Config.Name) + "\n\n" + strings.TrimSpace(text.String())
}

// queryAnswerer answers one query, or one prompt that code gave to ai(): it calls the model,
// runs the code blocks of its replies and returns their outputs to the model.
type queryAnswerer struct {
	*builtin.ModelCall
	strategy      *strategy
	crossLabelLog *crossLabelLog
	taskName      string // shown to users
	askedByCode   bool   // ai() returns the final reply, which is not submitted
	reminded      bool
	finalReply    *model.Response // nil before the end, and if code ended the work
}

// run answers a query: it calls the model and runs the code blocks of each reply until a
// reply has none, or until a block ends the turn. It returns the agent's status at the end.
// It fails with a builtin.LimitError after maxRounds rounds, with the cause of ctx, or with
// the error of a model call.
func (t *queryAnswerer) run(ctx context.Context, prompt string) (status string, err error) {
	t.System = []model.Block{model.Text(t.systemPrompt())}
	t.addFirstMessage(ctx, prompt)
	for round := 0; ; round++ {
		reply, code, err := t.nextReply(ctx)
		if err != nil {
			return "", err
		}
		if len(code) == 0 {
			return protocol.AgentDone, t.addFinalReply(reply)
		}
		t.AddReply(reply)
		if round >= t.strategy.maxRounds {
			return "", &builtin.LimitError{Limit: "max_eval_iters", Configured: t.strategy.maxRounds, Measured: round}
		}
		feedback, ended := t.runBlocks(ctx, code)
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case ended:
			return protocol.AgentDone, nil
		}
		t.AddUserText(feedback)
		t.crossLabelLog.add(t.Label, speakerOutput, feedback)
	}
}

// addFirstMessage adds the first user message of a query to the conversation: the log of the
// other labels, the variables that are defined in the kernel, and the prompt.
func (t *queryAnswerer) addFirstMessage(ctx context.Context, prompt string) {
	sections := []string{t.crossLabelLog.sectionFor(t.Label), namespaceSection(ctx, t.Notebook), prompt}
	t.AddUserText(strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n\n"))
	t.crossLabelLog.add(t.Label, speakerUser, prompt)
}

// nextReply returns the model's next reply and the code blocks in it, nil if the reply is
// final. In an evaluation, if a final reply lacks the completion marker, nextReply reminds
// the model once per query and calls it again. Its error is that of the model call.
func (t *queryAnswerer) nextReply(ctx context.Context) (*model.Response, []string, error) {
	for {
		reply, err := t.Reply(ctx)
		if err != nil {
			return nil, nil, err
		}
		// There are no tools. A call that the model makes up must not pass for a submission.
		reply.Content = builtin.WithoutBlockType(model.BlockToolUse, reply.Content)
		text := model.ReplyText(reply.Content)
		t.sendBlockEvent("response", text, 0)
		t.crossLabelLog.add(t.Label, speakerAssistant, text)
		code := runnableCode(text, t.Language)
		if len(code) > 0 || !t.EvalMode || t.askedByCode || t.reminded || strings.Contains(text, builtin.CompleteMarker) {
			return reply, code, nil
		}
		t.reminded = true
		t.AddReply(reply)
		t.AddUserText(completeMarkerReminder)
	}
}

// addFinalReply adds the final reply to the conversation; in an evaluation it submits the
// reply as the answer instead, unless it is the value of ai().
func (t *queryAnswerer) addFinalReply(reply *model.Response) error {
	t.finalReply = reply
	if !t.EvalMode || t.askedByCode {
		t.AddReply(reply)
		return nil
	}
	return t.Submit(builtin.ReplyText(reply), &reply.Usage, builtin.WithoutBlockType(model.BlockText, reply.Content)...)
}

// sendBlockEvent sends an agent_event of the given type. The text is a reply of the model if
// block is 0, otherwise the code or the output of block number block, counted from 1.
func (t *queryAnswerer) sendBlockEvent(eventType, text string, block int) {
	event := protocol.AgentEvent{Text: text, Metadata: map[string]any{"type": eventType, "task": t.taskName}}
	if block > 0 {
		event.Channel, event.Mode, event.Metadata["block"] = "py", "PY", block
	}
	t.SendEvent(event)
}

// codeCompaction returns the Compaction that drops each reply with code together with the
// message that has its outputs.
func codeCompaction(language string) builtin.Compaction {
	heading := fmt.Sprintf(outputHeading, 1)
	return builtin.Compaction{
		Note: "[Earlier code blocks and their outputs were dropped here to make room. What they defined is still in the kernel.]",
		IsRound: func(act, outcome model.Message) bool {
			return act.Role == model.RoleAssistant && len(runnableCode(model.ReplyText(act.Content), language)) > 0 &&
				outcome.Role == model.RoleUser && strings.HasPrefix(model.JoinTextBlocks(outcome.Content), heading)
		},
	}
}
