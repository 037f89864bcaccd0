package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"assay/agent/builtin"
	"assay/agent/builtin/render"
	"assay/internal/model"
	"assay/internal/protocol"
)

// errQueryEnded is the error of a call that was still open when its query ended.
var errQueryEnded = errors.New("the work on the query has ended")

// ExternalAgent is an agent controlled by another program, which calls the tools of the
// notebook one by one. Each call is sent to the server as a tool_use and a tool_result,
// so that readers of the conversation see what they would see of a model of ours. A program
// that reports what its model writes and which other tools it uses adds that to the
// conversation with AddReplyText and RecordCall. It is safe for concurrent use.
type ExternalAgent struct {
	agent     *builtin.Agent
	executor  *toolExecutor
	history   *builtin.Conversation // queries and their submissions; not sent to the server
	cellLocks cellLocks
	work      func(context.Context, ExternalTask) error // set by Run

	disconnected chan struct{} // closed when the connection to the server has ended

	mu        sync.Mutex
	calls     externalCalls
	closedErr error         // why no more calls are accepted; nil while they are
	query     *openQuery    // the query that is being worked on; nil if none
	reply     externalReply // what the program's model has written for it and was not sent as a message yet
}

// ExternalTask is one query as the external program gets it.
type ExternalTask struct {
	Text         string // the query and the files that came with it
	EarlierTasks string // earlier queries and submissions, for a program that does not remember them; "" if none

	IsEvaluation bool // the session is an evaluation

	// Submitted is closed when a submission has ended the task. The program may still do
	// some work then.
	Submitted <-chan struct{}

	// Disconnected is closed when the connection to the server has ended. The program must end soon then.
	Disconnected <-chan struct{}
}

// openQuery is a query that is being worked on.
type openQuery struct {
	requestID  string
	submission *builtin.Submission // the latest valid one that ends the turn; nil if none
	submitted  chan struct{}       // closed with the first such submission
	isMarked   bool                // a submission had the completion marker
}

// NewExternalAgent returns an agent on conn that has not started. Of the configuration it
// uses Limits, Stderr, Log, Clock and NewTxID.
func NewExternalAgent(conn protocol.Conn, cfg builtin.Config) (*ExternalAgent, error) {
	a := &ExternalAgent{calls: newExternalCalls(), disconnected: make(chan struct{}), cellLocks: cellLocks{locked: map[string]chan struct{}{}}}
	var err error
	a.agent, err = builtin.NewAgent(readEndNotifyingConn{conn, a.failAllCalls}, cfg, StrategyName, func(core *builtin.AgentCore) (builtin.Strategy, error) {
		var err error
		a.executor, err = newExecutor(append(notebookTools(core.Notebook), submissionTool(a.acceptSubmission)))
		a.history = builtin.NewConversation(core)
		return builtin.NewSingleConversationStrategy(a.history, a.answerQuery), err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Run runs the agent as [builtin.Agent.Run] does. It calls work for each query, one after
// the other. The query ends when work returns, with the status of its submission, or done
// if there was none. An error of work without a submission ends the query as failed. work
// must return soon after its context ends.
func (a *ExternalAgent) Run(ctx context.Context, work func(context.Context, ExternalTask) error) error {
	a.work = work
	return a.agent.Run(ctx)
}

// Tools returns the tools that can be called: those of a notebook and submit_response.
func (a *ExternalAgent) Tools() []model.Tool { return a.executor.offeredTools }

// ReportError sends text to the server as an error of the external program. The query goes
// on.
func (a *ExternalAgent) ReportError(text string) { a.agent.SendError(text) }

// CallTool runs a tool and returns the content of its result. Input is a JSON object; empty
// means {}. The call ends early, and what it runs in the kernel is stopped, when ctx ends,
// when its query is cancelled, or when the connection to the server ends.
func (a *ExternalAgent) CallTool(ctx context.Context, name string, input json.RawMessage) (content []model.Block, isError bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &externalCall{cancel: cancel, result: make(chan model.Block, 1)}
	if err := a.registerCall(c, name, input); err != nil {
		return textResult("%s was not run: %v.", name, err), true
	}
	a.agent.QueueToolCall(ctx, func(ctx context.Context) { a.runCall(ctx, c) })
	select {
	case result := <-c.result:
		return result.Content, result.IsError
	case <-ctx.Done():
	}
	if a.withdrawCall(c) {
		return textResult("%s was not run: %v.", name, context.Cause(ctx)), true
	}
	result := <-c.result // it has started, and ends soon
	return result.Content, result.IsError
}

// answerQuery gives a query to the external program, waits until the program has finished
// and returns the status of its submission, done if it submitted nothing.
func (a *ExternalAgent) answerQuery(ctx context.Context, query protocol.AgentQuery) (status string, err error) {
	q := &openQuery{requestID: query.RequestID, submitted: make(chan struct{})}
	a.setOpenQuery(q)
	text := builtin.QueryText(query)
	a.sendMessage(builtin.UserMessage(model.Text(text)), q)
	a.agent.SendStatus(protocol.AgentThinking)
	stopCancelling := context.AfterFunc(ctx, func() { a.cancelQueryCalls(q, context.Cause(ctx)) })
	err = a.work(ctx, ExternalTask{
		Text: text, EarlierTasks: a.earlierTasksText(), IsEvaluation: a.history.EvalMode, Submitted: q.submitted, Disconnected: a.disconnected,
	})
	stopCancelling()
	if ctx.Err() != nil || a.submissionForQuery(q) == nil {
		a.endCalls(q, context.Cause(ctx))
	}
	a.sendReply()
	a.setOpenQuery(nil)
	submission := a.submissionForQuery(q)
	a.addToHistory(text, submission)
	if submission != nil {
		return submission.EndStatus(), nil
	}
	return protocol.AgentDone, err
}

// setOpenQuery sets the query that the external program works on; nil means none.
func (a *ExternalAgent) setOpenQuery(q *openQuery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.query, a.calls.unclaimed = q, nil
}

// submissionForQuery returns the latest valid submission for a query, or nil.
func (a *ExternalAgent) submissionForQuery(q *openQuery) *builtin.Submission {
	a.mu.Lock()
	defer a.mu.Unlock()
	return q.submission
}

// addToHistory adds a query and its submission to the history, which agent_clear_history
// empties.
func (a *ExternalAgent) addToHistory(text string, submission *builtin.Submission) {
	answer := "(Nothing.)"
	if submission != nil {
		answer = submission.Summary
	}
	a.history.AddUnsentMessages(builtin.UserMessage(model.Text(text)), builtin.AssistantMessage(model.Text(answer)))
}

// earlierTasksText returns the history as a text that can stand before a query.
func (a *ExternalAgent) earlierTasksText() string {
	if len(a.history.Messages()) == 0 {
		return ""
	}
	var text strings.Builder
	for _, m := range a.history.Messages() {
		head := "You were asked:"
		if m.Role == model.RoleAssistant {
			head = "You handed in:"
		}
		text.WriteString(head + "\n\n" + model.JoinTextBlocks(m.Content) + "\n\n")
	}
	return render.Clip(text.String(), render.MaxTextBytes) + "Now you are asked:\n\n"
}

// endCalls cancels the calls that were made for a query and waits for their end. A nil cause means
// that the query has ended normally.
func (a *ExternalAgent) endCalls(q *openQuery, cause error) {
	if cause == nil {
		cause = errQueryEnded
	}
	for {
		left, changed := a.cancelQueryCalls(q, cause)
		if !left {
			return
		}
		<-changed
	}
}

// cancelQueryCalls cancels the calls that were made for a query. It reports whether there are any, and
// returns a channel that is closed when a call has ended.
func (a *ExternalAgent) cancelQueryCalls(q *openQuery, cause error) (left bool, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.calls.unfinished {
		if c.query == q {
			left = true
			c.cancel(cause)
		}
	}
	return left, a.calls.changed
}

// failAllCalls cancels all calls and makes later ones fail: the connection to the server has
// ended.
func (a *ExternalAgent) failAllCalls() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closedErr == nil {
		a.closedErr = builtin.ErrConnectionEnded
		close(a.disconnected)
	}
	for c := range a.calls.unfinished {
		c.cancel(builtin.ErrConnectionEnded)
	}
}

// acceptSubmission sets the submission of the open query, or returns an error if no query is
// open. It is called with mu locked.
func (a *ExternalAgent) acceptSubmission(s builtin.Submission) error {
	q := a.query
	if q == nil {
		return errors.New("nothing was asked, so there is nothing to hand in")
	}
	if a.history.EvalMode {
		if q.isMarked {
			return errSubmittedBefore
		}
		if s.NextStatus == protocol.AgentDone && !s.IsMarked() {
			return errors.New("nothing was submitted, because the summary does not end with " + builtin.CompleteMarker + "; call submit_response again with it")
		}
		q.isMarked = s.IsMarked()
	}
	if s.EndStatus() == "" {
		return nil
	}
	if q.submission == nil {
		close(q.submitted)
	}
	q.submission = &s
	return nil
}

// sendMessage sends a message to the server. It belongs to q, or to no query if q is nil.
func (a *ExternalAgent) sendMessage(m model.Message, q *openQuery) {
	requestID := ""
	if q != nil {
		requestID = q.requestID
	}
	a.agent.SendMessage(requestID, m, nil)
}

// readEndNotifyingConn calls onReadEnd when its connection can no longer be read.
type readEndNotifyingConn struct {
	protocol.Conn
	onReadEnd func()
}

// Read reads the next frame of the connection.
func (c readEndNotifyingConn) Read() ([]byte, error) {
	body, err := c.Conn.Read()
	if err != nil {
		c.onReadEnd()
	}
	return body, err
}
