package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/server"
	"assay/server/api"
)

// pipeListener is a listener whose connections are made in memory, so that their deadlines follow the time
// of a synctest bubble.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// dial connects to the listener's server.
func (l *pipeListener) dial(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	l.conns <- theirs
	return ours
}

// runOnPipes runs a server on connections in memory while test runs, in a synctest bubble.
func runOnPipes(t *testing.T, test func(t *testing.T, ln *pipeListener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		web, err := server.New(server.Config{
			EvalSandbox: true,
			ListCases:   func() ([]api.Case, error) { return nil, nil },
			PrepareCase: func(string, string) (server.AttemptRunner, error) { return nil, errors.New("not in this test") },
		})
		require.NoError(t, err)
		ln := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- web.Run(ctx, ln) }()
		test(t, ln)
		cancel()
		require.NoError(t, <-ended)
	})
}

// A connection over which no request comes any more is closed after two minutes.
func TestIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	runOnPipes(t, func(t *testing.T, ln *pipeListener) {
		t.Helper()
		conn := ln.dial(t)
		_, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		reader := bufio.NewReader(conn)
		answer, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.False(t, answer.Close, "the connection is kept")
		began := time.Now()
		_, err = reader.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, 2*time.Minute, time.Since(began))
	})
}

// A request of which half of the body comes is answered with an error after one minute.
func TestHalfSentBodyEnds(t *testing.T) {
	t.Parallel()
	runOnPipes(t, func(t *testing.T, ln *pipeListener) {
		t.Helper()
		conn := ln.dial(t)
		began := time.Now()
		_, err := io.WriteString(conn, "POST /api/sessions/1/case HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"+`{"path":"x`)
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, "%s", body)
		require.Equal(t, time.Minute, time.Since(began), "%s", body)
	})
}
