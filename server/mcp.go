package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"

	"assay/server/endpoint"
)

// serveMCP handles /mcp: it proxies a client of the Model Context Protocol to the
// agent of a session, until either ends or the server stops. If the session has not
// started yet, it waits for that, for firstMessageTimeout at most.
func (s *Server) serveMCP(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	s.connections.Add(1)
	defer s.connections.Done()
	id := sessionIDOrDefault(r.URL.Query().Get("session"))
	host := s.sessionHostByID(id)
	switch {
	case host == nil:
		endpoint.WriteProblem(w, http.StatusNotFound, "there is no session "+strconv.Quote(id))
		return
	case s.cfg.MCPSocketPath == nil:
		endpoint.WriteProblem(w, http.StatusConflict, "the agent of session "+strconv.Quote(id)+" does not speak MCP: assay serve --agent mcp starts one that does")
		return
	}
	if !host.external { // the server does not start the sessions of an external host
		startCtx, cancel := context.WithTimeout(r.Context(), firstMessageTimeout)
		_, _ = host.awaitInstance(startCtx, nil) // if it fails, the proxy reports that the agent cannot be reached
		cancel()
	}
	ctx, cancelStop := contextUntilStopped(ctx, host.waitForStop)
	defer cancelStop()
	requestCtx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	s.mcpProxy(id).ServeHTTP(w, r.WithContext(requestCtx))
}

// mcpProxy returns a proxy to the socket of a session's agent. It removes the headers
// that are meant for the server, which has checked them.
func (s *Server) mcpProxy(id string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: "http", Host: "localhost", Path: "/"}
			r.Out.Host = r.Out.URL.Host
			for _, name := range []string{"Authorization", "Cookie", "Origin"} {
				r.Out.Header.Del(name)
			}
		},
		Transport: &http.Transport{
			DisableKeepAlives: true, // the next session's agent listens at the same path
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", s.cfg.MCPSocketPath(id))
			},
		},
		FlushInterval: -1, // send events as they come
		ErrorLog:      slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // the client has disconnected
			}
			s.log.Debug("cannot proxy an MCP client", "session", id, "error", err)
			endpoint.WriteProblem(w, http.StatusBadGateway, fmt.Sprintf("the agent of session %q cannot be reached: it has ended, or has not started", id))
		},
	}
}
