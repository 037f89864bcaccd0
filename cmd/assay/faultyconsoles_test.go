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

// A console that stops reading is disconnected when its queue overflows. The other console and the
// agent are not affected.
func TestServe_DisconnectsNonReadingConsole(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	t.Parallel()
	s := startServe(t, serveConfig{})
	stuck := s.startProxy(t)
	c := s.connectView(t, "default")
	(&serveProcess{url: stuck.url, token: s.token}).connectView(t, "default")
	stuck.stopForwarding()
	for n := range 24 { // 96 MiB
		c.queryAgent("send(type='agent_event', text='x' * (4 << 20))")
		c.agent.awaitNthItem(t, n+1, "the end of the work", isAgentDone)
	}
	s.stderr.awaitItem(t, "the disconnect", func(line string) bool {
		return strings.Contains(line, "peer_ended view: too slow")
	})
	s.stop(t)
}

// A console whose network is gone does not answer a ping and is disconnected. One that answers
// stays connected.
func TestServe_PingFindsHalfOpenConsole(t *testing.T) {
	t.Parallel()
	web, err := server.New(server.Config{EvalSandbox: true, PingInterval: time.Second, Log: slog.New(slog.DiscardHandler)})
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
	connect := func(url string) *wsConn {
		w := (&serveProcess{url: url}).dial(t, "/agent", nil)
		w.send(jsonObject{"type": "init", "session_id": 1, "role": "view"})
		return w
	}
	alive, stuck := connect(s.url), connect(proxy.url)
	awaitConsoles := func(n string) {
		awaitCondition(t, "the number of consoles is not "+n, func() bool {
			_, metrics := s.get(t, "/metrics")
			return strings.Contains(metrics, "\nassay_consoles{endpoint=\"agent\"} "+n+"\n")
		})
	}
	awaitConsoles("2")
	proxy.stopForwarding()
	awaitConsoles("1")
	_, _, err = alive.snapshot()
	require.NoError(t, err)
	stuck.disconnect()
}

// proxy is a TCP proxy between consoles and a server. After stopForwarding it drops all data but
// keeps the connections open, like a broken network.
type proxy struct {
	url     string
	stopped chan struct{} // closed by stopForwarding
	once    sync.Once
}

// startProxy starts a proxy in front of the server.
func (s *serveProcess) startProxy(t *testing.T) *proxy {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{url: "http://" + ln.Addr().String(), stopped: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			backend, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				_ = client.Close()
				return
			}
			context.AfterFunc(ctx, func() { _, _ = client.Close(), backend.Close() })
			forwarding.Go(func() { p.forward(ctx, client, backend) })
			forwarding.Go(func() { p.forward(ctx, backend, client) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		cancel()
		forwarding.Wait()
	})
	return p
}

// stopForwarding stops forwarding on all connections. It may be called more than once.
func (p *proxy) stopForwarding() { p.once.Do(func() { close(p.stopped) }) }

// forward copies data until an error or stopForwarding. After the latter it waits for the end of
// ctx, which keeps the connections open.
func (p *proxy) forward(ctx context.Context, from io.Reader, to io.Writer) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-p.stopped:
			<-ctx.Done()
			return
		default:
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// The server answers invalid messages with an error, or closes the connection with a reason if
// they are the first ones, too large or binary. Kernel, agent and other consoles are not affected.
func TestServe_RejectsInvalidMessages(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--frame-limit", "1048576"}})
	c := s.connectView(t, "default")
	c.queryAgent("cell = start_cell('''" + sourceWaitingForFile("on my way", "go") + "''')\nreceive(has_type('agent_query'))\nopen('go', 'w').close()\nassert receive_from_cell('cell_result', cell)['status'] == 'ok'")
	c.agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "on my way"))

	deep := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	long := `{"type":"run_cell","cell_id":"x","code":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, path := range []string{"/run", "/agent"} {
		for name, first := range map[string]string{
			"no JSON": "hello", "a number": "7", "an array": "[]", "nothing": "", "deep": deep, "a type": `{"type":7}`, "no UTF-8": "{\"token\":\"\xff\"}",
		} {
			w := s.dial(t, path, nil)
			w.sendRaw(websocket.MessageText, first)
			closed := w.awaitClose(t)
			codes := []websocket.StatusCode{websocket.StatusPolicyViolation, websocket.StatusInvalidFramePayloadData, websocket.StatusMessageTooBig}
			require.Contains(t, codes, closed.Code, "%s %s: %s", path, name, closed.Reason)
			require.NotEmpty(t, closed.Reason, "%s %s", path, name)
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
		sender := s.connectView(t, "default")
		for _, w := range []*wsConn{sender.run, sender.agent} {
			w.sendRaw(tc.kind, tc.text)
			closed := w.awaitClose(t)
			require.Equal(t, tc.code, closed.Code, "%s: %s", name, closed.Reason)
			require.NotEmpty(t, closed.Reason, name)
		}
	}

	sender := s.connectView(t, "default")
	for _, text := range []string{"hello", "[]", `{"type":7}`, `{}`, deep, `{"type":"weather_report"}`, `{"type":"run_cell"}`, `{"type":"run_cell","cell_id":7,"code":{}}`, `{"type":"run_cell","cell_id":"nowhere","code":"1"}`} {
		before := len(sender.run.itemsMatching(hasType("error")))
		sender.run.sendRaw(websocket.MessageText, text)
		sender.run.awaitNthItem(t, before+1, "an answer to "+text[:min(len(text), 30)], hasType("error"))
	}
	for _, text := range []string{"hello", "[]", `{"type":7}`, deep, `{"type":"weather_report"}`} {
		before := len(sender.agent.itemsMatching(hasType("agent_error")))
		sender.agent.sendRaw(websocket.MessageText, text)
		sender.agent.awaitNthItem(t, before+1, "an answer to "+text[:min(len(text), 30)], hasType("agent_error"))
	}
	for name, params := range map[string]any{"run_cell": jsonObject{}, "create_cell": 7, "edit_cell": []int{1}, "no_such_action": nil} {
		sender.agent.send(jsonObject{"type": "notebook_action", "action": name, "params": params, "tx_id": name})
		answer := sender.agent.awaitItem(t, "an answer to "+name, func(m consoleMessage) bool { return m.TxID == name })
		require.Equal(t, "error", answer.Status, answer.body)
	}

	c.queryAgent("pass")
	c.agent.awaitItem(t, "the end of the work", isAgentDone)
	require.Empty(t, c.agent.itemsMatching(hasType("agent_error")))
	require.Empty(t, c.run.itemsMatching(hasType("error")), "errors go only to the console that caused them")
	require.Equal(t, []string{"ran"}, cellStatuses(c.shownCells(t)))
	status, _ := s.get(t, "/healthz")
	require.Equal(t, http.StatusOK, status)
	s.stop(t)
}

// sendRaw sends a message of any kind and text. It ignores errors.
func (w *wsConn) sendRaw(kind websocket.MessageType, text string) {
	_ = w.ws.Write(context.Background(), kind, []byte(text))
}
