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

// serveMCP passes a client of the Model Context Protocol on to the agent of a
// session, which serves it.
func (s *Server) serveMCP(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	s.consoles.Add(1)
	defer s.consoles.Done()
	id := idOr(r.URL.Query().Get("session"))
	sl := s.known(id)
	switch {
	case sl == nil:
		endpoint.WriteProblem(w, http.StatusNotFound, "there is no session "+strconv.Quote(id))
		return
	case s.cfg.MCPSocketPath == nil:
		endpoint.WriteProblem(w, http.StatusConflict, "the agent of session "+strconv.Quote(id)+" does not speak MCP: assay serve --agent mcp starts one that does")
		return
	}
	if !sl.shown { // else others start its sessions
		soon, cancel := context.WithTimeout(r.Context(), greeting)
		_, _ = sl.await(soon, nil) // where none comes there is nobody to pass it on to
		cancel()
	}
	ctx, end := watching(ctx, sl.untilStop)
	defer end()
	asked, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	s.toAgent(id).ServeHTTP(w, r.WithContext(asked))
}

// toAgent passes requests on to the agent of a session, without what is the
// server's business: who asks has been looked at.
func (s *Server) toAgent(id string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: "http", Host: "localhost", Path: "/"}
			r.Out.Host = r.Out.URL.Host
			for _, name := range []string{"Authorization", "Cookie", "Origin"} {
				r.Out.Header.Del(name)
			}
		},
		Transport: &http.Transport{
			DisableKeepAlives: true, // another agent may come to that path
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", s.cfg.MCPSocketPath(id))
			},
		},
		FlushInterval: -1, // events are passed on as they come
		ErrorLog:      slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // the client has gone
			}
			s.log.Debug("a client was not passed on", "session", id, "error", err)
			endpoint.WriteProblem(w, http.StatusBadGateway, fmt.Sprintf("the agent of session %q cannot be reached: it has gone, or has not started", id))
		},
	}
}
