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
	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

// createAndRun is a call that creates a cell which hangs.
func createAndRun() model.Block {
	return model.ToolUse("a", "create_cell", json.RawMessage(`{"position":0,"source":"hang","auto_run":true}`))
}

// turnScript is a turn of every kind of work, and more replies for the queries
// after it.
func turnScript() []string {
	lines := []string{
		uses("get_context", `{}`, "request_globals_summary", `{}`,
			"create_cell", `{"position":0,"source":"print 1","auto_run":true}`, "execute_code", `{"code":"1"}`),
		uses("edit_cell", `{"cell_id":"c1","source":"print 2","auto_run":true}`, "fly", `{}`, "get_context", `{}`),
	}
	return append(lines, strings.Split(strings.Repeat(`{"content":"a text é"}`+"\n", 9), "\n")...)
}

// Cancelled at any point of a turn, after each frame that the agent sends, it
// takes the next query as if nothing had happened; over HTTP, past the strict
// server.
func TestCO11_CancelAtEveryPoint(t *testing.T) {
	t.Parallel()
	cancelled := 0
	for at := 1; ; at++ {
		p := startStrict(t, builtin.Config{}, turnScript()...)
		p.init(nil)
		from := len(p.seen())
		cancels := p.cancelAfter(at)
		p.query("go")
		end := p.ends(from)
		if !cancels.Load() {
			break // the turn was over before
		}
		cancelled++
		require.Contains(t, []string{"ready", "done"}, end) // done: it was at its end
		requireSound(t, p, at)
	}
	require.Greater(t, cancelled, 30)
}

// cancelAfter cancels the open query as soon as the agent has sent that many
// more frames, pieces of blocks not counted, and says whether it has.
func (p *peer) cancelAfter(count int) *atomic.Bool {
	var cancelled atomic.Bool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onFrame = func(f frame) {
		if f.text("type") == "agent_stream_delta" {
			return
		}
		if count--; count == 0 {
			cancelled.Store(true)
			p.cancel()
		}
	}
	return &cancelled
}

// requireSound asks one more query and looks at what came of the one before.
func requireSound(t *testing.T, p *peer, at int) {
	t.Helper()
	require.Equal(t, "done", p.ask("again"), "cancelled after %d frames", at)
	require.LessOrEqual(t, len(p.events("cancelled")), 1)
	require.Empty(t, p.of("agent_error"), "cancelled after %d frames", at)
	status, text := judge(append(p.history(), user(model.Text("go on"))))
	require.Equal(t, http.StatusOK, status, text)
}

// Cancelled while a tool waits for its answer: each tool gives up.
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
			p := startStrict(t, builtin.Config{}, uses(c[0], c[1], "get_context", `{}`), `{"content":"fine"}`)
			held := p.hold(c[2])
			p.init(nil)
			from := len(p.seen())
			p.query("go")
			<-held.asked
			p.cancel()
			require.Equal(t, "ready", p.ends(from))
			text, isError := p.resultText(0)
			require.True(t, isError)
			require.Contains(t, text, "the query was cancelled")
			p.onAction(nil)
			requireSound(t, p, 0)
		})
	}
}

// Cancelled in the middle of a stream, which ends at once: nothing of the reply
// is kept.
func TestCO11_CancelInTheStream(t *testing.T) {
	t.Parallel()
	script, err := script.Parse("s", []byte(uses("execute_code", `{"code":"`+strings.Repeat("1+", 500)+`1"}`)+"\n"+`{"content":"a text"}`+"\n"+`{"content":"another"}`))
	require.NoError(t, err)
	mock := mockapi.New(script, nil)
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { w = &stallingWriter{ResponseWriter: w, left: 900, gone: r.Context().Done()} })
		mock.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p := startHTTP(t, server.URL, "key")
	p.init(nil)
	from := len(p.seen())
	p.query("go")
	p.await(from, "a delta", func(f frame) bool { return f.text("type") == "agent_stream_delta" })
	p.cancel()
	require.Equal(t, "ready", p.ends(from))
	require.Len(t, p.history(), 1)
	complete := p.of("agent_stream_complete")
	require.Len(t, complete, 1)
	require.Equal(t, "the query was cancelled", complete[0].text("error"))
	requireSound(t, p, 0)
}

// stallingWriter is silent after so many bytes until the client goes.
type stallingWriter struct {
	http.ResponseWriter
	left int
	gone <-chan struct{}
}

func (w *stallingWriter) Write(data []byte) (int, error) {
	if w.left -= len(data); w.left < 0 {
		<-w.gone
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (w *stallingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A reply that comes although the query was cancelled is not kept.
func TestCO11_RepliesAfterTheCancel(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]any{
		"reply":   replies(createAndRun()),
		"failure": fmt.Errorf("%w: late", model.ErrCutStream),
		"refusal": &model.APIError{Status: 429},
		"other":   errors.New("late"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var once sync.Once
			wait := func(ctx context.Context) { once.Do(func() { <-ctx.Done() }) }
			p, _ := startReplies(t, builtin.Config{}, wait, late, replies(model.Text("fine")))
			p.init(nil)
			from := len(p.seen())
			p.query("go")
			p.await(from, "thinking", func(f frame) bool { return f.text("status") == "thinking" })
			p.cancel()
			require.Equal(t, "ready", p.ends(from))
			require.Empty(t, p.of("agent_action"))
			require.Empty(t, p.events("retry"))
			require.Len(t, p.events("cancelled"), 1)
			requireSound(t, p, 0)
		})
	}
}

// A cell that runs on past its limit is stopped with the query that has started it.
func TestCO11_CellPastItsLimit(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{Limits: builtin.Limits{Cell: time.Millisecond}},
		uses("create_cell", `{"position":0,"source":"hang","auto_run":true}`), uses("get_context", `{}`))
	p.onAction(func(action string, _ frame, _ string) bool { return action == "get_context" }) // and no answer
	p.init(nil)
	p.query("go")
	p.await(0, "the look", func(f frame) bool { return f.text("action") == "get_context" })
	require.Zero(t, p.count("action", "stop_cell"))
	seen := len(p.seen())
	p.send(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.ends(seen))
	stop := p.await(seen, "the stop", func(f frame) bool { return f.text("action") == "stop_cell" })
	require.Equal(t, "c1", stop.object("params").text("cell_id"))
}
