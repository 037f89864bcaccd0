package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/internal/model"
	"assay/internal/model/mockapi"
)

// hangingCellCall returns a call that creates a cell which runs until it is stopped.
func hangingCellCall() model.Block {
	return model.ToolUse("a", "create_cell", json.RawMessage(`{"position":0,"source":"hang","auto_run":true}`))
}

// allToolsTurnScript returns a script with a turn that uses all kinds of tools, and texts for the
// queries after it.
func allToolsTurnScript() []string {
	lines := []string{
		agenttest.ToolCallScriptLine("get_context", `{}`, "request_globals_summary", `{}`,
			"create_cell", `{"position":0,"source":"print 1","auto_run":true}`, "execute_code", `{"code":"1"}`),
		agenttest.ToolCallScriptLine("edit_cell", `{"cell_id":"c1","source":"print 2","auto_run":true}`, "fly", `{}`, "get_context", `{}`),
	}
	return append(lines, strings.Split(strings.Repeat(`{"content":"a text é"}`+"\n", 9), "\n")...)
}

// A turn may be cancelled after any frame that the agent sends: the agent works on the next
// query as usual, and the validating API accepts all its requests.
func TestCO11_CancelAfterAnyFrame(t *testing.T) {
	t.Parallel()
	points := 0
	for at := 1; ; at++ {
		p := startAgentOnValidatingAPI(t, builtin.Config{}, allToolsTurnScript()...)
		p.InitAndAwaitReady(nil)
		from := len(p.Frames())
		var cancelled atomic.Bool
		p.CallAfterFrames(at, func(f frame) bool { return f.StringField("type") != "agent_stream_delta" }, func() {
			cancelled.Store(true)
			p.SendCancel()
		})
		p.SendQuery("go")
		end := p.AwaitQueryEnd(from)
		if !cancelled.Load() {
			break // the turn has fewer frames
		}
		points++
		require.Contains(t, []string{"ready", "done"}, end) // done if the turn had just ended
		requireConversationIntact(t, p, at)
	}
	require.Greater(t, points, 30)
}

// requireConversationIntact asks one more query and fails the test unless the conversation is valid and
// the query before, which was cancelled after at frames, left no error.
func requireConversationIntact(t *testing.T, p *agenttest.Server, at int) {
	t.Helper()
	require.Equal(t, "done", p.QueryAndWait("again"), "cancelled after %d frames", at)
	require.LessOrEqual(t, len(p.EventsOfType("cancelled")), 1)
	require.Empty(t, p.FramesOfType("agent_error"), "cancelled after %d frames", at)
	status, text := agenttest.CheckTranscript(append(p.Transcript(), builtin.UserMessage(model.Text("go on"))))
	require.Equal(t, http.StatusOK, status, text)
}

// A cancel while a tool waits for a response ends the call, whichever tool it is.
func TestCO11_CancelDuringEachTool(t *testing.T) {
	t.Parallel()
	for _, c := range [][]string{
		{"get_context", `{}`, "get_context"},
		{"request_globals_summary", `{}`, "request_globals_summary"},
		{"request_reactivity_summary", `{}`, "request_reactivity_summary"},
		{"create_cell", `{"position":0,"source":"x"}`, "create_cell"},
		{"create_markdown_cell", `{"position":0,"source":"x"}`, "create_markdown_cell"},
		{"edit_cell", `{"cell_id":"c1","source":"x"}`, "edit_cell"},
		{"run_cell", `{"cell_id":"c1"}`, "run_cell"},
		{"stop_cell", `{"cell_id":"c1"}`, "stop_cell"},
		{"delete_cell", `{"cell_id":"c1"}`, "delete_cell"},
		{"delete_all_cells", `{}`, "get_context"},
		{"set_widget", `{"key":"k","value":"1"}`, "set_widget"},
		{"execute_code", `{"code":"x"}`, "execute_code"},
	} {
		t.Run(c[0], func(t *testing.T) {
			t.Parallel()
			p := startAgentOnValidatingAPI(t, builtin.Config{}, agenttest.ToolCallScriptLine(c[0], c[1], "get_context", `{}`), `{"content":"fine"}`)
			held := p.WithholdResponses(c[2])
			p.InitAndAwaitReady(nil)
			from := len(p.Frames())
			p.SendQuery("go")
			<-held
			p.SendCancel()
			require.Equal(t, "ready", p.AwaitQueryEnd(from))
			text, isError := p.ToolResult(0)
			require.True(t, isError)
			require.Contains(t, text, "the query was cancelled")
			p.SetActionHook(nil)
			requireConversationIntact(t, p, 0)
		})
	}
}

// A cancel in the middle of a streamed reply ends the stream at once, and nothing of the
// reply is kept.
func TestCO11_CancelDuringStream(t *testing.T) {
	t.Parallel()
	mock := mockapi.New(agenttest.ParseModelScript(t, agenttest.ToolCallScriptLine("execute_code", `{"code":"`+strings.Repeat("1+", 500)+`1"}`), `{"content":"a text"}`, `{"content":"another"}`), nil)
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { w = &stallingWriter{ResponseWriter: w, left: 900, gone: r.Context().Done()} })
		mock.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p := startAgentOnHTTPAPI(t, server.URL, "key")
	p.InitAndAwaitReady(nil)
	from := len(p.Frames())
	p.SendQuery("go")
	p.AwaitFrame(from, "a delta", func(f frame) bool { return f.StringField("type") == "agent_stream_delta" })
	p.SendCancel()
	require.Equal(t, "ready", p.AwaitQueryEnd(from))
	require.Len(t, p.Transcript(), 1)
	complete := p.FramesOfType("agent_stream_complete")
	require.Len(t, complete, 1)
	require.Equal(t, "the query was cancelled", complete[0].StringField("error"))
	requireConversationIntact(t, p, 0)
}

// stallingWriter is a ResponseWriter that blocks after left bytes until the client
// disconnects.
type stallingWriter struct {
	http.ResponseWriter
	left int
	gone <-chan struct{}
}

// Write writes data, or blocks.
func (w *stallingWriter) Write(data []byte) (int, error) {
	if w.left -= len(data); w.left < 0 {
		<-w.gone
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *stallingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A reply or an error that comes after a cancel is ignored.
func TestCO11_ReplyAfterCancelIsIgnored(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]any{
		"reply":   agenttest.NewModelReply(hangingCellCall()),
		"failure": fmt.Errorf("%w: late", model.ErrCutStream),
		"refusal": &model.APIError{Status: 429},
		"other":   errors.New("late"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var once sync.Once
			wait := func(ctx context.Context) { once.Do(func() { <-ctx.Done() }) }
			p, _ := startAgentOnReplies(t, builtin.Config{}, wait, late, agenttest.NewModelReply(model.Text("fine")))
			p.InitAndAwaitReady(nil)
			from := len(p.Frames())
			p.SendQuery("go")
			p.AwaitFrame(from, "thinking", func(f frame) bool { return f.StringField("status") == "thinking" })
			p.SendCancel()
			require.Equal(t, "ready", p.AwaitQueryEnd(from))
			require.Empty(t, p.FramesOfType("agent_action"))
			require.Empty(t, p.EventsOfType("retry"))
			require.Len(t, p.EventsOfType("cancelled"), 1)
			requireConversationIntact(t, p, 0)
		})
	}
}

// A cell that still runs after the cell limit is stopped when its query is cancelled.
func TestCO11_CellPastItsLimitIsStopped(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{Limits: builtin.Limits{CellTimeout: time.Millisecond}},
		agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"hang","auto_run":true}`), agenttest.ToolCallScriptLine("get_context", `{}`))
	p.SetActionHook(func(action string, _ frame, _ string) bool { return action == "get_context" }) // it gets no response
	p.InitAndAwaitReady(nil)
	p.SendQuery("go")
	p.AwaitFrame(0, "the look", func(f frame) bool { return f.StringField("action") == "get_context" })
	require.Zero(t, p.CountFramesWithField("action", "stop_cell"))
	seen := len(p.Frames())
	p.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.AwaitQueryEnd(seen))
	stop := p.AwaitFrame(seen, "the stop", func(f frame) bool { return f.StringField("action") == "stop_cell" })
	require.Equal(t, "c1", stop.ObjectField("params").StringField("cell_id"))
}
