package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/oracle"
	"assay/agent/builtin/tools"
	"assay/internal/protocol"
)

func TestCO1_ReadyThenInitThenQueries(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{}, `{"content":"hello"}`)
	p.SendQuery("too early")
	early := p.AwaitFrame(0, "an error", func(f frame) bool { return f.StringField("type") == "agent_error" })
	require.Equal(t, "agent_query came before init", early.StringField("error"))
	require.Equal(t, false, early["fatal"])

	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("hi"))
	frames := p.Frames()
	require.Equal(t, frame{"type": "ready"}, frames[0])
	require.Equal(t, "agent_status", frames[2].StringField("type"))

	history := p.Transcript()
	require.Len(t, history, 2)
	entry := p.FramesOfType("agent_history_updated")[1]
	require.Equal(t, "7", entry.StringField("session_id"))
	require.Equal(t, "q1", entry.StringField("request_id"))
	require.Equal(t, "anthropic_message", entry.ObjectField("entry").StringField("type"))
	require.Equal(t, "q1", entry.ObjectField("entry").StringField("request_id"))
	_, err := time.Parse(time.RFC3339, entry.ObjectField("entry").StringField("timestamp"))
	require.NoError(t, err)
}

func TestCO1_InvalidInitIsAnError(t *testing.T) {
	t.Parallel()
	for want, init := range map[string]frame{
		`the strategy "ticks"`: {"type": "init", "strategy": "ticks"},
		"init cannot be read":  {"type": "init", "session_id": "x"},
		"init.limits":          {"type": "init", "limits": frame{"turns": "x"}},
	} {
		p := startToolsAgent(t, builtin.Config{}, `{"content":"hello"}`)
		p.SendFrame(init)
		failure := p.AwaitFrame(0, "an error", func(f frame) bool { return f.StringField("type") == "agent_error" })
		require.Contains(t, failure.StringField("error"), want)
		require.Equal(t, true, failure["fatal"])
	}
}

func TestCO1_MeaninglessFramesAreIgnored(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{}, `{"content":"hello"}`)
	p.InitAndAwaitReady(nil)
	for _, f := range []frame{
		{"type": "agent_action_response", "tx_id": "tx_nobody", "status": "success"},
		{"type": "kernel_message", "message": frame{"type": "start_cell", "cell_id": nil, "run_sequencer": 1}},
		{"type": "kernel_message", "message": 5},
		{"type": "news"},
		{"no": "type"},
		{"type": "agent_query", "query": 5},
		{"type": "agent_cancel", "request_id": "gone"},
		{"type": "agent_cancel", "request_id": 5},
	} {
		p.SendFrame(f)
	}
	require.NoError(t, p.Conn.Write([]byte("{")))
	require.Equal(t, "done", p.QueryAndWait("hi"))
}

func TestCO1_EndsWithItsConnection(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{}, `{"content":"hello"}`)
	p.InitAndAwaitReady(nil)
	require.NoError(t, p.Conn.Close(protocol.CloseNormal, ""))
	require.NoError(t, <-p.Ended)
}

func TestCO1_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ours, theirs := protocol.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	over := make(chan error, 1)
	go func() { over <- oracle.RunNoop(ctx, theirs, builtin.Config{}) }() // it blocks while sending its ready, which nothing reads
	cancel(stop)
	require.ErrorIs(t, <-over, stop)
	_, err := ours.Read()
	require.Error(t, err)
}

func TestCO1_RunNeedsAModel(t *testing.T) {
	t.Parallel()
	_, theirs := protocol.Pipe()
	require.EqualError(t, tools.Run(t.Context(), theirs, tools.Config{}), "the agent needs a model")
}

// A refusal of the API ends the query with an error that names it.
func TestCO6_RefusalOfTheAPIIsAFatalError(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{},
		`{"error":{"status":401,"body":{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}}}`, `{"content":"hi"}`)
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "script: 401 authentication_error: invalid x-api-key", p.QueryAndWait("go"))
	require.Equal(t, true, p.FramesOfType("agent_error")[0]["fatal"])
	require.Empty(t, p.FramesOfType("agent_usage_update"))
}

func TestCO7_RepliesAreStreamed(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{}, agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"done"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	var kinds []string
	for _, f := range p.Frames() {
		switch kind := f.StringField("type"); kind {
		case "agent_stream_start", "agent_stream_block_start", "agent_stream_delta", "agent_stream_block_stop", "agent_stream_complete", "agent_history_updated":
			kinds = append(kinds, kind)
		}
	}
	one := []string{"agent_stream_start", "agent_stream_block_start", "agent_stream_delta", "agent_stream_block_stop", "agent_stream_complete", "agent_history_updated"}
	want := append([]string{"agent_history_updated"}, one...)
	want = append(append(want, "agent_history_updated"), one...)
	require.Equal(t, want, kinds)
	block := p.FramesOfType("agent_stream_block_start")[0]
	require.Equal(t, "tool_use", block.StringField("block_type"))
	require.Equal(t, "get_context", block.StringField("block_name"))
	require.Equal(t, "toolu_0_0", block.StringField("block_id"))
	require.InDelta(t, 0, block["block_index"], 0)
	require.Equal(t, "{}", p.FramesOfType("agent_stream_delta")[0].StringField("delta"))
}

// The streamed pieces add up to the reply in the conversation.
func TestCO7_StreamedPiecesAddUp(t *testing.T) {
	t.Parallel()
	content := `[{"type":"thinking","thinking":"Sö, 数据?","signature":"s"},{"type":"text","text":"I look 🙂 first."},` +
		`{"type":"tool_use","id":"x","name":"execute_code","input":{"code":"print('数据 🙂')"}}]`
	p := startAgentOnValidatingAPI(t, builtin.Config{}, `{"content":`+content+`}`, `{"content":"done"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	streamed := map[float64]string{}
	for _, f := range p.Frames() {
		if f.StringField("type") == "agent_stream_complete" {
			break
		}
		if f.StringField("type") == "agent_stream_delta" {
			index, _ := f["block_index"].(float64)
			streamed[index] += f.StringField("delta")
		}
	}
	kept := p.Transcript()[1].Content
	require.Equal(t, map[float64]string{0: kept[0].Thinking, 1: kept[1].Text, 2: string(kept[2].Input)}, streamed)
	want, err := json.Marshal(kept)
	require.NoError(t, err)
	require.JSONEq(t, string(want), content)
}

// After a cancel during a model call the agent works on the next query as usual. A cancel of
// another request id has no effect.
func TestCO11_CancelDuringModelCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startToolsAgent(t, builtin.Config{}, `{"content":"slow","delay_ms":3600000}`)
		p.InitAndAwaitReady(nil)
		from := len(p.Frames())
		p.SendQuery("go")
		p.AwaitFrame(from, "thinking", func(f frame) bool { return f.StringField("status") == "thinking" })
		synctest.Wait()
		p.SendFrame(frame{"type": "agent_cancel", "request_id": "another"})
		synctest.Wait()
		require.Empty(t, p.EventsOfType("cancelled"))
		p.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
		require.Equal(t, "ready", p.AwaitQueryEnd(from))
		require.Len(t, p.EventsOfType("cancelled"), 1)
		require.Equal(t, "the query was cancelled", p.EventsOfType("cancelled")[0].StringField("text"))

		from = len(p.Frames())
		p.SendQuery("again")
		p.AwaitFrame(from, "thinking", func(f frame) bool { return f.StringField("status") == "thinking" })
		synctest.Wait()
		time.Sleep(2 * time.Hour) //nolint:forbidigo // of the bubble's clock
		require.Equal(t, "done", p.AwaitQueryEnd(from))
		require.Len(t, p.EventsOfType("cancelled"), 1)
	})
}

// A cancel while a cell runs stops the cell and gives its call a result, and the
// conversation goes on.
func TestCO11_CancelWhileCellRuns(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{},
		agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"hang","auto_run":true}`, "get_context", `{}`, "delete_cell", `{"cell_id":"precious"}`),
		`{"content":"fine","expect":{"last_user_contains":"go on"}}`)
	p.InitAndAwaitReady(nil)
	from := len(p.Frames())
	p.SendQuery("go")
	p.AwaitFrame(from, "the cell", func(f frame) bool { return f.StringField("action") == "create_cell" })
	p.SendFrame(frame{"type": "agent_cancel"})
	require.Equal(t, "ready", p.AwaitQueryEnd(from))
	require.Len(t, p.EventsOfType("cancelled"), 1)

	results := p.ToolResults()
	require.Len(t, results, 3)
	for i := range results {
		text, isError := p.ToolResult(i)
		require.True(t, isError)
		require.Contains(t, text, "the query was cancelled")
	}
	for _, f := range p.FramesOfType("agent_action") {
		require.NotEqual(t, "delete_cell", f.StringField("action"), "the later calls of the reply are not run")
	}
	require.Equal(t, "done", p.QueryAndWait("go on"))
	stops := 0
	for _, f := range p.FramesOfType("agent_action") {
		if f.StringField("action") == "stop_cell" {
			stops++
			require.Equal(t, "c1", f.ObjectField("params").StringField("cell_id"))
		}
	}
	require.LessOrEqual(t, stops, 1) // none if the cancel came before the response
}

// Code that runs without a cell is stopped by the tx_id of its execute_code.
func TestCO11_CancelWhileCodeRuns(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{}, agenttest.ToolCallScriptLine("execute_code", `{"code":"while 1: pass"}`))
	running := make(chan string, 1)
	p.SetActionHook(func(action string, _ frame, tx string) bool {
		if action == "execute_code" {
			running <- tx
		}
		return true
	})
	p.InitAndAwaitReady(nil)
	from := len(p.Frames())
	p.SendQuery("go")
	tx := <-running
	p.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.AwaitQueryEnd(from))
	stop := p.AwaitFrame(from, "stop_cell", func(f frame) bool { return f.StringField("action") == "stop_cell" })
	require.Equal(t, tx, stop.ObjectField("params").StringField("agent_tx_id"))
}

// Queries of one conversation run one after the other; one that waits can be cancelled.
func TestCO11_WaitingQueryCanBeCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startToolsAgent(t, builtin.Config{}, `{"content":"one","delay_ms":1000}`, `{"content":"two","expect":{"last_user_contains":"third"}}`)
		p.InitAndAwaitReady(nil)
		for _, id := range []string{"first", "second", "third"} {
			p.SendFrame(frame{"type": "agent_query", "query": id, "request_id": id})
		}
		p.SendFrame(frame{"type": "agent_cancel", "request_id": "second"})
		p.AwaitFrame(0, "the last reply", func(f frame) bool {
			return f.StringField("type") == "agent_history_updated" && f.StringField("request_id") == "third" && f.ObjectField("entry").StringField("role") == "assistant"
		})
		synctest.Wait()
		require.Len(t, p.EventsOfType("cancelled"), 1)
	})
}

func TestCO2_SecondInitAbandonsPendingActions(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{}, agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"fine"}`)
	txIDs := make(chan string, 1)
	p.SetActionHook(func(_ string, _ frame, tx string) bool { txIDs <- tx; return true })
	p.InitAndAwaitReady(nil)
	p.SendQuery("go")
	tx := <-txIDs
	p.SendFrame(frame{"type": "init", "session_id": 8, "eval_mode": false})
	p.AwaitFrame(0, "the responses to two inits and the end of the query", func(frame) bool { return p.CountFramesWithField("status", "ready") == 3 })
	text, isError := p.ToolResult(0)
	require.True(t, isError)
	require.Equal(t, "OPERATION FAILED: 'get_context' was given up: the session was initialised again. The operation did not complete.", text)
	p.RespondToAction(tx, frame{"context": frame{}}) // a late response has no effect
	require.Equal(t, "done", p.QueryAndWait("again"))
	history := p.FramesOfType("agent_history_updated")
	require.Equal(t, "8", history[len(history)-1].StringField("session_id"))
}

func TestCO1_ClearHistory(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{}, `{"content":"first"}`, `{"content":"second"}`)
	p.InitAndAwaitReady(nil)
	for range 2 {
		require.Equal(t, "done", p.QueryAndWait("go"))
		history := p.Transcript()
		require.Equal(t, "first", history[len(history)-1].Content[0].Text) // the script starts again
		p.SendFrame(frame{"type": "agent_clear_history"})
	}
}

// Each action is a line on stderr, for people who follow an agent.
func TestEH9_ActionsAreLoggedOnStderr(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	p := startToolsAgent(t, builtin.Config{Stderr: &stderr, NewTxID: func() string { return "tx_000000000001" }}, agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "[agent] -> get_context tx_000000000001\n", stderr.String())
}

// The agent survives any frame of the server.
func FuzzServerFrames(f *testing.F) {
	f.Add([]byte(`{"type":"kernel_message","message":{"type":"cell_result","cell_id":"c1","run_sequencer":1,"cell_outputs":[5]}}`))
	f.Add([]byte(`{"type":"agent_action_response","tx_id":"tx_1","status":"error","error":5}`))
	f.Add([]byte(`{"type":"agent_action_response","tx_id":"tx_1","context":{"cells":[{"outputs":[{"data":{"image/png":{}}}]}]}}`))
	f.Add([]byte(`{"type":"init","limits":{"turns":-1}}`))
	f.Add([]byte("\x00\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		short := builtin.Limits{ActionTimeout: time.Second, CellTimeout: 10 * time.Millisecond} // for cells that do not exist
		p := startToolsAgent(t, builtin.Config{Limits: short, NewTxID: func() string { return "tx_1" }},
			agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"print 1","auto_run":true}`), agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"x"}`)
		p.SetActionHook(func(string, frame, string) bool {
			_ = p.Conn.Write(data)
			return false
		})
		p.InitAndAwaitReady(nil)
		from := len(p.Frames())
		p.SendQuery("go")
		p.AwaitQueryEnd(from)
	})
}
