package server_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy is a bad line to a server: what it does to a connection depends on the
// dice. It is one console's, which connects one after the other.
type proxy struct {
	*dice
	url   string // "ws://127.0.0.1:…"
	to    string
	conns sync.WaitGroup
}

// badLine is one connection over a proxy.
type badLine struct {
	pieces bool          // what passes comes in pieces, and late
	limit  int           // bytes from the console after which it fails
	fails  string        // how: "cut", "silent" or "noise"
	done   chan struct{} // closed when it is to end
	once   sync.Once
}

// newProxy listens until ctx ends, and is gone when the returned function
// returns.
func newProxy(t *testing.T, ctx context.Context, d *dice, url string) (*proxy, func()) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{dice: d, url: "ws://" + ln.Addr().String(), to: strings.TrimPrefix(url, "ws://")}
	p.conns.Go(func() {
		defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			l := p.line()
			p.conns.Go(func() { p.connect(ctx, conn, l) })
		}
	})
	return p, func() {
		_ = ln.Close()
		p.conns.Wait()
	}
}

func (p *proxy) line() *badLine {
	l := &badLine{pieces: p.chance(3), limit: 1 << 40, fails: p.pick("cut", "cut", "silent", "noise"), done: make(chan struct{})}
	if p.chance(3) {
		l.limit = 200 + p.IntN(8000)
	}
	return l
}

func (p *proxy) connect(ctx context.Context, console net.Conn, l *badLine) {
	defer console.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	defer both.Wait()
	defer context.AfterFunc(ctx, l.end)()
	both.Go(func() { l.pass(server, console, l.limit) })
	both.Go(func() { l.pass(console, server, 1<<40) })
	<-l.done
	for _, conn := range []net.Conn{console, server} {
		if tcp, ok := conn.(*net.TCPConn); ok && l.fails == "cut" {
			_ = tcp.SetLinger(0) // a reset, not a goodbye
		}
		_ = conn.Close()
	}
}

func (l *badLine) end() { l.once.Do(func() { close(l.done) }) }

// pass copies until either end closes, or limit bytes have passed.
func (l *badLine) pass(to, from net.Conn, limit int) {
	buffer := make([]byte, 4<<10)
	for passed := 0; ; {
		n, err := from.Read(buffer)
		if err != nil {
			l.end()
			return
		}
		if passed += n; passed > limit {
			switch l.fails {
			case "cut":
				l.end()
				return
			case "silent":
				<-l.done // nothing passes any more, and nothing is closed
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

func (l *badLine) write(to net.Conn, text []byte) bool {
	for len(text) > 0 {
		piece := len(text)
		if l.pieces {
			piece = min(piece, 1+len(text)/3)
			if !pause(l.done, time.Millisecond) {
				return false
			}
		}
		if _, err := to.Write(text[:piece]); err != nil {
			return false
		}
		text = text[piece:]
	}
	return true
}
