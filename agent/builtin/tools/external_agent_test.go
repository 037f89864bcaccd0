package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/internal/model"
	"assay/internal/protocol"
)

// externalHarness is an external agent with a fake server; the test is its program. The test
// receives each task from tasks and ends it by sending its error to results, or by a submission.
type externalHarness struct {
	*agenttest.Server
	agent     *tools.ExternalAgent
	tasks     chan tools.ExternalTask
	results   chan error
	taskCount atomic.Int64 // tasks that the program got
}

// startExternalAgent runs an external agent and initialises it.
func startExternalAgent(t *testing.T) *externalHarness {
	t.Helper()
	h := &externalHarness{tasks: make(chan tools.ExternalTask), results: make(chan error)}
	created := make(chan *tools.ExternalAgent, 1)
	h.Server = agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error {
		agent, err := tools.NewExternalAgent(conn, builtin.Config{})
		if err != nil {
			return err
		}
		created <- agent
		return agent.Run(ctx, h.runProgram)
	})
	h.agent = <-created
	h.InitAndAwaitReady(nil)
	return h
}

// runProgram is the program: it hands the task to the test and waits for its end.
func (h *externalHarness) runProgram(ctx context.Context, task tools.ExternalTask) error {
	h.taskCount.Add(1)
	select {
	case h.tasks <- task:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-h.results:
		return err
	case <-task.Submitted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// callTool calls a tool and returns the text of its result.
func (h *externalHarness) callTool(name, input string) (string, bool) {
	content, isError := h.agent.CallTool(context.Background(), name, json.RawMessage(input))
	return model.JoinTextBlocks(content), isError
}

// startToolCall calls a tool without waiting. The channel gets "IS_ERROR TEXT".
func (h *externalHarness) startToolCall(ctx context.Context, name, input string) <-chan string {
	done := make(chan string, 1)
	go func() {
		content, isError := h.agent.CallTool(ctx, name, json.RawMessage(input))
		done <- fmt.Sprint(isError, " ", model.JoinTextBlocks(content))
	}()
	return done
}

// namesSameCell reports whether two parameters name the same cell.
func namesSameCell(a, b frame) bool { return a.StringField("cell_id") == b.StringField("cell_id") }

// isActionNamed returns a condition for frames: an action of that name.
func isActionNamed(action string) func(frame) bool {
	return func(f frame) bool { return f.StringField("action") == action }
}

// validSubmission is the input of a submission that ends the turn.
const validSubmission = `{"summary":"<EVAL_ANSWER>1</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}`

func TestTL5_ExternalCallsAreSent(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	from := len(h.Frames())
	h.SendQuery("count")
	task := <-h.tasks
	require.Equal(t, "count", task.Text)
	require.Empty(t, task.EarlierTasks)
	text, isError := h.callTool("create_cell", `{"position":0,"source":"print 45","auto_run":true}`)
	require.False(t, isError)
	require.Contains(t, text, "45")
	text, isError = h.callTool("create_cell", `{"position":"x"}`)
	require.True(t, isError)
	require.Contains(t, text, "Bad input for create_cell")
	text, isError = h.callTool("frobnicate", ``)
	require.True(t, isError)
	require.Equal(t, "Unknown tool: frobnicate", text)
	text, isError = h.callTool("submit_response", validSubmission)
	require.False(t, isError)
	require.Equal(t, "Submitted.", text)
	require.Equal(t, "done", h.AwaitQueryEnd(from))

	history := h.Transcript()
	require.Len(t, history, 9, "the task, and two for each call")
	require.Equal(t, "count", model.JoinTextBlocks(history[0].Content))
	for i, name := range []string{"create_cell", "create_cell", "frobnicate", "submit_response"} {
		use, result := history[2*i+1], history[2*i+2]
		require.Equal(t, model.RoleAssistant, use.Role)
		require.Equal(t, name, use.Content[0].Name)
		require.Equal(t, use.Content[0].ID, result.Content[0].ToolUseID)
	}
	for _, f := range h.FramesOfType("agent_history_updated") {
		require.Equal(t, "q1", f.StringField("request_id"))
	}
	require.Positive(t, h.CountFramesWithField("status", "executing"))
}

// A submission that is refused is not sent to the server.
func TestTL6_InvalidExternalSubmissionIsNotSent(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	text, isError := h.callTool("submit_response", validSubmission)
	require.True(t, isError)
	require.Equal(t, "nothing was asked, so there is nothing to hand in", text)
	from := len(h.Frames())
	h.SendQuery("count")
	<-h.tasks
	_, isError = h.callTool("submit_response", `{"summary":"[EVAL_COMPLETE]","next_status":"finished"}`)
	require.True(t, isError)
	_, isError = h.callTool("submit_response", `{"summary":"more to come","next_status":"executing","continue":true}`)
	require.False(t, isError)
	h.results <- nil
	require.Equal(t, "done", h.AwaitQueryEnd(from))
	require.Len(t, h.ToolResults(), 1, "only the valid one is sent")
	require.Len(t, h.FramesOfType("agent_error"), 2)
}

// In an evaluation, the answer must have the marker, and only the first one with it counts.
func TestTL6_ExternalSubmissionNeedsMarker(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	h.InitAndAwaitReady(frame{"eval_mode": true})
	h.SendQuery("count")
	task := <-h.tasks
	require.True(t, task.IsEvaluation)
	text, isError := h.callTool("submit_response", `{"summary":"<EVAL_ANSWER>1</EVAL_ANSWER>","next_status":"done"}`)
	require.True(t, isError)
	require.Equal(t, "nothing was submitted, because the summary does not end with [EVAL_COMPLETE]; call submit_response again with it", text)
	text, isError = h.callTool("submit_response", `{"summary":"[EVAL_COMPLETE]","next_status":"executing","continue":true}`)
	require.False(t, isError, text)
	text, isError = h.callTool("submit_response", validSubmission)
	require.True(t, isError)
	require.Equal(t, "nothing was submitted: only the first submission with [EVAL_COMPLETE] counts, and there is one already", text)
}

// A submission waits until no other call is active. A call that stops a cell does not wait.
func TestTL6_ExternalSubmissionComesLast(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	from := len(h.Frames())
	h.SendQuery("count")
	<-h.tasks
	running := h.startToolCall(t.Context(), "create_cell", `{"position":0,"source":"hang","auto_run":true}`)
	h.AwaitFrame(from, "the cell", isActionNamed("create_cell"))
	submitting := h.startToolCall(t.Context(), "submit_response", validSubmission)
	text, _ := h.callTool("stop_cell", `{"cell_id":"c1"}`)
	require.Contains(t, text, "asked to stop")
	require.Contains(t, <-running, "false cell_id: c1\nstatus: interrupted")
	require.Equal(t, "false Submitted.", <-submitting)
	require.Equal(t, "done", h.AwaitQueryEnd(from))
	last := h.Transcript()[len(h.Transcript())-2]
	require.Equal(t, "submit_response", last.Content[0].Name)
}

// A submission counts only for the query that was open when it was made.
func TestTL6_LateExternalSubmissionIsRefused(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	from := len(h.Frames())
	h.SendQuery("count")
	<-h.tasks
	late, err := h.agent.RegisterCall("submit_response", []byte(validSubmission))
	require.NoError(t, err)
	_, isError := h.callTool("submit_response", validSubmission)
	require.False(t, isError)
	require.Equal(t, "done", h.AwaitQueryEnd(from))
	from = len(h.Frames())
	h.SendQuery("count again")
	task := <-h.tasks
	text, isError := late()
	require.True(t, isError)
	require.Equal(t, "Nothing was submitted: something else is asked for now.", text)
	select {
	case <-task.Submitted:
		require.Fail(t, "the next query has a submission")
	default:
	}
	require.Len(t, h.ToolResults(), 1, "it is not sent")
	_, isError = h.callTool("submit_response", validSubmission)
	require.False(t, isError)
	require.Equal(t, "done", h.AwaitQueryEnd(from))
}

// After a question the next task comes with the earlier ones, until the history is cleared.
func TestTL6_ExternalTaskHasEarlierTasks(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	from := len(h.Frames())
	h.SendQuery("count")
	<-h.tasks
	_, isError := h.callTool("submit_response", `{"summary":"What?","next_status":"awaiting_user_response","questions":"Which rows?"}`)
	require.False(t, isError)
	require.Equal(t, "awaiting_user_response", h.AwaitQueryEnd(from))
	h.SendQuery("all of them")
	task := <-h.tasks
	require.Equal(t, "all of them", task.Text)
	require.Equal(t, "You were asked:\n\ncount\n\nYou handed in:\n\nWhat?\n\nNow you are asked:\n\n", task.EarlierTasks)
	from = len(h.Frames())
	h.results <- nil
	require.Equal(t, "done", h.AwaitQueryEnd(from))
	h.SendFrame(frame{"type": "agent_clear_history"})
	from = len(h.Frames())
	h.SendQuery("anew")
	require.Empty(t, (<-h.tasks).EarlierTasks)
	h.results <- fmt.Errorf("start claude: no such file")
	require.Equal(t, "start claude: no such file", h.AwaitQueryEnd(from))
}

// A call whose context ends stops its cell, and no other.
func TestCO11_CancelledExternalCallStopsItsCell(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	h.callTool("create_cell", `{"position":0,"source":"hang"}`)
	h.callTool("create_cell", `{"position":1,"source":"hang"}`)
	ctx, cancel := context.WithCancel(t.Context())
	first := h.startToolCall(ctx, "run_cell", `{"cell_id":"c1"}`)
	h.AwaitFrame(0, "run of c1", func(f frame) bool {
		return isActionNamed("run_cell")(f) && f.ObjectField("params").StringField("cell_id") == "c1"
	})
	second := h.startToolCall(t.Context(), "run_cell", `{"cell_id":"c2"}`)
	h.AwaitFrame(0, "run of c2", func(f frame) bool {
		return isActionNamed("run_cell")(f) && f.ObjectField("params").StringField("cell_id") == "c2"
	})
	cancel()
	require.Contains(t, <-first, "true ")
	stop := h.AwaitFrame(0, "stop_cell", isActionNamed("stop_cell"))
	require.Equal(t, "c1", stop.ObjectField("params").StringField("cell_id"))
	h.callTool("stop_cell", `{"cell_id":"c2"}`)
	require.Contains(t, <-second, "status: interrupted")
	require.Equal(t, 2, h.CountFramesWithField("action", "stop_cell"))
}

func TestCO11_CancelledQueryEndsExternalCalls(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	from := len(h.Frames())
	h.SendQuery("count")
	<-h.tasks
	running := h.startToolCall(t.Context(), "create_cell", `{"position":0,"source":"hang","auto_run":true}`)
	h.AwaitFrame(from, "the run", func(f frame) bool { return f.StringField("status") == "executing" })
	h.AwaitFrame(from, "the cell", isActionNamed("create_cell"))
	h.callTool("get_context", "") // its response comes after the start of the run
	h.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Contains(t, <-running, "the query was cancelled")
	require.Equal(t, "ready", h.AwaitQueryEnd(from))
	require.Len(t, h.EventsOfType("cancelled"), 1)
	h.AwaitFrame(from, "stop_cell", isActionNamed("stop_cell"))
	text, isError := h.callTool("create_cell", `{"position":0,"source":"print on","auto_run":true}`)
	require.False(t, isError)
	require.Contains(t, text, "on")
}

// A cancel without an id ends the calls that were made for the query. Calls that were made
// before it go on.
func TestCO11_CancelEndsOnlyExternalCallsOfItsQuery(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	before := h.startToolCall(t.Context(), "create_cell", `{"position":0,"source":"hang","auto_run":true}`)
	h.AwaitFrame(0, "the first cell", isActionNamed("create_cell"))
	h.callTool("get_context", "") // its response comes after the start of the run
	from := len(h.Frames())
	h.SendQuery("count")
	<-h.tasks
	during := h.startToolCall(t.Context(), "create_cell", `{"position":1,"source":"hang","auto_run":true}`)
	h.AwaitFrame(from, "the second cell", isActionNamed("create_cell"))
	h.callTool("get_context", "")
	h.SendFrame(frame{"type": "agent_cancel"})
	require.Contains(t, <-during, "the query was cancelled")
	h.AwaitFrame(from, "cancelled", func(f frame) bool { return f.ObjectField("metadata").StringField("type") == "cancelled" })
	require.Equal(t, []frame{{"cell_id": "c2"}}, slices.CompactFunc(h.StopCellRequests(), namesSameCell))
	h.callTool("stop_cell", `{"cell_id":"c1"}`)
	require.Contains(t, <-before, "status: interrupted")
	require.Len(t, h.EventsOfType("cancelled"), 1)
}

// A query that is cancelled while it waits is no task for the program.
func TestCO11_QueryCancelledWhileWaitingIsNoTask(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	h.SendQueries("first", "second", "third")
	require.Equal(t, "first", (<-h.tasks).Text)
	h.SendFrame(frame{"type": "agent_cancel", "request_id": "1"})
	h.callTool("get_context", "") // handled after the cancel
	h.results <- nil
	require.Equal(t, "third", (<-h.tasks).Text)
	h.results <- nil
	h.AwaitQueryEnds(3)
	require.Len(t, h.EventsOfType("cancelled"), 1)
	require.EqualValues(t, 2, h.taskCount.Load())
}

// Calls that run the same cell wait for each other; each gets its own result.
func TestCO3_ExternalCallsRunACellOneAtATime(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	h.callTool("create_cell", `{"position":0,"source":"hang"}`)
	running := h.startToolCall(t.Context(), "run_cell", `{"cell_id":"c1"}`)
	h.AwaitFrame(0, "the run", isActionNamed("run_cell"))
	editing := h.startToolCall(t.Context(), "edit_cell", `{"cell_id":"c1","source":"print new","auto_run":true}`)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := h.startToolCall(ctx, "run_cell", `{"cell_id":"c1"}`)
	h.callTool("get_context", "")
	cancel()
	require.Contains(t, <-waiting, "true ")
	require.Zero(t, h.CountFramesWithField("action", "edit_cell"))
	h.callTool("stop_cell", `{"cell_id":"c1"}`)
	require.Contains(t, <-running, "interrupted")
	require.Contains(t, <-editing, "new")
}

// Each of many calls at once is sent together with its result.
func TestCO3_ExternalCallAndResultStayTogether(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			text, isError := h.callTool("execute_code", fmt.Sprintf(`{"code":"number %d"}`, i))
			if isError || !strings.Contains(text, fmt.Sprintf("number %d\n", i)) {
				t.Errorf("%d: %s", i, text)
			}
		})
	}
	calls.Wait()
	history := h.Transcript()
	require.Len(t, history, 200)
	for i := 0; i < len(history); i += 2 {
		require.Equal(t, history[i].Content[0].ID, history[i+1].Content[0].ToolUseID)
	}
}

func TestCO1_ExternalCallsBeforeInitAndAfterTheEnd(t *testing.T) {
	t.Parallel()
	ours, theirs := protocol.Pipe()
	agent, err := tools.NewExternalAgent(theirs, builtin.Config{})
	require.NoError(t, err)
	require.Len(t, agent.Tools(), 13)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	content, isError := agent.CallTool(ctx, "get_context", nil)
	require.True(t, isError)
	require.Equal(t, "get_context was not run: context canceled.", model.JoinTextBlocks(content))

	over := make(chan error, 1)
	go func() { over <- agent.Run(t.Context(), nil) }()
	_, err = ours.Read() // ready
	require.NoError(t, err)
	content, isError = agent.CallTool(t.Context(), "get_context", nil)
	require.True(t, isError)
	require.Equal(t, "get_context was not run: the session has not begun.", model.JoinTextBlocks(content))
	require.NoError(t, ours.Close(protocol.CloseNormal, ""))
	require.NoError(t, <-over)
	content, isError = agent.CallTool(t.Context(), "get_context", nil)
	require.True(t, isError)
	require.Equal(t, "get_context was not run: the connection to the server ended.", model.JoinTextBlocks(content))
}

// Any input of a call is sent as a JSON object.
func TestCO10_ExternalCallsTakeAnyInput(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	for _, input := range []string{``, `null`, `[]`, `7`, `"text"`, `{`, "\xff", `{"a":`, strings.Repeat("[", 100_000), `{"cell_id":{}}`} {
		for _, tool := range []string{"delete_cell", "run_cell", "submit_response", ""} {
			_, isError := h.callTool(tool, input)
			require.True(t, isError, input)
		}
	}
	for _, m := range h.Transcript() {
		if m.Role == model.RoleAssistant {
			require.Equal(t, byte('{'), m.Content[0].Input[0])
		}
	}
}
