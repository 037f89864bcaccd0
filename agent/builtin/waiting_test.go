package builtin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
)

// A query that is cancelled while it waits leaves no trace in the conversation:
// nothing of it is said, and the model is not called for it.
func TestCO11_CancelledWhileItWaitsItDoesNotBegin(t *testing.T) {
	t.Parallel()
	for _, evaluation := range []bool{false, true} {
		t.Run(fmt.Sprint(evaluation), func(t *testing.T) {
			t.Parallel()
			p, h := startReplies(t, builtin.Config{}, nil, replies(call("x")), handIn(), handIn())
			held := p.hold("get_context")
			p.init(frame{"eval_mode": evaluation})
			p.askAtOnce("first", "second", "third")
			tx := <-held.asked
			p.send(frame{"type": "agent_cancel", "request_id": "1"})
			p.answer(tx, frame{"context": p.context()})
			p.await(0, "the end of the third", func(frame) bool { return p.count("status", "done") == 2 })

			require.Len(t, p.events("cancelled"), 1)
			require.Equal(t, frame{"type": "cancelled", "request_id": "1"}, p.events("cancelled")[0].object("metadata"))
			var ended []string
			for _, f := range p.events("ended") {
				ended = append(ended, f.object("metadata").text("request_id"))
			}
			if evaluation {
				require.Empty(t, ended)
			} else {
				require.Equal(t, []string{"0", "1", "2"}, ended)
			}
			for _, f := range p.of("agent_history_updated") {
				require.NotEqual(t, "1", f.text("request_id"))
			}
			require.Empty(t, h.faults())
			h.mu.Lock()
			defer h.mu.Unlock()
			require.Len(t, h.requests, 3)
			var asked []string
			for _, m := range h.requests[2].Messages {
				if text := model.PlainText(m.Content); m.Role == model.RoleUser && text != "" {
					asked = append(asked, text)
				}
			}
			require.Equal(t, []string{"first", "third"}, asked)
		})
	}
}

// handIn is a reply that submits.
func handIn() *model.Response {
	return replies(model.ToolUse("s", "submit_response", json.RawMessage(`{"summary":"s","next_status":"done"}`)))
}

// What somebody else has started goes on when a query is cancelled.
func TestCO11_CancelStopsWhatTheQueryStarted(t *testing.T) {
	t.Parallel()
	soon := builtin.Limits{Cell: 1}
	run := func(source string) string {
		return uses("create_cell", `{"position":0,"source":"`+source+`","auto_run":true}`)
	}
	p := startTools(t, builtin.Config{Limits: soon}, run("hang"), `{"content":"it runs on"}`, run("hang"), uses("get_context", `{}`), `{"content":"fine"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	held := p.hold("get_context")
	from := len(p.seen())
	p.query("another")
	<-held.asked
	p.cancel()
	require.Equal(t, "ready", p.ends(from))
	require.Equal(t, []frame{{"cell_id": "c2"}}, p.stops())
}

// Outside of an evaluation a failure is the end of the query only, and whoever
// watches is told that the agent thinks no more.
func TestCO6_ReadyAfterAFailure(t *testing.T) {
	t.Parallel()
	for evaluation, want := range map[bool]int{false: 2, true: 1} {
		p, _ := startReplies(t, builtin.Config{}, nil, errors.New("no idea"), handIn())
		p.init(frame{"eval_mode": evaluation})
		require.Equal(t, "no idea", p.ask("go"))
		from := len(p.seen())
		p.query("again")
		p.await(from, "done", func(f frame) bool { return f.text("status") == "done" })
		require.Equal(t, want, p.count("status", "ready"), "one is the answer to init")
	}
}

// While another label works, the agent is not ready.
func TestCO6_NotReadyWhileAnotherWorks(t *testing.T) {
	t.Parallel()
	p, h := startReplies(t, builtin.Config{Strategy: "blocks"}, nil, replies(model.Text("```\n1\n```")), errors.New("no idea"))
	h.last = replies(model.Text("fine"))
	held := p.hold("execute_code")
	p.init(nil)
	p.send(frame{"type": "agent_query", "query": "@1 a", "request_id": "0"})
	tx := <-held.asked
	p.send(frame{"type": "agent_query", "query": "@2 b", "request_id": "1"})
	p.await(0, "the end of the second", func(f frame) bool { return f.object("metadata").text("request_id") == "1" && isEnded(f) })
	p.answer(tx, nil)
	p.await(0, "done", func(f frame) bool { return f.text("status") == "done" })
	require.Equal(t, 1, p.count("status", "ready"), "it is the answer to init")
}

func isEnded(f frame) bool { return f.object("metadata").text("type") == "ended" }
