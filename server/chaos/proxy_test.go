package chaos_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// faultyProxy forwards TCP connections of one client to the server over faulty links.
type faultyProxy struct {
	*rng
	url         string // "ws://127.0.0.1:…"
	serverAddr  string
	connections sync.WaitGroup
}

// faultyLink is one connection over a faultyProxy.
type faultyLink struct {
	slow   bool          // data arrives in pieces, and late
	limit  int           // bytes from the client after which the link fails
	fault  string        // how it fails: "cut", "silent" or "noise"
	closed chan struct{} // closed by end
	once   sync.Once
}

// startFaultyProxy starts a proxy that accepts connections until ctx ends. stop ends it
// and waits for its connections.
func startFaultyProxy(t *testing.T, ctx context.Context, random *rng, serverURL string) (proxy *faultyProxy, stop func()) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &faultyProxy{rng: random, url: "ws://" + ln.Addr().String(), serverAddr: strings.TrimPrefix(serverURL, "ws://")}
	p.connections.Go(func() {
		defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			link := p.newLink()
			p.connections.Go(func() { p.forward(ctx, conn, link) })
		}
	})
	return p, func() {
		_ = ln.Close()
		p.connections.Wait()
	}
}

func (p *faultyProxy) newLink() *faultyLink {
	l := &faultyLink{slow: p.oneIn(3), limit: 1 << 40, fault: p.pickText("cut", "cut", "silent", "noise"), closed: make(chan struct{})}
	if p.oneIn(3) {
		l.limit = 200 + p.IntN(8000)
	}
	return l
}

// forward connects a client to the server until the link ends.
func (p *faultyProxy) forward(ctx context.Context, client net.Conn, l *faultyLink) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.serverAddr)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	defer both.Wait()
	defer context.AfterFunc(ctx, l.end)()
	both.Go(func() { l.copyUntilFault(server, client, l.limit) })
	both.Go(func() { l.copyUntilFault(client, server, 1<<40) })
	<-l.closed
	for _, conn := range []net.Conn{client, server} {
		if tcp, ok := conn.(*net.TCPConn); ok && l.fault == "cut" {
			_ = tcp.SetLinger(0) // close with a reset
		}
		_ = conn.Close()
	}
}

func (l *faultyLink) end() { l.once.Do(func() { close(l.closed) }) }

// copyUntilFault copies data until either end closes, and lets the link fail after limit bytes.
func (l *faultyLink) copyUntilFault(to, from net.Conn, limit int) {
	buffer := make([]byte, 4<<10)
	for copied := 0; ; {
		n, err := from.Read(buffer)
		if err != nil {
			l.end()
			return
		}
		if copied += n; copied > limit {
			switch l.fault {
			case "cut":
				l.end()
				return
			case "silent":
				<-l.closed // nothing is forwarded any more, but the connection stays open
				return
			case "noise":
				buffer[n/2] ^= 0x55
			}
		}
		if !l.write(to, buffer[:n]) {
			l.end()
			return
		}
	}
}

// write returns false if the link has ended or the connection is broken.
func (l *faultyLink) write(to net.Conn, data []byte) bool {
	for len(data) > 0 {
		piece := len(data)
		if l.slow {
			piece = min(piece, 1+len(data)/3)
			if !sleepUnlessDone(l.closed, time.Millisecond) {
				return false
			}
		}
		if _, err := to.Write(data[:piece]); err != nil {
			return false
		}
		data = data[piece:]
	}
	return true
}
