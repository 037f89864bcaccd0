package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/server"
)

// A console that does not read any more is sent away, when there is too much for
// it; another one and the agent do not feel it.
func TestServe_DisconnectsNonReadingConsole(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{})
	deaf := s.startProxy(t)
	c := s.connectView(t, "default")
	(&serveProcess{url: deaf.url, token: s.token}).connectView(t, "default")
	deaf.stopForwarding()
	for n := range 24 { // 96 MiB
		c.queryAgent("send(type='agent_event', text='x' * (4 << 20))")
		c.agent.awaitNth(t, n+1, "the end of the work", isAgentDone)
	}
	s.stderr.await(t, "that it is sent away", func(line string) bool {
		return strings.Contains(line, "peer_ended view: too slow")
	})
	s.stop(t)
}

// One whose machine has gone without a word is found out by a ping that it does
// not answer; one that answers stays.
func TestServe_PingFindsHalfOpenConsole(t *testing.T) {
	t.Parallel()
	web, err := server.New(server.Config{EvalSandbox: true, PingInterval: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	web.PublishAttempts(server.DefaultSessionID)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = web.Run(ctx, ln) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	s := &serveProcess{url: "http://" + ln.Addr().String(), token: server.EvalSandboxToken}
	proxy := s.startProxy(t)
	come := func(url string) *wsConn {
		w := (&serveProcess{url: url}).dial(t, "/agent", nil)
		w.send(jsonObject{"type": "init", "session_id": 1, "role": "view"})
		return w
	}
	alive, deaf := come(s.url), come(proxy.url)
	consoles := func(n string) {
		eventually(t, "there are not "+n+" consoles", func() bool {
			_, metrics := s.get(t, "/metrics")
			return strings.Contains(metrics, "\nassay_consoles{endpoint=\"agent\"} "+n+"\n")
		})
	}
	consoles("2")
	proxy.stopForwarding()
	consoles("1")
	_, _, err = alive.snapshot()
	require.NoError(t, err)
	deaf.disconnect()
}

// proxy passes on what a console and the server say to each other, until it
// swallows everything and closes nothing, as a network does that has gone.
type proxy struct {
	url     string
	stopped chan struct{}
	once    sync.Once
}

func (s *serveProcess) startProxy(t *testing.T) *proxy {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{url: "http://" + ln.Addr().String(), stopped: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				_ = near.Close()
				return
			}
			context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
			passing.Go(func() { p.forward(ctx, near, far) })
			passing.Go(func() { p.forward(ctx, far, near) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		cancel()
		passing.Wait()
	})
	return p
}

// stopForwarding stops all passing on.
func (p *proxy) stopForwarding() { p.once.Do(func() { close(p.stopped) }) }

func (p *proxy) forward(ctx context.Context, from io.Reader, to io.Writer) {
	block := make([]byte, 32<<10)
	for {
		n, err := from.Read(block)
		select {
		case <-p.stopped:
			<-ctx.Done()
			return
		default:
		}
		if err != nil {
			return
		}
		if _, err := to.Write(block[:n]); err != nil {
			return
		}
	}
}

// What a console says that makes no sense is answered, or ends its connection
// with a reason; kernel, agent and the other consoles go on.
func TestServe_RejectsInvalidMessages(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--frame-limit", "1048576"}})
	c := s.connectView(t, "default")
	c.queryAgent("cell = start_cell('''" + sourceWaitingForFile("on my way", "go") + "''')\nreceive(has_type('agent_query'))\nopen('go', 'w').close()\nassert receive_from_cell('cell_result', cell)['status'] == 'ok'")
	c.agent.await(t, "the run", contains("kernel_stdio", "on my way"))

	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	long := `{"type":"run_cell","cell_id":"x","code":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, path := range []string{"/run", "/agent"} {
		for name, first := range map[string]string{
			"no JSON": "hello", "a number": "7", "an array": "[]", "nothing": "", "deep": deep, "a type": `{"type":7}`, "no UTF-8": "{\"token\":\"\xff\"}",
		} {
			w := s.dial(t, path, nil)
			w.sendRaw(websocket.MessageText, first)
			how := w.awaitClose(t)
			refusals := []websocket.StatusCode{websocket.StatusPolicyViolation, websocket.StatusInvalidFramePayloadData, websocket.StatusMessageTooBig}
			require.Contains(t, refusals, how.Code, "%s %s: %s", path, name, how.Reason)
			require.NotEmpty(t, how.Reason, "%s %s", path, name)
		}
	}
	for name, tc := range map[string]struct {
		kind websocket.MessageType
		text string
		code websocket.StatusCode
	}{
		"too large": {websocket.MessageText, long, websocket.StatusMessageTooBig},
		"binary":    {websocket.MessageBinary, "{}", websocket.StatusUnsupportedData},
	} {
		odd := s.connectView(t, "default")
		for _, w := range []*wsConn{odd.run, odd.agent} {
			w.sendRaw(tc.kind, tc.text)
			how := w.awaitClose(t)
			require.Equal(t, tc.code, how.Code, "%s: %s", name, how.Reason)
			require.NotEmpty(t, how.Reason, name)
		}
	}

	odd := s.connectView(t, "default")
	for _, text := range []string{"hello", "[]", `{"type":7}`, `{}`, deep, `{"type":"weather_report"}`, `{"type":"run_cell"}`, `{"type":"run_cell","cell_id":7,"code":{}}`, `{"type":"run_cell","cell_id":"nowhere","code":"1"}`} {
		before := len(odd.run.matching(hasType("error")))
		odd.run.sendRaw(websocket.MessageText, text)
		odd.run.awaitNth(t, before+1, "an answer to "+text[:min(len(text), 30)], hasType("error"))
	}
	for _, text := range []string{"hello", "[]", `{"type":7}`, deep, `{"type":"weather_report"}`} {
		before := len(odd.agent.matching(hasType("agent_error")))
		odd.agent.sendRaw(websocket.MessageText, text)
		odd.agent.awaitNth(t, before+1, "an answer to "+text[:min(len(text), 30)], hasType("agent_error"))
	}
	for name, params := range map[string]any{"run_cell": jsonObject{}, "create_cell": 7, "edit_cell": []int{1}, "no_such_action": nil} {
		odd.agent.send(jsonObject{"type": "notebook_action", "action": name, "params": params, "tx_id": name})
		answer := odd.agent.await(t, "an answer to "+name, func(m message) bool { return m.TxID == name })
		require.Equal(t, "error", answer.Status, answer.body)
	}

	c.queryAgent("pass")
	c.agent.await(t, "the end of the work", isAgentDone)
	require.Empty(t, c.agent.matching(hasType("agent_error")))
	require.Empty(t, c.run.matching(hasType("error")), "what another has done is nothing to this one")
	require.Equal(t, []string{"ran"}, statuses(c.shownCells(t)))
	status, _ := s.get(t, "/healthz")
	require.Equal(t, http.StatusOK, status)
	s.stop(t)
}

func (w *wsConn) sendRaw(kind websocket.MessageType, text string) {
	_ = w.ws.Write(context.Background(), kind, []byte(text))
}
