package builtin_test

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
	"assay/internal/model"
	"assay/internal/protocol"
)

// handed is hands with their peer, and a mind that the test is: it takes tasks,
// and lets go of each with an error or nil.
type handed struct {
	*peer
	hands *builtin.ExternalAgent
	tasks chan builtin.Task
	let   chan error
	begun atomic.Int64 // tasks that the mind was given
}

func startHands(t *testing.T) *handed {
	t.Helper()
	h := &handed{tasks: make(chan builtin.Task), let: make(chan error)}
	made := make(chan *builtin.ExternalAgent, 1)
	h.peer = start(t, func(ctx context.Context, conn protocol.Conn, cfg builtin.Config) error {
		hands, err := builtin.NewExternalAgent(conn, cfg)
		if err != nil {
			return err
		}
		made <- hands
		return hands.Run(ctx, h.work)
	}, builtin.Config{})
	h.hands = <-made
	h.init(nil)
	return h
}

func (h *handed) work(ctx context.Context, task builtin.Task) error {
	h.begun.Add(1)
	select {
	case h.tasks <- task:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-h.let:
		return err
	case <-task.Submitted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// call has a tool run and returns its text.
func (h *handed) call(name, input string) (string, bool) {
	content, isError := h.hands.Call(context.Background(), name, json.RawMessage(input))
	return model.PlainText(content), isError
}

// calling has a tool run beside the test.
func (h *handed) calling(ctx context.Context, name, input string) <-chan string {
	done := make(chan string, 1)
	go func() {
		content, isError := h.hands.Call(ctx, name, json.RawMessage(input))
		done <- fmt.Sprint(isError, " ", model.PlainText(content))
	}()
	return done
}

func sameCell(a, b frame) bool { return a.text("cell_id") == b.text("cell_id") }

func isAction(action string) func(frame) bool {
	return func(f frame) bool { return f.text("action") == action }
}

const handedIn = `{"summary":"<EVAL_ANSWER>1</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}`

func TestTL5_HandsTellEachCall(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	from := len(h.seen())
	h.query("count")
	task := <-h.tasks
	require.Equal(t, "count", task.Text)
	require.Empty(t, task.Before)
	text, isError := h.call("create_cell", `{"position":0,"source":"print 45","auto_run":true}`)
	require.False(t, isError)
	require.Contains(t, text, "45")
	text, isError = h.call("create_cell", `{"position":"x"}`)
	require.True(t, isError)
	require.Contains(t, text, "Bad input for create_cell")
	text, isError = h.call("frobnicate", ``)
	require.True(t, isError)
	require.Equal(t, "Unknown tool: frobnicate", text)
	text, isError = h.call("submit_response", handedIn)
	require.False(t, isError)
	require.Equal(t, "Submitted.", text)
	require.Equal(t, "done", h.ends(from))

	history := h.history()
	require.Len(t, history, 9, "the task, and two for each call")
	require.Equal(t, "count", model.PlainText(history[0].Content))
	for i, name := range []string{"create_cell", "create_cell", "frobnicate", "submit_response"} {
		use, result := history[2*i+1], history[2*i+2]
		require.Equal(t, model.RoleAssistant, use.Role)
		require.Equal(t, name, use.Content[0].Name)
		require.Equal(t, use.Content[0].ID, result.Content[0].ToolUseID)
	}
	for _, f := range h.of("agent_history_updated") {
		require.Equal(t, "q1", f.text("request_id"))
	}
	require.Positive(t, h.count("status", "executing"))
}

// What is refused is no submission: nobody is to take it for one.
func TestTL6_HandsRefuseSubmissions(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	text, isError := h.call("submit_response", handedIn)
	require.True(t, isError)
	require.Equal(t, "nothing was asked, so there is nothing to hand in", text)
	from := len(h.seen())
	h.query("count")
	<-h.tasks
	_, isError = h.call("submit_response", `{"summary":"[EVAL_COMPLETE]","next_status":"finished"}`)
	require.True(t, isError)
	_, isError = h.call("submit_response", `{"summary":"more to come","next_status":"executing","continue":true}`)
	require.False(t, isError)
	h.let <- nil
	require.Equal(t, "done", h.ends(from))
	require.Len(t, h.results(), 1, "only what goes on is told")
	require.Len(t, h.of("agent_error"), 2)
}

// A submission is told when no other call is under way; what stops a cell gets
// through.
func TestTL6_HandsSubmitLast(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	from := len(h.seen())
	h.query("count")
	<-h.tasks
	running := h.calling(t.Context(), "create_cell", `{"position":0,"source":"hang","auto_run":true}`)
	h.await(from, "the cell", isAction("create_cell"))
	submitting := h.calling(t.Context(), "submit_response", handedIn)
	text, _ := h.call("stop_cell", `{"cell_id":"c1"}`)
	require.Contains(t, text, "asked to stop")
	require.Contains(t, <-running, "false cell_id: c1\nstatus: interrupted")
	require.Equal(t, "false Submitted.", <-submitting)
	require.Equal(t, "done", h.ends(from))
	last := h.history()[len(h.history())-2]
	require.Equal(t, "submit_response", last.Content[0].Name)
}

// A submission is for the query that was open when it was made.
func TestTL6_HandsSubmitNothingForTheNextQuery(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	from := len(h.seen())
	h.query("count")
	<-h.tasks
	late, err := h.hands.Enter("submit_response", []byte(handedIn))
	require.NoError(t, err)
	_, isError := h.call("submit_response", handedIn)
	require.False(t, isError)
	require.Equal(t, "done", h.ends(from))
	from = len(h.seen())
	h.query("count again")
	task := <-h.tasks
	text, isError := late()
	require.True(t, isError)
	require.Equal(t, "Nothing was submitted: something else is asked for now.", text)
	select {
	case <-task.Submitted:
		require.Fail(t, "the next query has a submission")
	default:
	}
	require.Len(t, h.results(), 1, "it is not told")
	_, isError = h.call("submit_response", handedIn)
	require.False(t, isError)
	require.Equal(t, "done", h.ends(from))
}

func TestTL6_HandsQuestion(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	from := len(h.seen())
	h.query("count")
	<-h.tasks
	_, isError := h.call("submit_response", `{"summary":"What?","next_status":"awaiting_user_response","questions":"Which rows?"}`)
	require.False(t, isError)
	require.Equal(t, "awaiting_user_response", h.ends(from))
	h.query("all of them")
	task := <-h.tasks
	require.Equal(t, "all of them", task.Text)
	require.Equal(t, "You were asked:\n\ncount\n\nYou handed in:\n\nWhat?\n\nNow you are asked:\n\n", task.Before)
	from = len(h.seen())
	h.let <- nil
	require.Equal(t, "done", h.ends(from))
	h.send(frame{"type": "agent_clear_history"})
	from = len(h.seen())
	h.query("anew")
	require.Empty(t, (<-h.tasks).Before)
	h.let <- fmt.Errorf("start claude: no such file")
	require.Equal(t, "start claude: no such file", h.ends(from))
}

// A call that is given up stops its cell, and no other.
func TestCO11_HandsGiveUpACall(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	h.call("create_cell", `{"position":0,"source":"hang"}`)
	h.call("create_cell", `{"position":1,"source":"hang"}`)
	ctx, cancel := context.WithCancel(t.Context())
	first := h.calling(ctx, "run_cell", `{"cell_id":"c1"}`)
	h.await(0, "run of c1", func(f frame) bool { return isAction("run_cell")(f) && f.object("params").text("cell_id") == "c1" })
	second := h.calling(t.Context(), "run_cell", `{"cell_id":"c2"}`)
	h.await(0, "run of c2", func(f frame) bool { return isAction("run_cell")(f) && f.object("params").text("cell_id") == "c2" })
	cancel()
	require.Contains(t, <-first, "true ")
	stop := h.await(0, "stop_cell", isAction("stop_cell"))
	require.Equal(t, "c1", stop.object("params").text("cell_id"))
	h.call("stop_cell", `{"cell_id":"c2"}`)
	require.Contains(t, <-second, "status: interrupted")
	require.Equal(t, 2, h.count("action", "stop_cell"))
}

func TestCO11_HandsAreCancelledByTheConsole(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	from := len(h.seen())
	h.query("count")
	<-h.tasks
	running := h.calling(t.Context(), "create_cell", `{"position":0,"source":"hang","auto_run":true}`)
	h.await(from, "the run", func(f frame) bool { return f.text("status") == "executing" })
	h.await(from, "the cell", isAction("create_cell"))
	h.call("get_context", "") // the run has begun by its answer
	h.send(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Contains(t, <-running, "the query was cancelled")
	require.Equal(t, "ready", h.ends(from))
	require.Len(t, h.events("cancelled"), 1)
	h.await(from, "stop_cell", isAction("stop_cell"))
	text, isError := h.call("create_cell", `{"position":0,"source":"print on","auto_run":true}`)
	require.False(t, isError)
	require.Contains(t, text, "on")
}

// A cancel without an id is meant for the query: what a client does beside it goes
// on, and what it does for it fails.
func TestCO11_HandsCancelOfTheQueryOnly(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	before := h.calling(t.Context(), "create_cell", `{"position":0,"source":"hang","auto_run":true}`)
	h.await(0, "the first cell", isAction("create_cell"))
	h.call("get_context", "") // the run has begun by its answer
	from := len(h.seen())
	h.query("count")
	<-h.tasks
	during := h.calling(t.Context(), "create_cell", `{"position":1,"source":"hang","auto_run":true}`)
	h.await(from, "the second cell", isAction("create_cell"))
	h.call("get_context", "")
	h.send(frame{"type": "agent_cancel"})
	require.Contains(t, <-during, "the query was cancelled")
	h.await(from, "cancelled", func(f frame) bool { return f.object("metadata").text("type") == "cancelled" })
	require.Equal(t, []frame{{"cell_id": "c2"}}, slices.CompactFunc(h.stops(), sameCell))
	h.call("stop_cell", `{"cell_id":"c1"}`)
	require.Contains(t, <-before, "status: interrupted")
	require.Len(t, h.events("cancelled"), 1)
}

// A query that is cancelled while it waits is nothing to work on.
func TestCO11_HandsDoNotBeginWhatWasCancelled(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	h.askAtOnce("first", "second", "third")
	require.Equal(t, "first", (<-h.tasks).Text)
	h.send(frame{"type": "agent_cancel", "request_id": "1"})
	h.call("get_context", "") // behind the cancel
	h.let <- nil
	require.Equal(t, "third", (<-h.tasks).Text)
	h.let <- nil
	h.allEnd(3)
	require.Len(t, h.events("cancelled"), 1)
	require.EqualValues(t, 2, h.begun.Load())
}

// Of a cell that two calls want to have run, each gets its own run.
func TestCO3_HandsRunACellOneCallAtATime(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	h.call("create_cell", `{"position":0,"source":"hang"}`)
	running := h.calling(t.Context(), "run_cell", `{"cell_id":"c1"}`)
	h.await(0, "the run", isAction("run_cell"))
	editing := h.calling(t.Context(), "edit_cell", `{"cell_id":"c1","source":"print new","auto_run":true}`)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := h.calling(ctx, "run_cell", `{"cell_id":"c1"}`)
	h.call("get_context", "")
	cancel()
	require.Contains(t, <-waiting, "true ")
	require.Zero(t, h.count("action", "edit_cell"))
	h.call("stop_cell", `{"cell_id":"c1"}`)
	require.Contains(t, <-running, "interrupted")
	require.Contains(t, <-editing, "new")
}

func TestCO3_HandsTellPairs(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			text, isError := h.call("execute_code", fmt.Sprintf(`{"code":"number %d"}`, i))
			if isError || !strings.Contains(text, fmt.Sprintf("number %d\n", i)) {
				t.Errorf("%d: %s", i, text)
			}
		})
	}
	calls.Wait()
	history := h.history()
	require.Len(t, history, 200)
	for i := 0; i < len(history); i += 2 {
		require.Equal(t, history[i].Content[0].ID, history[i+1].Content[0].ToolUseID)
	}
}

func TestCO1_HandsBeforeInitAndAfterTheEnd(t *testing.T) {
	t.Parallel()
	ours, theirs := protocol.Pipe()
	hands, err := builtin.NewExternalAgent(theirs, builtin.Config{})
	require.NoError(t, err)
	require.Len(t, hands.Tools(), 13)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	content, isError := hands.Call(ctx, "get_context", nil)
	require.True(t, isError)
	require.Equal(t, "get_context was not run: context canceled.", model.PlainText(content))

	over := make(chan error, 1)
	go func() { over <- hands.Run(t.Context(), nil) }()
	_, err = ours.Read() // ready
	require.NoError(t, err)
	content, isError = hands.Call(t.Context(), "get_context", nil)
	require.True(t, isError)
	require.Equal(t, "get_context was not run: the session has not begun.", model.PlainText(content))
	require.NoError(t, ours.Close(protocol.CloseNormal, ""))
	require.NoError(t, <-over)
	content, isError = hands.Call(t.Context(), "get_context", nil)
	require.True(t, isError)
	require.Equal(t, "get_context was not run: the connection to the server ended.", model.PlainText(content))
}

// Whatever a client gives as input is told as an object.
func TestCO10_HandsTakeAnyInput(t *testing.T) {
	t.Parallel()
	h := startHands(t)
	for _, input := range []string{``, `null`, `[]`, `7`, `"text"`, `{`, "\xff", `{"a":`, strings.Repeat("[", 100_000), `{"cell_id":{}}`} {
		for _, tool := range []string{"delete_cell", "run_cell", "submit_response", ""} {
			_, isError := h.call(tool, input)
			require.True(t, isError, input)
		}
	}
	for _, m := range h.history() {
		if m.Role == model.RoleAssistant {
			require.Equal(t, byte('{'), m.Content[0].Input[0])
		}
	}
}
