package builtin

import (
	"context"

	"assay/internal/protocol"
)

// Strategy decides how an agent works on queries: which calls of the model and which
// notebook actions it makes.
type Strategy interface {
	// Dispatch returns the task for a query. It is called with each query in the
	// order of arrival, on the goroutine that reads the connection, and must not
	// block. evalMode is the one of the latest init that has arrived;
	// AgentCore.EvalMode is the one of the query that is being worked on.
	Dispatch(query protocol.AgentQuery, evalMode bool) Task

	// Conversations lists all conversations. It is called while no task runs.
	Conversations() []*Conversation

	// ClearHistory forgets everything that was said. It is called while no task runs.
	ClearHistory()
}

// Task is the work that a strategy does on one query. Tasks of one conversation run one
// after the other, those of several conversations concurrently.
type Task struct {
	Conversation *Conversation

	// Run works on the query and returns the status that ends the agent's turn, such
	// as done or awaiting_user_response. Its error is a [LimitError], a
	// [DeclinedError], the cause of ctx, or an error of the model.
	Run func(ctx context.Context) (status string, err error)
}

// singleConversationStrategy is a [Strategy] that puts all queries into one conversation and answers
// them with a function.
type singleConversationStrategy struct {
	conversation *Conversation
	answer       func(ctx context.Context, query protocol.AgentQuery) (status string, err error)
}

// NewSingleConversationStrategy returns a strategy that puts all queries into one conversation and
// calls answer for each of them; [Task] says what answer returns.
func NewSingleConversationStrategy(conversation *Conversation, answer func(ctx context.Context, query protocol.AgentQuery) (status string, err error)) Strategy {
	return &singleConversationStrategy{conversation, answer}
}

// Dispatch returns the task that answers query in the strategy's only conversation.
func (s *singleConversationStrategy) Dispatch(query protocol.AgentQuery, _ bool) Task {
	return Task{s.conversation, func(ctx context.Context) (string, error) { return s.answer(ctx, query) }}
}

// Conversations returns a list with the strategy's only conversation.
func (s *singleConversationStrategy) Conversations() []*Conversation {
	return []*Conversation{s.conversation}
}

// ClearHistory removes all messages from the strategy's only conversation.
func (s *singleConversationStrategy) ClearHistory() { s.conversation.Clear() }
