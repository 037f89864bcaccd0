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

// generous bounds waits that end at once unless something is broken.
const generous = 20 * time.Second

type frame map[string]any

func (f frame) text(name string) string {
	text, _ := f[name].(string)
	return text
}

// session is the server at the other end of an agent's connection, with the
// simplest of notebooks: a cell "hang" runs until it is stopped, "picture" shows
// one, any other prints its source.
type session struct {
	t      *testing.T
	conn   protocol.Conn
	socket string
	dir    string
	over   chan error // what the agent returned

	writing sync.Mutex
	mu      sync.Mutex
	frames  []frame
	arrived chan struct{} // closed and replaced with each frame
	cells   int
	hanging map[string]bool
	printed strings.Builder
}

// start runs an agent. It is ended with the test.
func start(t *testing.T, cfg mcp.Config) *session {
	t.Helper()
	ours, theirs := protocol.Pipe()
	s := &session{
		t: t, conn: ours, dir: t.TempDir(), over: make(chan error, 1),
		arrived: make(chan struct{}), hanging: map[string]bool{},
	}
	s.socket = mcp.Socket(s.dir, "s")
	cfg.Socket, cfg.Dir, cfg.Program, cfg.Stderr = s.socket, s.dir, "/bin/assay", s
	cfg.Environ = append(cfg.Environ, os.Environ()...)
	var group sync.WaitGroup
	group.Go(func() { s.over <- mcp.Run(context.Background(), theirs, cfg) })
	group.Go(s.read)
	t.Cleanup(func() {
		_ = ours.Close(protocol.CloseNormal, "")
		group.Wait()
	})
	s.await("ready", ofType("ready"))
	s.send(frame{"type": "init", "session_id": 1})
	s.await("its answer", func(f frame) bool { return f.text("status") == "ready" })
	return s
}

// Write takes what the agent's command prints.
func (s *session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.printed.Write(p)
}

func (s *session) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.printed.String()
}

func (s *session) read() {
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
		if f.text("type") == "agent_action" {
			s.act(f)
		}
		s.mu.Lock()
		s.frames = append(s.frames, f)
		close(s.arrived)
		s.arrived = make(chan struct{})
		s.mu.Unlock()
	}
}

func (s *session) send(message frame) {
	body, err := json.Marshal(message)
	if err != nil {
		s.t.Errorf("frame: %v", err)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.conn.Write(body)
}

// act is the notebook and its kernel.
func (s *session) act(f frame) {
	params, _ := f["params"].(map[string]any)
	p := frame(params)
	answer := frame{"type": "agent_action_response", "tx_id": f["tx_id"], "status": "success"}
	cell := p.text("cell_id")
	switch f.text("action") {
	case "create_cell":
		s.cells++
		cell = fmt.Sprintf("c%d", s.cells)
		answer["cell_id"] = cell
		s.send(answer)
		s.run(cell, p.text("source"))
	case "stop_cell":
		s.send(answer)
		if s.hanging[cell] {
			s.result(cell, frame{"status": "interrupted"})
		}
	case "get_context":
		answer["context"] = frame{"cell_count": s.cells, "notebook_name": "nb", "cells": []any{}}
		s.send(answer)
	case "execute_code":
		answer["stdout"] = p.text("code")
		s.send(answer)
	default:
		answer["status"], answer["error"] = "error", "there is no cell "+cell
		s.send(answer)
	}
}

func (s *session) run(cell, source string) {
	s.send(frame{"type": "kernel_message", "message": frame{"type": "start_cell", "cell_id": cell, "run_sequencer": s.cells}})
	switch source {
	case "hang":
		s.hanging[cell] = true
	case "picture":
		s.result(cell, frame{"cell_outputs": []frame{{"output_type": "display_data", "data": frame{"image/png": picture}}}})
	default:
		s.result(cell, frame{"logs": source + "\n"})
	}
}

// picture is a PNG of one pixel.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="

func (s *session) result(cell string, fields frame) {
	delete(s.hanging, cell)
	message := frame{"type": "cell_result", "cell_id": cell, "run_sequencer": s.cells, "status": "ok"}
	maps.Copy(message, fields)
	s.send(frame{"type": "kernel_message", "message": message})
}

func ofType(kind string) func(frame) bool {
	return func(f frame) bool { return f.text("type") == kind }
}

func isAction(action string) func(frame) bool {
	return func(f frame) bool { return f.text("action") == action }
}

func isStatus(status string) func(frame) bool {
	return func(f frame) bool { return f.text("status") == status && f.text("type") == "agent_status" }
}

// await waits for a frame, one of them that have come too.
func (s *session) await(what string, match func(frame) bool) frame {
	s.t.Helper()
	deadline := time.NewTimer(generous)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		frames, arrived := s.frames, s.arrived
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

func (s *session) count(match func(frame) bool) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.frames {
		if match(f) {
			n++
		}
	}
	return n
}

func (s *session) query(text string) {
	s.send(frame{"type": "agent_query", "query": text, "request_id": "q-" + text})
}

// http is a client of HTTP that finds everything at the session's socket.
func (s *session) http() *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.socket)
	}}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// overHTTP connects the official client by streamable HTTP.
func (s *session) overHTTP(options *sdk.ClientOptions) *sdk.ClientSession {
	s.t.Helper()
	return s.connect(&sdk.StreamableClientTransport{Endpoint: "http://assay/", HTTPClient: s.http()}, options)
}

// overStdio connects the official client by a bridge.
func (s *session) overStdio(options *sdk.ClientOptions) *sdk.ClientSession {
	s.t.Helper()
	toBridge, fromBridge, over := bridge(s.t, mcp.Address{Socket: s.socket})
	s.t.Cleanup(func() { s.t.Log("the bridge:", <-over) })
	return s.connect(&sdk.IOTransport{Reader: fromBridge, Writer: toBridge}, options)
}

// bridge runs one; over has what it returned.
func bridge(t *testing.T, to mcp.Address) (in io.WriteCloser, out io.ReadCloser, over chan error) {
	t.Helper()
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	over = make(chan error, 1)
	go func() {
		err := mcp.Bridge(context.Background(), to, inReader, outWriter)
		_ = inReader.Close()
		_ = outWriter.Close()
		over <- err
	}()
	return inWriter, outReader, over
}

func (s *session) connect(transport sdk.Transport, options *sdk.ClientOptions) *sdk.ClientSession {
	s.t.Helper()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options).Connect(s.t.Context(), transport, nil)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// call calls a tool and returns its result's text.
func call(t *testing.T, client *sdk.ClientSession, name string, arguments any) (string, *sdk.CallToolResult) {
	t.Helper()
	result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	return textOf(result), result
}

func textOf(result *sdk.CallToolResult) string {
	var text []string
	for _, content := range result.Content {
		if piece, ok := content.(*sdk.TextContent); ok {
			text = append(text, piece.Text)
		}
	}
	return strings.Join(text, "\n")
}

// both has a test done with a client on each of the transports.
func both(t *testing.T, test func(t *testing.T, connect func(*session, *sdk.ClientOptions) *sdk.ClientSession)) {
	t.Helper()
	for name, connect := range map[string]func(*session, *sdk.ClientOptions) *sdk.ClientSession{
		"http": (*session).overHTTP, "stdio": (*session).overStdio,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, connect)
		})
	}
}
