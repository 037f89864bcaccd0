package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"assay/internal/model"
	"assay/internal/protocol"
)

// errQueryOver is why a call fails whose query ended without waiting for it.
var errQueryOver = errors.New("the work on the query has ended")

// ExternalAgent are an agent whose mind is elsewhere: another program decides, and calls
// the tools of a notebook one by one. Each call is told to the server as what a
// model of our own would have said, a tool_use and its tool_result, so that
// whoever reads the conversation finds nothing new. Hands are safe for
// concurrent use.
type ExternalAgent struct {
	agent    *agent
	executor *executor
	asked    *conversation // queries and what was handed in; nobody is told by it
	cells    cellLocks
	work     func(context.Context, Task) error // of Run

	mu      sync.Mutex
	calls   map[*call]bool
	over    error         // why no call is taken any more; nil: they are
	made    int           // calls, for their ids
	query   *openQuery    // nil: none is worked on
	working int           // calls that were begun, but for submissions
	changed chan struct{} // closed, and made anew, when calls, or working, become fewer
}

// Task is the work on one query.
type Task struct {
	Text   string // what is asked for, and the files that came with it
	Before string // what was asked and handed in before, for who does not know it; "" is nothing

	// Submitted is closed when submit_response has ended the work. Whoever
	// works may still say goodbye.
	Submitted <-chan struct{}
}

// openQuery is a query that is worked on.
type openQuery struct {
	requestID  string
	submission *submission // the last valid one that ends the turn
	submitted  chan struct{}
}

// NewExternalAgent returns hands that speak on conn once they Run, and close it then. Of
// the configuration only Limits, Stderr, Log, Clock and NewID count.
func NewExternalAgent(conn protocol.Conn, cfg Config) (*ExternalAgent, error) {
	h := &ExternalAgent{calls: map[*call]bool{}, changed: make(chan struct{}), cells: cellLocks{taken: map[string]chan struct{}{}}}
	var err error
	h.agent, err = newAgent(heard{conn, h.end}, cfg, func(c *core) (strategy, error) {
		list := append(notebookTools(c.notebook), submissionTool(h.submit))
		var err error
		h.executor, err = newExecutor(list)
		h.asked = newConversation(c)
		return &single{h.asked, h.answer}, err
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Run speaks with the server as the package's Run does. It calls work for each
// query, one after the other: the query is over when work returns, and has the
// status of its submission, done if there was none. An error of work, without a
// submission, ends the query as failed; work must return soon after its context
// ends.
func (h *ExternalAgent) Run(ctx context.Context, work func(context.Context, Task) error) error {
	h.work = work
	return h.agent.run(ctx)
}

// Tools are what can be called: the tools of a notebook and submit_response.
func (h *ExternalAgent) Tools() []model.Tool { return h.executor.offered }

// Complain reports an error of whoever works, which ends nothing.
func (h *ExternalAgent) Complain(text string) { h.agent.wire.fail(text, false) }

// Rules are how one works in a notebook, for whoever is to do it.
func Rules() string { return strings.TrimSpace(notebookRules) }

// answer works on one query.
func (h *ExternalAgent) answer(ctx context.Context, query protocol.AgentQuery) (string, error) {
	q := &openQuery{requestID: query.RequestID, submitted: make(chan struct{})}
	h.open(q)
	text := queryText(query)
	h.say(userMessage(model.Text(text)), q)
	h.agent.wire.status(protocol.AgentThinking)
	err := h.work(ctx, Task{Text: text, Before: h.before(), Submitted: q.submitted})
	if ctx.Err() != nil || h.submission(q) == nil {
		h.settle(q, context.Cause(ctx))
	}
	h.open(nil)
	submission := h.submission(q)
	h.remember(text, submission)
	if submission != nil {
		return submission.endsAs(), nil
	}
	return protocol.AgentDone, err
}

// open makes a query the one that is worked on, nil: none.
func (h *ExternalAgent) open(q *openQuery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.query = q
}

func (h *ExternalAgent) submission(q *openQuery) *submission {
	h.mu.Lock()
	defer h.mu.Unlock()
	return q.submission
}

// remember keeps what was asked and handed in, which nobody else does; clearing
// the conversation forgets it.
func (h *ExternalAgent) remember(text string, submission *submission) {
	answer := "(Nothing.)"
	if submission != nil {
		answer = submission.Summary
	}
	h.asked.messages = append(h.asked.messages, userMessage(model.Text(text)), assistantMessage(model.Text(answer)))
}

// before writes down what was remembered.
func (h *ExternalAgent) before() string {
	if len(h.asked.messages) == 0 {
		return ""
	}
	var text strings.Builder
	for _, m := range h.asked.messages {
		head := "You were asked:"
		if m.Role == model.RoleAssistant {
			head = "You handed in:"
		}
		text.WriteString(head + "\n\n" + model.PlainText(m.Content) + "\n\n")
	}
	return clip(text.String(), maxOutput) + "Now you are asked:\n\n"
}

// settle fails the calls that were made for a query, and waits for their end.
func (h *ExternalAgent) settle(q *openQuery, cause error) {
	if cause == nil {
		cause = errQueryOver
	}
	for {
		h.mu.Lock()
		left := false
		for c := range h.calls {
			if c.query == q {
				left = true
				c.cancel(cause)
			}
		}
		changed := h.changed
		h.mu.Unlock()
		if !left {
			return
		}
		<-changed
	}
}

// end fails all calls, those to come too: there is no server any more.
func (h *ExternalAgent) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = errEnded
	for c := range h.calls {
		c.cancel(errEnded)
	}
}

// submit takes in a valid submission. The lock is held.
func (h *ExternalAgent) submit(s submission) error {
	q := h.query
	if q == nil {
		return errors.New("nothing was asked, so there is nothing to hand in")
	}
	if s.endsAs() == "" {
		return nil
	}
	if q.submission == nil {
		close(q.submitted)
	}
	q.submission = &s
	return nil
}

// say tells the server of a message, which belongs to a query unless q is nil.
func (h *ExternalAgent) say(m model.Message, q *openQuery) {
	voice := newConversation(h.agent.core)
	if q != nil {
		voice.requestID = q.requestID
	}
	voice.announce(m, nil)
}

// Call has a tool run and returns what came of it, which is an error if that is
// true. Input is JSON; none is an empty object. The call ends early, and what it
// runs in the kernel is stopped, when ctx ends, its query is cancelled, or the
// server is gone.
func (h *ExternalAgent) Call(ctx context.Context, name string, input json.RawMessage) (content []model.Block, isError bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &call{cancel: cancel, result: make(chan model.Block, 1)}
	if err := h.enter(c, name, input); err != nil {
		return says("%s was not run: %v.", name, err), true
	}
	h.agent.inbox.call(ctx, func(ctx context.Context) { h.carryOut(ctx, c) })
	select {
	case result := <-c.result:
		return result.Content, result.IsError
	case <-ctx.Done():
	}
	if h.withdraw(c) {
		return says("%s was not run: %v.", name, context.Cause(ctx)), true
	}
	result := <-c.result // it ends soon
	return result.Content, result.IsError
}

// heard tells when its connection cannot be read any more.
type heard struct {
	protocol.Conn
	ended func()
}

// Read reads the next frame.
func (c heard) Read() ([]byte, error) {
	body, err := c.Conn.Read()
	if err != nil {
		c.ended()
	}
	return body, err
}
