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

	"assay/server/api"
	"assay/server/endpoint"
)

// handler routes requests. The connections that are made of them live as long
// as ctx, not as their request.
func (s *Server) handler(ctx context.Context) http.Handler {
	open, closed := http.NewServeMux(), http.NewServeMux()
	open.HandleFunc("GET /run", func(w http.ResponseWriter, r *http.Request) { s.console(ctx, w, r, atRun{s}) })
	open.HandleFunc("GET /agent", func(w http.ResponseWriter, r *http.Request) { s.console(ctx, w, r, atAgent{s}) })
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	open.HandleFunc("GET /readyz", s.serveReady)
	endpoint.Register(open, http.MethodGet, "/api/config", s.serveConfig)
	s.page.register(open)
	closed.HandleFunc("GET /watch", s.reporting(func(w http.ResponseWriter, r *http.Request) error { return s.serveWatch(ctx, w, r) }))
	closed.HandleFunc("GET /printed", s.reporting(func(w http.ResponseWriter, r *http.Request) error { return s.watchPrinted(ctx, w, r) }))
	closed.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { s.serveMCP(ctx, w, r) })
	closed.Handle("GET /metrics", s.metrics.Handler())
	get := func(path string, handler endpoint.HandlerFunc) {
		endpoint.Register(closed, http.MethodGet, path, s.reporting(handler))
	}
	get("/api/cases", api.ListCases(s.listCases))
	get("/api/sessions", s.serveSessions)
	get("/api/sessions/{id}", s.serveSession)
	get("/api/sessions/{id}/printed", s.servePrinted)
	endpoint.Register(closed, http.MethodPost, "/api/sessions/{id}/case", s.reporting(s.serveCase))
	stored := api.New(s.runs, s.log)
	stored.RegisterTrace(closed, "/api/sessions/{id}", s.openTrace)
	stored.RegisterRuns(closed)
	endpoint.RegisterNotFound(closed)
	open.Handle("/", s.withToken(closed))
	return s.local(open)
}

// reporting answers an error of handler with a problem.
func (s *Server) reporting(handler endpoint.HandlerFunc) http.HandlerFunc {
	return endpoint.Handler(s.log, handler)
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
			endpoint.WriteProblem(w, http.StatusForbidden, "this server is for localhost, not for "+r.Host)
		case origin != "" && !s.admits(origin, r.Host):
			endpoint.WriteProblem(w, http.StatusForbidden, "pages of "+origin+" are not let in; --origin lists those that are")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// serves tells whether a request for this host is for us.
func (s *Server) serves(host string) bool {
	if s.cfg.AllowRemoteHosts && !s.cfg.EvalSandbox {
		return true // its token protects it
	}
	listed := slices.ContainsFunc(s.cfg.AllowedOrigins, func(o string) bool {
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
	return slices.Contains(s.cfg.AllowedOrigins, origin) || strings.EqualFold(origin, "http://"+host) || strings.EqualFold(origin, "https://"+host)
}

// accept is how requests become WebSockets. Their Origin has been checked.
func (s *Server) accept() *websocket.AcceptOptions {
	return &websocket.AcceptOptions{InsecureSkipVerify: true}
}

// withToken lets nobody in without the token, but in the mode for one's own
// machine.
func (s *Server) withToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkToken(requestToken(r)); err != nil && !s.cfg.EvalSandbox {
			w.Header().Set("WWW-Authenticate", "Bearer")
			endpoint.WriteProblem(w, http.StatusUnauthorized, "the token is wrong or missing: send it as Authorization: Bearer, or as ?token=")
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

// PublicConfig is the response of GET /api/config, which needs no token: what the
// page must know before it connects.
type PublicConfig struct {
	Cases          bool   `json:"cases"`           // cases can be attached to sessions
	Console        bool   `json:"console"`         // sessions can be started; false: there are only attempts to watch
	ConsoleRole    string `json:"console_role"`    // RoleView or RoleHolder: the page's role unless it is opened with another ?role=
	DefaultSession string `json:"default_session"` // id of the session of a console that names none
	EvalSandbox    bool   `json:"eval_sandbox"`    // no token is needed
	Version        string `json:"version"`         // of this program
}

// serveConfig handles GET /api/config.
func (s *Server) serveConfig(w http.ResponseWriter, _ *http.Request) {
	endpoint.WriteJSON(w, http.StatusOK, PublicConfig{
		Cases: s.cfg.PrepareCase != nil, Console: s.cfg.StartSession != nil, ConsoleRole: cmp.Or(s.cfg.ConsoleRole, RoleView),
		DefaultSession: DefaultSessionID, EvalSandbox: s.cfg.EvalSandbox, Version: s.cfg.Version,
	})
}

// serveReady answers whether the session that consoles come to is there.
func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	if sl := s.known(DefaultSessionID); sl != nil {
		if phase, problemText := sl.at(); phase == HostCreating || phase == HostStarting || problemText != "" {
			endpoint.WriteProblem(w, http.StatusServiceUnavailable, strings.TrimSuffix("the session "+DefaultSessionID+" is "+string(phase)+": "+problemText, ": "))
			return
		}
	}
	_, _ = io.WriteString(w, "ready\n")
}

func idOr(id string) string {
	if id == "" {
		return DefaultSessionID
	}
	return id
}
