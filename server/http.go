package server

import (
	"cmp"
	"context"
	"crypto/subtle"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coder/websocket"
)

// handler routes requests. The connections that are made of them live as long
// as ctx, not as their request.
func (s *Server) handler(ctx context.Context) http.Handler {
	open, closed := http.NewServeMux(), http.NewServeMux()
	open.HandleFunc("GET /run", func(w http.ResponseWriter, r *http.Request) { s.console(ctx, w, r, atRun{s}) })
	open.HandleFunc("GET /agent", func(w http.ResponseWriter, r *http.Request) { s.console(ctx, w, r, atAgent{s}) })
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	open.HandleFunc("GET /readyz", s.serveReady)
	get := func(mux *http.ServeMux, path string, f http.HandlerFunc) {
		endpoint(mux, path, map[string]http.HandlerFunc{http.MethodGet: f})
	}
	get(open, "/api/config", s.serveConfig)
	s.page.register(open)
	closed.HandleFunc("GET /watch", answering(s.log, func(w http.ResponseWriter, r *http.Request) error { return s.serveWatch(ctx, w, r) }))
	closed.HandleFunc("GET /printed", answering(s.log, func(w http.ResponseWriter, r *http.Request) error { return s.watchPrinted(ctx, w, r) }))
	closed.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { s.serveMCP(ctx, w, r) })
	closed.Handle("GET /metrics", s.metrics.handler())
	get(closed, "/api/cases", answering(s.log, s.serveCases))
	get(closed, "/api/sessions", s.serveSessions)
	get(closed, "/api/sessions/{id}", s.serveSession)
	get(closed, "/api/sessions/{id}/printed", answering(s.log, s.servePrinted))
	endpoint(closed, "/api/sessions/{id}/case", map[string]http.HandlerFunc{http.MethodPost: s.serveCase})
	traces := newTracesAPI(s.log)
	traces.register(closed, "/api/sessions/{id}", s.openTrace)
	if s.runs != nil {
		newRunsAPI(s.runs, traces).register(closed)
	}
	unknownEndpoints(closed)
	open.Handle("/", s.withToken(closed))
	return s.local(open)
}

// local refuses requests of pages of other sites, and, where only this machine
// is served, requests that were not sent to it by name: a page of another site
// whose name has been made to lead here would otherwise have the Origin that
// belongs to its Host.
func (s *Server) local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case !s.serves(r.Host):
			problem(w, http.StatusForbidden, codeForbidden, "this server is for localhost, not for "+r.Host)
		case origin != "" && !s.admits(origin, r.Host):
			problem(w, http.StatusForbidden, codeForbidden, "pages of "+origin+" are not let in; --origin lists those that are")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// serves tells whether a request for this host is for us.
func (s *Server) serves(host string) bool {
	if s.cfg.Remote && !s.cfg.Sandbox {
		return true // its token protects it
	}
	listed := slices.ContainsFunc(s.cfg.Origins, func(o string) bool {
		at, err := url.Parse(o)
		return err == nil && at.Host == host
	})
	if listed {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// admits tells whether a page of this origin may talk to us at host: it is one of
// those that were listed, or ours, by whatever stands before us with TLS too. What
// has our host and another scheme, as an extension of the browser, is not ours.
func (s *Server) admits(origin, host string) bool {
	return slices.Contains(s.cfg.Origins, origin) || strings.EqualFold(origin, "http://"+host) || strings.EqualFold(origin, "https://"+host)
}

// accept is how requests become WebSockets. Their Origin has been checked.
func (s *Server) accept() *websocket.AcceptOptions {
	return &websocket.AcceptOptions{InsecureSkipVerify: true}
}

// withToken lets nobody in without the token, but in the mode for one's own
// machine.
func (s *Server) withToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkToken(requestToken(r)); err != nil && !s.cfg.Sandbox {
			w.Header().Set("WWW-Authenticate", "Bearer")
			problem(w, http.StatusUnauthorized, codeUnauthorized, "the token is wrong or missing: send it as Authorization: Bearer, or as ?token=")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) checkToken(token string) error {
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.cfg.Token)) != 1 {
		return refuse("wrong token")
	}
	return nil
}

// serveConfig is what a page must know before it can say who it is.
func (s *Server) serveConfig(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, map[string]any{
		"eval_sandbox": s.cfg.Sandbox, "default_session": DefaultSession, "version": s.cfg.Version,
		"console": s.cfg.Open != nil, "console_role": cmp.Or(s.cfg.ConsoleRole, RoleView), "cases": s.cfg.Case != nil,
	})
}

// serveReady answers whether the session that consoles come to is there.
func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	if sl := s.known(DefaultSession); sl != nil {
		if phase, problemText := sl.at(); phase == phaseCreating || phase == phaseStarting || problemText != "" {
			problem(w, http.StatusServiceUnavailable, codeNotReady, strings.TrimSuffix("the session "+DefaultSession+" is "+string(phase)+": "+problemText, ": "))
			return
		}
	}
	_, _ = io.WriteString(w, "ready\n")
}

func idOr(id string) string {
	if id == "" {
		return DefaultSession
	}
	return id
}
