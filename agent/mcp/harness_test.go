package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"assay/agent/mcp"
	"assay/internal/protocol"
)

// maxTestWaitTimeout bounds waits that end soon unless something is broken.
const maxTestWaitTimeout = 20 * time.Second

// frame is a decoded frame.
type frame map[string]any

func (f frame) StringField(name string) string {
	text, _ := f[name].(string)
	return text
}

// fakeServerHarness is a fake server at the other end of an agent's connection, with a simple
// notebook: a cell "hang" runs until it is stopped, "picture" displays an image, any other
// prints its source.
type fakeServerHarness struct {
	t      *testing.T
	conn   protocol.Conn
	socket string
	dir    string
	ended  chan error // what the agent returned

	writeMu      sync.Mutex
	mu           sync.Mutex
	frames       []frame
	frameArrived chan struct{} // closed and replaced with each frame
	cellCount    int
	hanging      map[string]bool
	output       strings.Builder
}

// startAgent runs an agent and initialises it. It ends with the test.
func startAgent(t *testing.T, cfg mcp.Config) *fakeServerHarness {
	t.Helper()
	ours, theirs := protocol.Pipe()
	s := &fakeServerHarness{
		t: t, conn: ours, dir: t.TempDir(), ended: make(chan error, 1),
		frameArrived: make(chan struct{}), hanging: map[string]bool{},
	}
	s.socket = mcp.SocketPath(s.dir)
	cfg.Socket, cfg.WorkDir, cfg.Program, cfg.Stderr = s.socket, s.dir, "/bin/assay", s
	cfg.Environ = append(cfg.Environ, os.Environ()...)
	var group sync.WaitGroup
	group.Go(func() { s.ended <- mcp.Run(context.Background(), theirs, cfg) })
	group.Go(s.readFrames)
	t.Cleanup(func() {
		_ = ours.Close(protocol.CloseNormal, "")
		group.Wait()
	})
	s.awaitFrame("ready", isFrameOfType("ready"))
	s.sendFrame(frame{"type": "init", "session_id": 1})
	s.awaitFrame("its answer", func(f frame) bool { return f.StringField("status") == "ready" })
	return s
}

// Write collects the output of the agent's command.
func (s *fakeServerHarness) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.Write(p)
}

func (s *fakeServerHarness) outputText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.String()
}

func (s *fakeServerHarness) readFrames() {
	for {
		body, err := s.conn.Read()
		if err != nil {
			return
		}
		f := frame{}
		if err := json.Unmarshal(body, &f); err != nil {
			s.t.Errorf("the agent sent no JSON: %q", body)
			return
		}
		if f.StringField("type") == "agent_action" {
			s.handleAction(f)
		}
		s.mu.Lock()
		s.frames = append(s.frames, f)
		close(s.frameArrived)
		s.frameArrived = make(chan struct{})
		s.mu.Unlock()
	}
}

func (s *fakeServerHarness) sendFrame(message frame) {
	body, err := json.Marshal(message)
	if err != nil {
		s.t.Errorf("frame: %v", err)
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	_ = s.conn.Write(body)
}

// handleAction is the notebook.
func (s *fakeServerHarness) handleAction(f frame) {
	params, _ := f["params"].(map[string]any)
	p := frame(params)
	answer := frame{"type": "agent_action_response", "tx_id": f["tx_id"], "status": "success"}
	cell := p.StringField("cell_id")
	switch f.StringField("action") {
	case "create_cell":
		s.cellCount++
		cell = fmt.Sprintf("c%d", s.cellCount)
		answer["cell_id"] = cell
		s.sendFrame(answer)
		s.runCell(cell, p.StringField("source"))
	case "stop_cell":
		s.sendFrame(answer)
		if s.hanging[cell] {
			s.finishRun(cell, frame{"status": "interrupted"})
		}
	case "get_context":
		answer["context"] = frame{"cell_count": s.cellCount, "notebook_name": "nb", "cells": []any{}}
		s.sendFrame(answer)
	case "execute_code":
		answer["stdout"] = p.StringField("code")
		s.sendFrame(answer)
	default:
		answer["status"], answer["error"] = "error", "there is no cell "+cell
		s.sendFrame(answer)
	}
}

func (s *fakeServerHarness) runCell(cell, source string) {
	s.sendFrame(frame{"type": "kernel_message", "message": frame{"type": "start_cell", "cell_id": cell, "run_sequencer": s.cellCount}})
	switch source {
	case "hang":
		s.hanging[cell] = true
	case "picture":
		s.finishRun(cell, frame{"cell_outputs": []frame{{"output_type": "display_data", "data": frame{"image/png": tinyPNG}}}})
	default:
		s.finishRun(cell, frame{"logs": source + "\n"})
	}
}

// tinyPNG is a PNG of one pixel.
const tinyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="

func (s *fakeServerHarness) finishRun(cell string, fields frame) {
	delete(s.hanging, cell)
	message := frame{"type": "cell_result", "cell_id": cell, "run_sequencer": s.cellCount, "status": "ok"}
	maps.Copy(message, fields)
	s.sendFrame(frame{"type": "kernel_message", "message": message})
}

func isFrameOfType(kind string) func(frame) bool {
	return func(f frame) bool { return f.StringField("type") == kind }
}

func isActionNamed(action string) func(frame) bool {
	return func(f frame) bool { return f.StringField("action") == action }
}

func isStatus(status string) func(frame) bool {
	return func(f frame) bool {
		return f.StringField("status") == status && f.StringField("type") == "agent_status"
	}
}

// awaitFrame returns the first frame that matches, which may have come already. what names it in
// the failure.
func (s *fakeServerHarness) awaitFrame(what string, match func(frame) bool) frame {
	s.t.Helper()
	deadline := time.NewTimer(maxTestWaitTimeout)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		frames, arrived := s.frames, s.frameArrived
		s.mu.Unlock()
		if i := slices.IndexFunc(frames, match); i >= 0 {
			return frames[i]
		}
		select {
		case <-arrived:
		case <-deadline.C:
			require.FailNow(s.t, "nothing came", "while waiting for %s", what)
		}
	}
}

func (s *fakeServerHarness) countFrames(match func(frame) bool) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.frames {
		if match(f) {
			n++
		}
	}
	return n
}

func (s *fakeServerHarness) sendQuery(text string) {
	s.sendFrame(frame{"type": "agent_query", "query": text, "request_id": "q-" + text})
}

// httpClient returns an HTTP client that connects every request to the agent's socket.
func (s *fakeServerHarness) httpClient() *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.socket)
	}}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// connectHTTP connects an SDK client over streamable HTTP.
func (s *fakeServerHarness) connectHTTP(options *sdk.ClientOptions) *sdk.ClientSession {
	s.t.Helper()
	return s.connect(&sdk.StreamableClientTransport{Endpoint: "http://assay/", HTTPClient: s.httpClient()}, options)
}

// connectStdio connects an SDK client over a bridge.
func (s *fakeServerHarness) connectStdio(options *sdk.ClientOptions) *sdk.ClientSession {
	s.t.Helper()
	toBridge, fromBridge, ended := startBridge(s.t, mcp.Address{Socket: s.socket})
	s.t.Cleanup(func() { s.t.Log("the bridge:", <-ended) })
	return s.connect(&sdk.IOTransport{Reader: fromBridge, Writer: toBridge}, options)
}

// startBridge runs a bridge between pipes. ended gets what it returned.
func startBridge(t *testing.T, to mcp.Address) (in io.WriteCloser, out io.ReadCloser, ended chan error) {
	t.Helper()
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ended = make(chan error, 1)
	go func() {
		err := mcp.Bridge(context.Background(), to, inReader, outWriter)
		_ = inReader.Close()
		_ = outWriter.Close()
		ended <- err
	}()
	return inWriter, outReader, ended
}

func (s *fakeServerHarness) connect(transport sdk.Transport, options *sdk.ClientOptions) *sdk.ClientSession {
	s.t.Helper()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options).Connect(s.t.Context(), transport, nil)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// callTool calls a tool and returns the text of its result, and the result.
func callTool(t *testing.T, client *sdk.ClientSession, name string, arguments any) (string, *sdk.CallToolResult) {
	t.Helper()
	result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	return resultText(result), result
}

func resultText(result *sdk.CallToolResult) string {
	var text []string
	for _, content := range result.Content {
		if piece, ok := content.(*sdk.TextContent); ok {
			text = append(text, piece.Text)
		}
	}
	return strings.Join(text, "\n")
}

// runOverBothTransports runs a test with clients over HTTP and over a bridge.
func runOverBothTransports(t *testing.T, test func(t *testing.T, connect func(*fakeServerHarness, *sdk.ClientOptions) *sdk.ClientSession)) {
	t.Helper()
	for name, connect := range map[string]func(*fakeServerHarness, *sdk.ClientOptions) *sdk.ClientSession{
		"http": (*fakeServerHarness).connectHTTP, "stdio": (*fakeServerHarness).connectStdio,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, connect)
		})
	}
}
