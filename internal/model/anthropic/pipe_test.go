package anthropic_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/anthropic"
	"assay/internal/model/endpoint"
)

// newClientServedInBubble serves an HTTP handler over net.Pipe, for tests in a synctest bubble,
// and returns an Anthropic client that calls it. Server and client are closed when the
// test ends.
func newClientServedInBubble(t *testing.T, handler http.Handler, cfg endpoint.Config) model.Client {
	t.Helper()
	ln := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(ln) })
	transport := &http.Transport{DialContext: ln.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		serving.Wait()
	})
	cfg.BaseURL = "http://model"
	client, err := anthropic.NewWithTransport(transport, cfg)
	require.NoError(t, err)
	return client
}

// pipeListener is a net.Listener whose connections are in-memory pipes that dial
// creates.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
