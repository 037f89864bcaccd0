//go:build bench

package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/agent/builtin"
	"assay/agent/builtin/tools"
	"assay/internal/model"
	modelanthropic "assay/internal/model/anthropic"
	"assay/internal/model/endpoint"
	"assay/internal/protocol"
)

// overview is what the one tool of these measures returns: a notebook as the
// agent sees it when a few cells have run.
const overview = "notebook, 3 cells"

// api is a Messages API that thinks no time at all: it calls get_context in each
// reply but the last, whatever it is asked.
type api struct {
	turns int // replies until the last

	mu     sync.Mutex
	asked  int
	keep   bool
	bodies [][]byte // of the requests, if they are kept
}

// serve starts the API and returns its address.
func (a *api) serve(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(a)
	t.Cleanup(web.Close)
	return web.URL
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a.mu.Lock()
	a.asked++
	n := a.asked
	if a.keep {
		a.bodies = append(a.bodies, body)
	}
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	block, delta, stop := `{"type":"text","text":""}`, `{"type":"text_delta","text":"done"}`, "end_turn"
	if n < a.turns {
		block = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"get_context","input":{}}`, n)
		delta, stop = `{"type":"input_json_delta","partial_json":"{}"}`, "tool_use"
	}
	for _, event := range []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"any","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`,
	} {
		kind, _, _ := strings.Cut(strings.TrimPrefix(event, `{"type":"`), `"`)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, event)
	}
}

// begin lets the conversation begin anew.
func (a *api) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked, a.bodies = 0, nil
}

// measureAgent measures the built-in agent where the model costs no time.
func measureAgent(t *testing.T, r *report, p *program) {
	t.Helper()
	const turns, rounds = 50, 9
	a := &api{turns: turns}
	url := a.serve(t)
	client := anthropic.NewClient(option.WithAPIKey("any"), option.WithBaseURL(url), option.WithMaxRetries(0))
	a.keep = true
	ourLoop(t, url)
	first := readRequest(t, a.bodies[0])
	a.keep = false
	series := inTurns(rounds,
		contestant{turn: func() []time.Duration { return a.perTurn(func() { vendorLoop(t, client, first, turns) }) }},
		contestant{turn: func() []time.Duration { return a.perTurn(func() { ourLoop(t, url) }) }},
	)
	floor, ours := series[0], series[1]
	r.section("The agent: a turn without the model's time",
		fmt.Sprintf("A conversation of %d turns with a Messages API on loopback that answers at once and calls a tool that answers at once. Ours is\n"+
			"the built-in agent with its tools, which also tells a server of every message and every piece of a stream, over an in-memory\n"+
			"pipe; beside it the tool runner of the vendor's own SDK, streaming, with the same tools and instructions. In turns, %d rounds;\n"+
			"the API's time is in both.", turns, rounds))
	ratio, spread := over(ours.each(50), floor.each(50))
	cpuRatio, cpuSpread := over(perOne(ours.cpu, turns), perOne(floor.cpu, turns))
	r.table(
		[]string{"per turn", "wall", "ratio", "spread", "CPU, both ends", "ratio", "spread", "aim"},
		[]string{"the SDK's tool runner", floor.show(50), "", "", show(median(floor.cpu) / turns), "", "", ""},
		[]string{"`assay agent`", ours.show(50), ratio, spread, show(median(ours.cpu) / turns), cpuRatio, cpuSpread, "parity"},
	)
	t.Logf("a turn: %s against %s, %s", ours.show(50), floor.show(50), ratio)
	measureAgentProcess(t, r, p)
	measurePrefix(t, r)
}

// perOne is what one of so many took.
func perOne(took []time.Duration, of int) []float64 {
	out := make([]float64, len(took))
	for i, d := range took {
		out[i] = float64(d) / float64(of)
	}
	return out
}

// perTurn is how long a turn of a whole conversation took.
func (a *api) perTurn(converse func()) []time.Duration {
	a.begin()
	began := time.Now()
	converse()
	return []time.Duration{time.Since(began) / time.Duration(a.turns)}
}

// request is what a model was asked.
type request struct {
	System   json.RawMessage
	Tools    json.RawMessage
	Messages json.RawMessage
}

// readRequest reads a request without its cache markers.
func readRequest(t *testing.T, body []byte) (r request) {
	t.Helper()
	body = regexp.MustCompile(`,?"cache_control":\{[^}]*\}`).ReplaceAll(body, nil)
	require.NoError(t, json.Unmarshal(body, &r))
	return r
}

// vendorLoop lets the SDK's tool runner go through the conversation, with the
// tools and the instructions of a request of ours.
func vendorLoop(t *testing.T, client anthropic.Client, like request, turns int) {
	t.Helper()
	var system []anthropic.BetaTextBlockParam
	require.NoError(t, json.Unmarshal(like.System, &system))
	var offered []model.Tool
	require.NoError(t, json.Unmarshal(like.Tools, &offered))
	tools := make([]anthropic.BetaTool, len(offered))
	for i, o := range offered {
		var err error
		tools[i], err = toolrunner.NewBetaToolFromBytes(o.Name, o.Description, o.InputSchema,
			func(context.Context, struct{}) (anthropic.BetaToolResultBlockParamContentUnion, error) {
				return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: overview}}, nil
			})
		require.NoError(t, err)
	}
	runner := client.Beta.Messages.NewToolRunnerStreaming(tools, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "any", MaxTokens: 1000, System: system,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))},
		},
		MaxIterations: turns + 1,
	})
	for events, err := range runner.AllStreaming(t.Context()) {
		require.NoError(t, err)
		for _, err := range events {
			require.NoError(t, err)
		}
	}
	require.Equal(t, turns, runner.IterationCount())
}

// ourLoop lets the built-in agent go through the conversation.
func ourLoop(t *testing.T, url string) {
	t.Helper()
	client, err := modelanthropic.New("any", endpoint.Config{APIKey: "any", BaseURL: url})
	require.NoError(t, err)
	ours, theirs := protocol.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- tools.Run(context.Background(), theirs, tools.Config{Agent: builtin.Config{Model: client, ModelName: "anthropic/any"}})
	}()
	converse(t, ours, nil)
	require.NoError(t, ours.Close(protocol.CloseNormal, ""))
	require.NoError(t, <-over)
}

// converse is the server of an agent during one query: it answers at once.
func converse(t *testing.T, conn protocol.Conn, seen func(message protocol.Envelope)) {
	t.Helper()
	decoder := protocol.NewEnvelopeDecoder()
	say := func(message any) {
		body, err := protocol.Marshal(message)
		require.NoError(t, err)
		require.NoError(t, conn.Write(body))
	}
	say(protocol.AgentInit{Type: protocol.TypeInit, SessionID: 1})
	say(protocol.AgentQuery{Type: protocol.TypeAgentQuery, Query: "go", RequestID: "q"})
	for {
		body, err := conn.Read()
		require.NoError(t, err)
		message, err := decoder.Decode(body)
		require.NoError(t, err)
		if seen != nil {
			seen(message)
		}
		switch message.Type {
		case protocol.TypeAgentAction:
			say(map[string]any{
				"type": protocol.TypeActionResponse, "tx_id": message.TxID, "status": protocol.StatusSuccess,
				"context": map[string]any{"cell_count": 0, "notebook_name": overview, "cells": []any{}},
			})
		case protocol.TypeAgentError:
			require.Fail(t, "the agent failed", "%s", body)
		}
		var status protocol.AgentStatus
		if message.Type == protocol.TypeAgentStatus && json.Unmarshal(body, &status) == nil && status.Status == protocol.AgentDone {
			return
		}
	}
}

// measureAgentProcess measures the agent as a process: its start, and what it
// needs for a long conversation.
func measureAgentProcess(t *testing.T, r *report, p *program) {
	t.Helper()
	const starts, turns, step = 30, 500, 100
	var floor, took []time.Duration
	for i := range starts + 1 {
		a := wallOf(t, p.path, "version")
		b := startAgent(t, p, "http://127.0.0.1:1").ended(t)
		if i > 0 {
			floor, took = append(floor, a), append(took, b)
		}
	}
	r.section("The agent: its process", fmt.Sprintf("From the start of `assay agent` to its `ready`, beside the whole of `assay version`, %d rounds.", starts))
	r.table([]string{"", "median", "p99", "ratio", "spread"}, compared("`assay version`", floor, floor), compared("`assay agent` to `ready`", floor, took))
	t.Logf("start to ready %s", show(median(took)))

	r.section("The agent: a long conversation", fmt.Sprintf("One conversation of %d turns as above, with the agent as a process: the most memory that it had (VmHWM), and how long the last %d\n"+
		"turns took each. A request holds all that was said before, so the work of a turn grows with the conversation: what matters is\n"+
		"that it grows evenly.", turns, step))
	a := &api{turns: turns}
	agent := startAgent(t, p, a.serve(t))
	table := [][]string{{"turns", "peak memory", "a turn took"}}
	replies, began := 0, time.Now()
	converse(t, agent.conn, func(message protocol.Envelope) {
		if message.Type != protocol.TypeAgentUsageUpdate {
			return
		}
		if replies++; replies%step == 0 {
			table = append(table, []string{strconv.Itoa(replies), fmt.Sprintf("%d MiB", agent.peak(t)>>20), show(time.Since(began) / step)})
			began = time.Now()
		}
	})
	agent.ended(t)
	r.table(table...)
	t.Logf("memory %v", table[1:])
}

// agentProcess is an assay agent that has said ready.
type agentProcess struct {
	cmd  *exec.Cmd
	conn protocol.Conn
	took time.Duration // until it was ready
}

func startAgent(t *testing.T, p *program, url string) agentProcess {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	socket, err := net.FileConn(ours)
	require.NoError(t, err)
	require.NoError(t, ours.Close())
	cmd := exec.CommandContext(t.Context(), p.path, "agent", "--model", "anthropic/any", "--model-arg", "base_url="+url, "3")
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), "ANTHROPIC_API_KEY=any"), []*os.File{theirs}
	began := time.Now()
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	conn := protocol.NewStream(socket, 0)
	_, err = conn.Read()
	require.NoError(t, err)
	return agentProcess{cmd, conn, time.Since(began)}
}

// ended ends the process, and returns how long its start took.
func (a agentProcess) ended(t *testing.T) time.Duration {
	t.Helper()
	require.NoError(t, a.conn.Close(protocol.CloseNormal, ""))
	require.NoError(t, a.cmd.Wait())
	return a.took
}

// peak is the most memory that the process has had, in bytes.
func (a agentProcess) peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	require.NoError(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, found)
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// measurePrefix counts how often something changes in what a model has been
// told before: a cache is of no use behind the first byte that differs.
func measurePrefix(t *testing.T, r *report) {
	t.Helper()
	const turns = 50
	a := &api{turns: turns, keep: true}
	ourLoop(t, a.serve(t))
	require.Len(t, a.bodies, turns)
	violations := 0
	for i := 1; i < turns; i++ {
		if !bytes.HasPrefix(withoutEnd(t, a.bodies[i]), withoutEnd(t, a.bodies[i-1])) {
			violations++
		}
	}
	r.section("The agent: what a cache can keep", fmt.Sprintf("Over %d turns, how often a request does not begin with the bytes of the one before it (tools, system prompt, messages; without the\n"+
		"cache markers, which move): **%d**, aim 0.", turns, violations))
	t.Logf("prefix violations: %d", violations)
}

// withoutEnd writes a request such that one that goes on begins with the bytes
// of the one before.
func withoutEnd(t *testing.T, body []byte) []byte {
	t.Helper()
	r := readRequest(t, body)
	return bytes.TrimSuffix(bytes.Join([][]byte{r.Tools, r.System, r.Messages}, nil), []byte("]"))
}
