package builtin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/internal/model"
)

// A query that is cancelled while it waits for an earlier one is not started: nothing of it
// is in the conversation, and the model is not called.
func TestCO11_QueryCancelledWhileWaitingIsNotStarted(t *testing.T) {
	t.Parallel()
	for _, evalMode := range []bool{false, true} {
		t.Run(fmt.Sprint(evalMode), func(t *testing.T) {
			t.Parallel()
			p, m := startAgentOnReplies(t, builtin.Config{}, nil, agenttest.NewModelReply(agenttest.NewGetContextCall("x")), newSubmitReply(), newSubmitReply())
			held := p.WithholdResponses("get_context")
			p.InitAndAwaitReady(frame{"eval_mode": evalMode})
			p.SendQueries("first", "second", "third")
			tx := <-held
			p.SendFrame(frame{"type": "agent_cancel", "request_id": "1"})
			p.RespondToAction(tx, frame{"context": p.NotebookOverview()})
			p.AwaitFrame(0, "the end of the third", func(frame) bool { return p.CountFramesWithField("status", "done") == 2 })

			require.Len(t, p.EventsOfType("cancelled"), 1)
			require.Equal(t, frame{"type": "cancelled", "request_id": "1"}, p.EventsOfType("cancelled")[0].ObjectField("metadata"))
			var ended []string
			for _, f := range p.EventsOfType("ended") {
				ended = append(ended, f.ObjectField("metadata").StringField("request_id"))
			}
			if evalMode {
				require.Empty(t, ended)
			} else {
				require.Equal(t, []string{"0", "1", "2"}, ended)
			}
			for _, f := range p.FramesOfType("agent_history_updated") {
				require.NotEqual(t, "1", f.StringField("request_id"))
			}
			require.Empty(t, m.RejectionReasons())
			require.Len(t, m.Requests(), 3)
			var asked []string
			for _, message := range m.Requests()[2].Messages {
				if text := model.JoinTextBlocks(message.Content); message.Role == model.RoleUser && text != "" {
					asked = append(asked, text)
				}
			}
			require.Equal(t, []string{"first", "third"}, asked)
		})
	}
}

// newSubmitReply returns a reply that submits.
func newSubmitReply() *model.Response {
	return agenttest.NewModelReply(model.ToolUse("s", "submit_response", json.RawMessage(`{"summary":"s","next_status":"done"}`)))
}

// A cancel stops only the cells that the cancelled query has started.
func TestCO11_CancelStopsOnlyCellsOfItsQuery(t *testing.T) {
	t.Parallel()
	atOnce := builtin.Limits{CellTimeout: 1}
	run := func(source string) string {
		return agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"`+source+`","auto_run":true}`)
	}
	p := startToolsAgent(t, builtin.Config{Limits: atOnce}, run("hang"), `{"content":"it runs on"}`, run("hang"), agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"fine"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	held := p.WithholdResponses("get_context")
	from := len(p.Frames())
	p.SendQuery("another")
	<-held
	p.SendCancel()
	require.Equal(t, "ready", p.AwaitQueryEnd(from))
	require.Equal(t, []frame{{"cell_id": "c2"}}, p.StopCellRequests())
}

// Outside of an evaluation an agent is ready again after a fatal error.
func TestCO6_ReadyAfterFailure(t *testing.T) {
	t.Parallel()
	for evalMode, want := range map[bool]int{false: 2, true: 1} {
		p, _ := startAgentOnReplies(t, builtin.Config{}, nil, errors.New("no idea"), newSubmitReply())
		p.InitAndAwaitReady(frame{"eval_mode": evalMode})
		require.Equal(t, "no idea", p.QueryAndWait("go"))
		from := len(p.Frames())
		p.SendQuery("again")
		p.AwaitFrame(from, "done", func(f frame) bool { return f.StringField("status") == "done" })
		require.Equal(t, want, p.CountFramesWithField("status", "ready"), "one of them answers the init")
	}
}

// Outside of an evaluation there is an event for the end of every query, however it ends.
func TestCO14_EndOfQueryIsAnEvent(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"content":"x"}`, `{"content":"no","stop_reason":"refusal"}`, `{"error":{"status":401}}`} {
		for _, evalMode := range []bool{false, true} {
			p := startToolsAgent(t, builtin.Config{}, line, `{"content":"after the reminder"}`)
			p.InitAndAwaitReady(frame{"eval_mode": evalMode})
			p.QueryAndWait("go")
			if evalMode {
				require.Empty(t, p.EventsOfType("ended"))
				continue
			}
			ended := p.AwaitFrame(0, "the end", func(f frame) bool { return f.ObjectField("metadata").StringField("type") == "ended" })
			require.Equal(t, p.FramesOfType("agent_history_updated")[0].StringField("request_id"), ended.ObjectField("metadata").StringField("request_id"))
		}
	}
}
