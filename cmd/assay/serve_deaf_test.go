package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/server"
)

// A console that does not read any more is sent away, when there is too much for
// it; another one and the agent do not feel it.
func TestServe_DeafConsole(t *testing.T) {
	t.Parallel()
	s := open(t, plan{})
	deaf := s.throughProxy(t)
	c := s.view(t, "default")
	(&station{url: deaf.url, token: s.token}).view(t, "default")
	deaf.swallow()
	for n := range 24 { // 96 MiB
		c.tell("send(type='agent_event', text='x' * (4 << 20))")
		c.agent.awaitNth(t, n+1, "the end of the work", finished)
	}
	s.said.await(t, "that it is sent away", func(line string) bool {
		return strings.Contains(line, "peer_ended view: too slow")
	})
	s.stop(t)
}

// One whose machine has gone without a word is found out by a ping that it does
// not answer; one that answers stays.
func TestServe_HalfOpenConsole(t *testing.T) {
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
	s := &station{url: "http://" + ln.Addr().String(), token: server.EvalSandboxToken}
	proxy := s.throughProxy(t)
	come := func(url string) *wire {
		w := (&station{url: url}).dial(t, "/agent", nil)
		w.say(fields{"type": "init", "session_id": 1, "role": "view"})
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
	proxy.swallow()
	consoles("1")
	_, _, err = alive.state()
	require.NoError(t, err)
	deaf.breaks()
}

// proxy passes on what a console and the server say to each other, until it
// swallows everything and closes nothing, as a network does that has gone.
type proxy struct {
	url  string
	gate chan struct{}
	once sync.Once
}

func (s *station) throughProxy(t *testing.T) *proxy {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{url: "http://" + ln.Addr().String(), gate: make(chan struct{})}
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
			passing.Go(func() { p.pass(ctx, near, far) })
			passing.Go(func() { p.pass(ctx, far, near) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		cancel()
		passing.Wait()
	})
	return p
}

// swallow stops all passing on.
func (p *proxy) swallow() { p.once.Do(func() { close(p.gate) }) }

func (p *proxy) pass(ctx context.Context, from io.Reader, to io.Writer) {
	block := make([]byte, 32<<10)
	for {
		n, err := from.Read(block)
		select {
		case <-p.gate:
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
