package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/model/script"
	"assay/internal/protocol"
)

// frame is a frame that the agent sent.
type frame map[string]any

func (f frame) text(name string) string {
	text, _ := f[name].(string)
	return text
}

func (f frame) object(name string) frame {
	object, _ := f[name].(map[string]any)
	return object
}

// peer is the server at the other end of the agent's connection: a router, a
// notebook and a kernel of the simplest kind. A cell's source says what its run
// does: "print TEXT", "fail TEXT", "hang" until it is stopped, or nothing.
type peer struct {
	t    *testing.T
	conn protocol.Conn
	over chan error // what the agent returned

	// hook sees an action first and answers it itself when it returns true. It
	// runs on the goroutine that reads.
	hook func(action string, params frame, tx string) bool

	// onFrame sees each frame that the agent sends, on the goroutine that reads.
	onFrame func(frame)

	evaluation bool // the last init began one

	writing sync.Mutex
	mu      sync.Mutex
	frames  []frame
	arrived chan struct{} // closed and replaced with each frame
	cells   []string
	sources map[string]string
	made    int
	runs    int
	hanging map[string]int // cell: its run
}

// agentFunc is one of the agents of the package.
type agentFunc func(context.Context, protocol.Conn, builtin.Config) error

// start runs an agent with a peer. The agent is ended with the test.
func start(t *testing.T, run agentFunc, cfg builtin.Config) *peer {
	t.Helper()
	ours, theirs := protocol.Pipe()
	p := &peer{
		t: t, conn: ours, over: make(chan error, 1), arrived: make(chan struct{}),
		sources: map[string]string{}, hanging: map[string]int{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { p.over <- run(ctx, theirs, cfg) })
	group.Go(p.read)
	t.Cleanup(func() {
		_ = ours.Close(protocol.CloseNormal, "")
		group.Wait()
		cancel()
	})
	return p
}

// startTools runs the agent with tools on a scripted model.
func startTools(t *testing.T, cfg builtin.Config, lines ...string) *peer {
	t.Helper()
	script, err := script.Parse("script.jsonl", []byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	cfg.Model = script.Client()
	return start(t, builtin.Run, cfg)
}

func (p *peer) read() {
	for {
		body, err := p.conn.Read()
		if err != nil {
			return
		}
		var f frame
		if err := json.Unmarshal(body, &f); err != nil {
			p.t.Errorf("the agent sent no JSON: %q", body)
			return
		}
		p.mu.Lock()
		p.frames = append(p.frames, f)
		close(p.arrived)
		p.arrived = make(chan struct{})
		hook, onFrame := p.hook, p.onFrame
		p.mu.Unlock()
		if onFrame != nil {
			onFrame(f)
		}
		if f.text("type") == "agent_action" {
			action, params, tx := f.text("action"), f.object("params"), f.text("tx_id")
			if hook == nil || !hook(action, params, tx) {
				p.act(action, params, tx)
			}
		}
	}
}

// send writes a frame, of which nobody complains when the agent has ended.
func (p *peer) send(message frame) {
	body, err := json.Marshal(message)
	if err != nil {
		p.t.Errorf("frame: %v", err)
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	_ = p.conn.Write(body)
}

func (p *peer) answer(tx string, fields frame) {
	message := frame{"type": "agent_action_response", "tx_id": tx, "status": "success"}
	maps.Copy(message, fields)
	p.send(message)
}

// onAction sets the hook.
func (p *peer) onAction(hook func(action string, params frame, tx string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// act is the notebook.
func (p *peer) act(action string, params frame, tx string) {
	cellID := params.text("cell_id")
	run, _ := params["auto_run"].(bool)
	switch action {
	case "get_context":
		p.answer(tx, frame{"context": p.context()})
	case "create_cell", "create_markdown_cell":
		p.made++
		cellID = fmt.Sprintf("c%d", p.made)
		p.cells, p.sources[cellID] = append(p.cells, cellID), params.text("source")
		p.answer(tx, frame{"cell_id": cellID})
	case "edit_cell":
		p.sources[cellID] = params.text("source")
		p.answer(tx, frame{"cell_id": cellID})
	case "delete_cell":
		p.cells = slices.DeleteFunc(p.cells, func(id string) bool { return id == cellID })
		p.answer(tx, frame{"cell_count": len(p.cells)})
	case "run_cell":
		run = true
		p.answer(tx, frame{"cell_id": cellID})
	case "stop_cell":
		p.answer(tx, frame{"cell_id": cellID})
		if sequencer, ok := p.hanging[cellID]; ok {
			delete(p.hanging, cellID)
			p.result(cellID, sequencer, frame{"status": "interrupted"})
		}
	case "set_widget":
		p.answer(tx, frame{"key": params["key"]})
	case "execute_code":
		p.answer(tx, frame{"result": "42", "stdout": params.text("code")})
	case "request_globals_summary":
		p.answer(tx, frame{"summary": frame{"x": frame{"type": "int"}}})
	case "request_reactivity_summary":
		p.answer(tx, frame{"summary": "## Reactive"})
	}
	if run {
		p.run(cellID)
	}
}

func (p *peer) context() frame {
	cells := []frame{}
	for i, id := range p.cells {
		cells = append(cells, frame{
			"index": i, "cell_id": id, "tf_id": id, "cell_type": "code", "source": p.sources[id], "status": "idle",
			"outputs": []frame{{"output_type": "stream", "name": "stdout", "text": "printed by " + id}},
			"widgets": []frame{{"key": id + "/w", "type": "slider", "value": 3}},
		})
	}
	return frame{"cell_count": len(cells), "notebook_name": "nb", "cells": cells}
}

// run is the kernel.
func (p *peer) run(cellID string) {
	p.runs++
	p.send(frame{"type": "kernel_message", "message": frame{"type": "start_cell", "cell_id": cellID, "run_sequencer": p.runs}})
	verb, text, _ := strings.Cut(p.sources[cellID], " ")
	switch verb {
	case "hang":
		p.hanging[cellID] = p.runs
	case "mute": // a kernel that sends no cell_result
		p.send(frame{"type": "kernel_message", "message": frame{"type": "start_cell", "cell_id": nil, "run_sequencer": p.runs}})
	case "fail":
		p.result(cellID, p.runs, frame{"status": "error", "has_exception": true, "exception": "Traceback\nValueError: " + text})
	case "print":
		p.result(cellID, p.runs, frame{"logs": text + "\n"})
	default:
		p.result(cellID, p.runs, nil)
	}
}

// result ends a run.
func (p *peer) result(cellID string, sequencer int, fields frame) {
	message := frame{"type": "cell_result", "cell_id": cellID, "run_sequencer": sequencer, "status": "ok", "duration_ms": 1}
	maps.Copy(message, fields)
	p.send(frame{"type": "kernel_message", "message": message})
}

// init initialises the agent and waits for its answer.
func (p *peer) init(fields frame) {
	p.t.Helper()
	message := frame{"type": "init", "session_id": 7, "eval_mode": false}
	maps.Copy(message, fields)
	p.evaluation = message["eval_mode"] == true
	seen := len(p.seen())
	p.send(message)
	p.await(seen, "agent_status ready", func(f frame) bool { return f.text("status") == "ready" })
}

func (p *peer) query(text string) {
	p.send(frame{"type": "agent_query", "query": text, "request_id": "q1"})
}

// seen returns the frames so far.
func (p *peer) seen() []frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.frames)
}

// await waits for a frame after the first from of them.
func (p *peer) await(from int, what string, match func(frame) bool) frame {
	p.t.Helper()
	deadline := time.NewTimer(time.Hour) // of a synctest clock, or longer than the test may take
	defer deadline.Stop()
	for {
		p.mu.Lock()
		frames, arrived := p.frames, p.arrived
		p.mu.Unlock()
		if i := slices.IndexFunc(frames[from:], match); i >= 0 {
			return frames[from+i]
		}
		select {
		case <-arrived:
		case err := <-p.over:
			require.FailNow(p.t, "the agent ended", "while waiting for %s: %v", what, err)
		case <-deadline.C:
			require.FailNow(p.t, "nothing came", "while waiting for %s", what)
		}
	}
}

// ends waits until a query has ended, and returns the status or the fatal error,
// behind which the agent is ready again outside of an evaluation.
func (p *peer) ends(from int) string {
	p.t.Helper()
	rests := func(f frame) bool { return !slices.Contains([]string{"", "thinking", "executing"}, f.text("status")) }
	f := p.await(from, "the end of the query", func(f frame) bool { return rests(f) || f["fatal"] == true })
	if f["fatal"] == true && !p.evaluation {
		require.Equal(p.t, "ready", p.await(from, "the status behind the error", rests).text("status"))
	}
	return f.text("status") + f.text("error")
}

// ask sends a query and waits for its end.
func (p *peer) ask(text string) string {
	p.t.Helper()
	from := len(p.seen())
	p.query(text)
	return p.ends(from)
}

// of returns the frames of a type.
func (p *peer) of(kind string) []frame {
	var out []frame
	for _, f := range p.seen() {
		if f.text("type") == kind {
			out = append(out, f)
		}
	}
	return out
}

// count is how many frames have a text in a field.
func (p *peer) count(field, text string) int {
	n := 0
	for _, f := range p.seen() {
		if f.text(field) == text {
			n++
		}
	}
	return n
}

// history is the conversation as the server saw it.
func (p *peer) history() []model.Message {
	p.t.Helper()
	var out []model.Message
	for _, f := range p.of("agent_history_updated") {
		raw, err := json.Marshal(f["entry"])
		require.NoError(p.t, err)
		var m model.Message
		require.NoError(p.t, json.Unmarshal(raw, &m))
		out = append(out, m)
	}
	return out
}

// results returns every tool result of the conversation.
func (p *peer) results() []model.Block {
	p.t.Helper()
	var out []model.Block
	for _, m := range p.history() {
		for _, b := range m.Content {
			if b.Type == model.BlockToolResult {
				out = append(out, b)
			}
		}
	}
	return out
}

// result returns the text of result number i, and whether it is an error.
func (p *peer) resultText(i int) (string, bool) {
	p.t.Helper()
	all := p.results()
	require.Greater(p.t, len(all), i)
	return model.PlainText(all[i].Content), all[i].IsError
}

// events returns the events with a metadata type.
func (p *peer) events(kind string) []frame {
	return slices.DeleteFunc(p.of("agent_event"), func(f frame) bool { return f.object("metadata").text("type") != kind })
}

// uses is a line of a script that calls tools: name, input, name, input.
func uses(calls ...string) string {
	var blocks []string
	for i := 0; i < len(calls); i += 2 {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","name":%q,"input":%s}`, calls[i], calls[i+1]))
	}
	return `{"content":[` + strings.Join(blocks, ",") + `]}`
}

// submits is a line of a script that hands in an answer.
func submits(answer string) string {
	return uses("submit_response", fmt.Sprintf(`{"summary":"<EVAL_ANSWER>%s</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}`, answer))
}
