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
	"assay/internal/protocol"
)

func TestCO1_ReadyThenInitThenQueries(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, `{"content":"hello"}`)
	p.query("too early")
	early := p.await(0, "an error", func(f frame) bool { return f.text("type") == "agent_error" })
	require.Equal(t, "agent_query came before init", early.text("error"))
	require.Equal(t, false, early["fatal"])

	p.init(nil)
	require.Equal(t, "done", p.ask("hi"))
	frames := p.seen()
	require.Equal(t, frame{"type": "ready"}, frames[0])
	require.Equal(t, "agent_status", frames[2].text("type"))

	history := p.history()
	require.Len(t, history, 2)
	entry := p.of("agent_history_updated")[1]
	require.Equal(t, "7", entry.text("session_id"))
	require.Equal(t, "q1", entry.text("request_id"))
	require.Equal(t, "anthropic_message", entry.object("entry").text("type"))
	require.Equal(t, "q1", entry.object("entry").text("request_id"))
	_, err := time.Parse(time.RFC3339, entry.object("entry").text("timestamp"))
	require.NoError(t, err)
}

func TestCO1_InitThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	for want, init := range map[string]frame{
		`the strategy "ticks"`: {"type": "init", "strategy": "ticks"},
		"init cannot be read":  {"type": "init", "session_id": "x"},
		"init.limits":          {"type": "init", "limits": frame{"turns": "x"}},
	} {
		p := startTools(t, builtin.Config{}, `{"content":"hello"}`)
		p.send(init)
		failure := p.await(0, "an error", func(f frame) bool { return f.text("type") == "agent_error" })
		require.Contains(t, failure.text("error"), want)
		require.Equal(t, true, failure["fatal"])
	}
}

func TestCO1_FramesThatMeanNothingAreIgnored(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, `{"content":"hello"}`)
	p.init(nil)
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
		p.send(f)
	}
	require.NoError(t, p.conn.Write([]byte("{")))
	require.Equal(t, "done", p.ask("hi"))
}

func TestCO1_EndsWithItsConnection(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]agentFunc{
		"noop": builtin.RunNoop,
		"oracle": func(ctx context.Context, conn protocol.Conn, cfg builtin.Config) error {
			return builtin.RunOracle(ctx, conn, builtin.Solution{}, cfg)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, run, builtin.Config{})
			p.init(nil)
			require.NoError(t, p.conn.Close(protocol.CloseNormal, ""))
			require.NoError(t, <-p.over)
		})
	}
}

func TestCO1_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ours, theirs := protocol.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	over := make(chan error, 1)
	go func() { over <- builtin.RunNoop(ctx, theirs, builtin.Config{}) }() // blocked: nobody reads its ready
	cancel(stop)
	require.ErrorIs(t, <-over, stop)
	_, err := ours.Read()
	require.Error(t, err)
}

func TestCO1_RunNeedsAModel(t *testing.T) {
	t.Parallel()
	_, theirs := protocol.Pipe()
	require.EqualError(t, builtin.Run(t.Context(), theirs, builtin.Config{}), "the agent needs a model")
}

// A failure of the model ends the query and not the agent.
func TestCO6_RefusalOfTheModelIsFatalAndClear(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{},
		`{"error":{"status":401,"body":{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}}}`, `{"content":"hi"}`)
	p.init(frame{"eval_mode": true})
	require.Equal(t, "script: 401 authentication_error: invalid x-api-key", p.ask("go"))
	require.Equal(t, true, p.of("agent_error")[0]["fatal"])
	require.Empty(t, p.of("agent_usage_update"))
}

func TestCO7_RepliesAreShownWhileTheyArrive(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, uses("get_context", `{}`), `{"content":"done"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	var kinds []string
	for _, f := range p.seen() {
		switch kind := f.text("type"); kind {
		case "agent_stream_start", "agent_stream_block_start", "agent_stream_delta", "agent_stream_block_stop", "agent_stream_complete", "agent_history_updated":
			kinds = append(kinds, kind)
		}
	}
	one := []string{"agent_stream_start", "agent_stream_block_start", "agent_stream_delta", "agent_stream_block_stop", "agent_stream_complete", "agent_history_updated"}
	want := append([]string{"agent_history_updated"}, one...)
	want = append(append(want, "agent_history_updated"), one...)
	require.Equal(t, want, kinds)
	block := p.of("agent_stream_block_start")[0]
	require.Equal(t, "tool_use", block.text("block_type"))
	require.Equal(t, "get_context", block.text("block_name"))
	require.Equal(t, "toolu_0_0", block.text("block_id"))
	require.InDelta(t, 0, block["block_index"], 0)
	require.Equal(t, "{}", p.of("agent_stream_delta")[0].text("delta"))
}

// What is streamed adds up to what is committed.
func TestCO7_StreamsAddUp(t *testing.T) {
	t.Parallel()
	content := `[{"type":"thinking","thinking":"Sö, 数据?","signature":"s"},{"type":"text","text":"I look 🙂 first."},` +
		`{"type":"tool_use","id":"x","name":"execute_code","input":{"code":"print('数据 🙂')"}}]`
	p := startStrict(t, builtin.Config{}, `{"content":`+content+`}`, `{"content":"done"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	streamed := map[float64]string{}
	for _, f := range p.seen() {
		if f.text("type") == "agent_stream_complete" {
			break
		}
		if f.text("type") == "agent_stream_delta" {
			index, _ := f["block_index"].(float64)
			streamed[index] += f.text("delta")
		}
	}
	kept := p.history()[1].Content
	require.Equal(t, map[float64]string{0: kept[0].Thinking, 1: kept[1].Text, 2: string(kept[2].Input)}, streamed)
	want, err := json.Marshal(kept)
	require.NoError(t, err)
	require.JSONEq(t, string(want), content)
}

// Cancelled while the model thinks: the agent takes the next query as if
// nothing had happened.
func TestCO11_CancelWhileTheModelThinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startTools(t, builtin.Config{}, `{"content":"slow","delay_ms":3600000}`)
		p.init(nil)
		from := len(p.seen())
		p.query("go")
		p.await(from, "thinking", func(f frame) bool { return f.text("status") == "thinking" })
		synctest.Wait()
		p.send(frame{"type": "agent_cancel", "request_id": "another"})
		synctest.Wait()
		require.Empty(t, p.events("cancelled"))
		p.send(frame{"type": "agent_cancel", "request_id": "q1"})
		require.Equal(t, "ready", p.ends(from))
		require.Len(t, p.events("cancelled"), 1)
		require.Equal(t, "the query was cancelled", p.events("cancelled")[0].text("text"))

		from = len(p.seen())
		p.query("again")
		p.await(from, "thinking", func(f frame) bool { return f.text("status") == "thinking" })
		synctest.Wait()
		time.Sleep(2 * time.Hour) //nolint:forbidigo // of the bubble's clock
		require.Equal(t, "done", p.ends(from))
		require.Len(t, p.events("cancelled"), 1)
	})
}

// Cancelled while a cell runs: it is interrupted, its call gets a result, and
// the conversation goes on.
func TestCO11_CancelWhileACellRuns(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{},
		uses("create_cell", `{"position":0,"source":"hang","auto_run":true}`, "get_context", `{}`, "delete_cell", `{"cell_id":"precious"}`),
		`{"content":"fine","expect":{"last_user_contains":"go on"}}`)
	p.init(nil)
	from := len(p.seen())
	p.query("go")
	p.await(from, "the cell", func(f frame) bool { return f.text("action") == "create_cell" })
	p.send(frame{"type": "agent_cancel"})
	require.Equal(t, "ready", p.ends(from))
	require.Len(t, p.events("cancelled"), 1)

	results := p.results()
	require.Len(t, results, 3)
	for i := range results {
		text, isError := p.resultText(i)
		require.True(t, isError)
		require.Contains(t, text, "the query was cancelled")
	}
	for _, f := range p.of("agent_action") {
		require.NotEqual(t, "delete_cell", f.text("action"), "nothing more of the reply is carried out")
	}
	require.Equal(t, "done", p.ask("go on"))
	stops := 0
	for _, f := range p.of("agent_action") {
		if f.text("action") == "stop_cell" {
			stops++
			require.Equal(t, "c1", f.object("params").text("cell_id"))
		}
	}
	require.LessOrEqual(t, stops, 1) // none, when the cancel came before the answer
}

// Code that execute_code runs is stopped by the id of its request.
func TestCO11_CancelWhileCodeRuns(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, uses("execute_code", `{"code":"while 1: pass"}`))
	running := make(chan string, 1)
	p.onAction(func(action string, _ frame, tx string) bool {
		if action == "execute_code" {
			running <- tx
		}
		return true
	})
	p.init(nil)
	from := len(p.seen())
	p.query("go")
	tx := <-running
	p.send(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.ends(from))
	stop := p.await(from, "stop_cell", func(f frame) bool { return f.text("action") == "stop_cell" })
	require.Equal(t, tx, stop.object("params").text("agent_tx_id"))
}

// Queries wait for each other; one that waits can be cancelled too.
func TestCO11_WaitingQueriesCanBeCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startTools(t, builtin.Config{}, `{"content":"one","delay_ms":1000}`, `{"content":"two","expect":{"last_user_contains":"third"}}`)
		p.init(nil)
		for _, id := range []string{"first", "second", "third"} {
			p.send(frame{"type": "agent_query", "query": id, "request_id": id})
		}
		p.send(frame{"type": "agent_cancel", "request_id": "second"})
		p.await(0, "the last reply", func(f frame) bool {
			return f.text("type") == "agent_history_updated" && f.text("request_id") == "third" && f.object("entry").text("role") == "assistant"
		})
		synctest.Wait()
		require.Len(t, p.events("cancelled"), 1)
	})
}

func TestCO2_ReinitGivesUpWhatIsPending(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, uses("get_context", `{}`), `{"content":"fine"}`)
	asked := make(chan string, 1)
	p.onAction(func(_ string, _ frame, tx string) bool { asked <- tx; return true })
	p.init(nil)
	p.query("go")
	tx := <-asked
	p.send(frame{"type": "init", "session_id": 8, "eval_mode": false})
	p.await(0, "the answers to two inits and the end of the query", func(frame) bool { return p.count("status", "ready") == 3 })
	text, isError := p.resultText(0)
	require.True(t, isError)
	require.Equal(t, "OPERATION FAILED: 'get_context' was given up: the session was initialised again. The operation did not complete.", text)
	p.answer(tx, frame{"context": frame{}}) // late: of no effect
	require.Equal(t, "done", p.ask("again"))
	history := p.of("agent_history_updated")
	require.Equal(t, "8", history[len(history)-1].text("session_id"))
}

func TestCO1_ClearHistory(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, `{"content":"first"}`, `{"content":"second"}`)
	p.init(nil)
	for range 2 {
		require.Equal(t, "done", p.ask("go"))
		history := p.history()
		require.Equal(t, "first", history[len(history)-1].Content[0].Text) // a new conversation
		p.send(frame{"type": "agent_clear_history"})
	}
}

// The line by which a person follows an agent.
func TestEH9_OperationsAreNoted(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	p := startTools(t, builtin.Config{Stderr: &stderr, NewID: func() string { return "tx_000000000001" }}, uses("get_context", `{}`), `{"content":"x"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "[agent] -> get_context tx_000000000001\n", stderr.String())
}

// Whatever the server sends, the agent works on.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"type":"kernel_message","message":{"type":"cell_result","cell_id":"c1","run_sequencer":1,"cell_outputs":[5]}}`))
	f.Add([]byte(`{"type":"agent_action_response","tx_id":"tx_1","status":"error","error":5}`))
	f.Add([]byte(`{"type":"agent_action_response","tx_id":"tx_1","context":{"cells":[{"outputs":[{"data":{"image/png":{}}}]}]}}`))
	f.Add([]byte(`{"type":"init","limits":{"turns":-1}}`))
	f.Add([]byte("\x00\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		soon := builtin.Limits{Action: time.Second, Cell: 10 * time.Millisecond} // for cells that never were
		p := startTools(t, builtin.Config{Limits: soon, NewID: func() string { return "tx_1" }},
			uses("create_cell", `{"position":0,"source":"print 1","auto_run":true}`), uses("get_context", `{}`), `{"content":"x"}`)
		p.onAction(func(string, frame, string) bool {
			_ = p.conn.Write(data)
			return false
		})
		p.init(nil)
		from := len(p.seen())
		p.query("go")
		p.ends(from)
	})
}
