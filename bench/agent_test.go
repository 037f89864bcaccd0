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

// notebookOverview is the result of get_context in these measurements, the only tool that
// the model calls.
const notebookOverview = "notebook, 3 cells"

// fakeMessagesAPI is an HTTP server with Anthropic's Messages API that replies at once,
// whatever it is sent: every reply calls get_context, except the last one, which is text.
type fakeMessagesAPI struct {
	replyCount int // replies of the conversation, the last one included

	mu            sync.Mutex
	requestCount  int
	keepBodies    bool
	requestBodies [][]byte // only if keepBodies is set
}

// start starts the API on loopback until the test ends and returns its base URL.
func (a *fakeMessagesAPI) start(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(a)
	t.Cleanup(web.Close)
	return web.URL
}

// ServeHTTP answers a request with one streamed reply.
func (a *fakeMessagesAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a.mu.Lock()
	a.requestCount++
	n := a.requestCount
	if a.keepBodies {
		a.requestBodies = append(a.requestBodies, body)
	}
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	block, delta, stop := `{"type":"text","text":""}`, `{"type":"text_delta","text":"done"}`, "end_turn"
	if n < a.replyCount {
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

// reset starts a new conversation: it clears the count and the bodies of requests.
func (a *fakeMessagesAPI) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requestCount, a.requestBodies = 0, nil
}

// measureAgent measures the built-in agent with a model that takes no time: time per
// turn, start, memory in a long conversation, and cacheable prefixes.
func measureAgent(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	const turns, rounds = 50, 9
	a := &fakeMessagesAPI{replyCount: turns}
	url := a.start(t)
	client := anthropic.NewClient(option.WithAPIKey("any"), option.WithBaseURL(url), option.WithMaxRetries(0))
	a.keepBodies = true
	runBuiltinAgent(t, url)
	first := parseModelRequest(t, a.requestBodies[0])
	a.keepBodies = false
	series := measureInTurns(rounds,
		measuredSystem{runRound: func() []time.Duration { return a.timePerTurn(func() { runVendorToolRunner(t, client, first, turns) }) }},
		measuredSystem{runRound: func() []time.Duration { return a.timePerTurn(func() { runBuiltinAgent(t, url) }) }},
	)
	floor, ours := series[0], series[1]
	r.addSection("The agent: time per turn without the model",
		fmt.Sprintf("A conversation of %d turns with a Messages API on loopback that replies at once and calls a tool that answers at once. `assay\n"+
			"agent` is the built-in agent with its tools, which also sends every message and every piece of a stream to a server, over an\n"+
			"in-memory pipe. It is compared with the tool runner of the vendor's own SDK, streaming, with the same tools and system\n"+
			"prompt. In turns, %d rounds; the API's time is in both.", turns, rounds))
	ratio, spread := compareRounds(ours.percentileByRound(50), floor.percentileByRound(50))
	cpuRatio, cpuSpread := compareRounds(divideEach(ours.cpuPerOperation, turns), divideEach(floor.cpuPerOperation, turns))
	r.addTable(
		[]string{"per turn", "wall", "ratio", "spread", "CPU, both ends", "ratio", "spread", "aim"},
		[]string{"the SDK's tool runner", floor.formatPercentile(50), "", "", formatDuration(median(floor.cpuPerOperation) / turns), "", "", ""},
		[]string{"`assay agent`", ours.formatPercentile(50), ratio, spread, formatDuration(median(ours.cpuPerOperation) / turns), cpuRatio, cpuSpread, "parity"},
	)
	t.Logf("a turn: %s against %s, %s", ours.formatPercentile(50), floor.formatPercentile(50), ratio)
	measureAgentProcess(t, r, p)
	measureCacheablePrefix(t, r)
}

// divideEach divides each duration by of, and returns nanoseconds.
func divideEach(took []time.Duration, of int) []float64 {
	out := make([]float64, len(took))
	for i, d := range took {
		out[i] = float64(d) / float64(of)
	}
	return out
}

// timePerTurn runs a whole conversation and returns one value: the average time of a
// turn.
func (a *fakeMessagesAPI) timePerTurn(converse func()) []time.Duration {
	a.reset()
	began := time.Now()
	converse()
	return []time.Duration{time.Since(began) / time.Duration(a.replyCount)}
}

// modelRequest holds the parts of a Messages API request that a cache depends on.
type modelRequest struct {
	System   json.RawMessage
	Tools    json.RawMessage
	Messages json.RawMessage
}

// parseModelRequest parses the body of a request after removing its cache markers.
func parseModelRequest(t *testing.T, body []byte) (r modelRequest) {
	t.Helper()
	body = regexp.MustCompile(`,?"cache_control":\{[^}]*\}`).ReplaceAll(body, nil)
	require.NoError(t, json.Unmarshal(body, &r))
	return r
}

// runVendorToolRunner runs the conversation with the tool runner of Anthropic's SDK, with
// the tools and the system prompt of like, a request of our agent.
func runVendorToolRunner(t *testing.T, client anthropic.Client, like modelRequest, turns int) {
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
				return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: notebookOverview}}, nil
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

// runBuiltinAgent runs the conversation with the built-in agent, over an in-memory pipe.
func runBuiltinAgent(t *testing.T, url string) {
	t.Helper()
	client, err := modelanthropic.New("any", endpoint.Config{APIKey: "any", BaseURL: url})
	require.NoError(t, err)
	ours, theirs := protocol.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- tools.Run(context.Background(), theirs, tools.Config{Agent: builtin.Config{Model: client, ModelName: "anthropic/any"}})
	}()
	serveOneQuery(t, ours, nil)
	require.NoError(t, ours.Close(protocol.CloseNormal, ""))
	require.NoError(t, <-over)
}

// serveOneQuery plays the server for an agent: sends one query, answers each action at
// once, and returns when the agent reports that it is done. It calls seen, if not nil,
// with every message.
func serveOneQuery(t *testing.T, conn protocol.Conn, seen func(message protocol.Envelope)) {
	t.Helper()
	decoder := protocol.NewEnvelopeDecoder()
	send := func(message any) {
		body, err := protocol.Marshal(message)
		require.NoError(t, err)
		require.NoError(t, conn.Write(body))
	}
	send(protocol.AgentInit{Type: protocol.TypeInit, SessionID: 1})
	send(protocol.AgentQuery{Type: protocol.TypeAgentQuery, Query: "go", RequestID: "q"})
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
			send(map[string]any{
				"type": protocol.TypeActionResponse, "tx_id": message.TxID, "status": protocol.StatusSuccess,
				"context": map[string]any{"cell_count": 0, "notebook_name": notebookOverview, "cells": []any{}},
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

// measureAgentProcess measures `assay agent` as a process: its start, and memory and time
// per turn in a long conversation.
func measureAgentProcess(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	const starts, turns, step = 30, 500, 100
	var floor, took []time.Duration
	for i := range starts + 1 {
		a := timeCommand(t, p.path, "version")
		b := startAgentProcess(t, p, "http://127.0.0.1:1").stop(t)
		if i > 0 {
			floor, took = append(floor, a), append(took, b)
		}
	}
	r.addSection("The agent: start of its process", fmt.Sprintf("From the start of `assay agent` to its `ready`, compared with the whole of `assay version`, %d rounds.", starts))
	r.addTable([]string{"", "median", "p99", "ratio", "spread"}, ratioRow("`assay version`", floor, floor), ratioRow("`assay agent` to `ready`", floor, took))
	t.Logf("start to ready %s", formatDuration(median(took)))

	r.addSection("The agent: a long conversation", fmt.Sprintf("One conversation of %d turns as above, with the agent as a process: its peak memory (VmHWM), and the average time per turn in\n"+
		"the last %d turns. A request contains the whole conversation, so a turn takes longer as the conversation grows; the time\n"+
		"should grow evenly.", turns, step))
	a := &fakeMessagesAPI{replyCount: turns}
	agent := startAgentProcess(t, p, a.start(t))
	table := [][]string{{"turns", "peak memory", "time per turn"}}
	replies, began := 0, time.Now()
	serveOneQuery(t, agent.conn, func(message protocol.Envelope) {
		if message.Type != protocol.TypeAgentUsageUpdate {
			return
		}
		if replies++; replies%step == 0 {
			table = append(table, []string{strconv.Itoa(replies), fmt.Sprintf("%d MiB", agent.peakMemoryBytes(t)>>20), formatDuration(time.Since(began) / step)})
			began = time.Now()
		}
	})
	agent.stop(t)
	r.addTable(table...)
	t.Logf("memory %v", table[1:])
}

// agentProcess is a running `assay agent` that has sent ready.
type agentProcess struct {
	cmd           *exec.Cmd
	conn          protocol.Conn
	startDuration time.Duration // from the start of the process to ready
}

// startAgentProcess starts `assay agent` with a model at url and waits for its first
// message, ready.
func startAgentProcess(t *testing.T, p *assayProgram, url string) agentProcess {
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

// stop closes the connection, waits for the process to exit, and returns how long its
// start took.
func (a agentProcess) stop(t *testing.T) time.Duration {
	t.Helper()
	require.NoError(t, a.conn.Close(protocol.CloseNormal, ""))
	require.NoError(t, a.cmd.Wait())
	return a.startDuration
}

// peakMemoryBytes returns the peak resident memory of the process so far (VmHWM), in
// bytes.
func (a agentProcess) peakMemoryBytes(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	require.NoError(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, found)
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// measureCacheablePrefix counts the requests that change something which an earlier
// request already contained. A prompt cache is useless behind the first byte that
// differs.
func measureCacheablePrefix(t *testing.T, r *report) {
	t.Helper()
	const turns = 50
	a := &fakeMessagesAPI{replyCount: turns, keepBodies: true}
	runBuiltinAgent(t, a.start(t))
	require.Len(t, a.requestBodies, turns)
	violations := 0
	for i := 1; i < turns; i++ {
		if !bytes.HasPrefix(requestPrefix(t, a.requestBodies[i]), requestPrefix(t, a.requestBodies[i-1])) {
			violations++
		}
	}
	r.addSection("The agent: cacheable prefix", fmt.Sprintf("Over %d turns, the number of requests that do not begin with the bytes of the request before (tools, system prompt, messages;\n"+
		"without the cache markers, which move): **%d**, aim 0.", turns, violations))
	t.Logf("prefix violations: %d", violations)
}

// requestPrefix returns tools, system prompt and messages of a request without the final
// bracket, so that a request which only adds messages begins with the requestPrefix of
// the one before.
func requestPrefix(t *testing.T, body []byte) []byte {
	t.Helper()
	r := parseModelRequest(t, body)
	return bytes.TrimSuffix(bytes.Join([][]byte{r.Tools, r.System, r.Messages}, nil), []byte("]"))
}
