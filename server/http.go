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
	"sync"

	"github.com/coder/websocket"

	"assay/server/api"
	"assay/server/endpoint"
)

// newHTTPHandler returns the handler of all requests. WebSockets end with ctx, not with
// the context of their request.
func (s *Server) newHTTPHandler(ctx context.Context) http.Handler {
	public, protected := http.NewServeMux(), http.NewServeMux()
	public.HandleFunc("GET /run", func(w http.ResponseWriter, r *http.Request) { s.serveConsole(ctx, w, r, consoleRunEndpoint{s}) })
	public.HandleFunc("GET /agent", func(w http.ResponseWriter, r *http.Request) { s.serveConsole(ctx, w, r, consoleAgentEndpoint{s}) })
	public.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	public.HandleFunc("GET /readyz", s.serveReadiness)
	endpoint.Register(public, http.MethodGet, "/api/config", s.servePublicConfig)
	s.page.register(public)
	public.Handle("/", s.requireToken(protected))

	protected.HandleFunc("GET /watch", s.answerErrors(func(w http.ResponseWriter, r *http.Request) error { return s.serveWatch(ctx, w, r) }))
	protected.HandleFunc("GET /printed", s.answerErrors(func(w http.ResponseWriter, r *http.Request) error { return s.watchProcessOutput(ctx, w, r) }))
	protected.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { s.serveMCP(ctx, w, r) })
	protected.Handle("GET /metrics", s.metrics.Handler())
	get := func(path string, handler endpoint.HandlerFunc) {
		endpoint.Register(protected, http.MethodGet, path, s.answerErrors(handler))
	}
	get("/api/cases", api.ListCases(s.listCases))
	get("/api/sessions", s.listSessions)
	get("/api/sessions/{id}", s.getSession)
	get("/api/sessions/{id}/printed", s.getProcessOutput)
	endpoint.Register(protected, http.MethodPost, "/api/sessions/{id}/case", s.answerErrors(s.attachCase))
	stored := api.New(s.runs, s.log)
	stored.RegisterTrace(protected, "/api/sessions/{id}", s.openTraceFile)
	stored.RegisterRuns(protected)
	endpoint.RegisterNotFound(protected)
	return s.checkHostAndOrigin(public)
}

// answerErrors answers an error of handler with a problem.
func (s *Server) answerErrors(handler endpoint.HandlerFunc) http.HandlerFunc {
	return endpoint.Handler(s.log, handler)
}

// checkHostAndOrigin rejects requests that pages of other sites make, by their
// Origin header, and logs each such origin once. It also rejects requests that are addressed to another host name,
// unless Config.AllowRemoteHosts: otherwise the page of a site whose name resolves to
// this machine (DNS rebinding) would have the same origin as this server.
func (s *Server) checkHostAndOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case !s.isServedHost(r.Host):
			endpoint.WriteProblem(w, http.StatusForbidden, "this server is for localhost, not for "+r.Host)
		case origin != "" && !s.isAllowedOrigin(origin, r.Host):
			if s.refusedOrigins.addIfNew(origin) {
				s.log.Warn("a web page may not use this server; to admit its origin, start the server with --origin ORIGIN", "origin", origin)
			}
			endpoint.WriteProblem(w, http.StatusForbidden, "pages of "+origin+" may not use this server; --origin lists those that may")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isServedHost reports whether requests may be addressed to host: it is localhost, a
// loopback address or the host of an allowed origin, or remote hosts are allowed
// because the token protects the server.
func (s *Server) isServedHost(host string) bool {
	if s.cfg.AllowRemoteHosts && !s.cfg.EvalSandbox {
		return true
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
	return isLoopbackName(strings.Trim(host, "[]"))
}

// isLoopbackName reports whether a host name, or an IP address without brackets, is this machine's
// loopback.
func isLoopbackName(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// isAllowedOrigin reports whether a page of this origin may use the server at host.
// It may if the origin is listed, or is the server itself over HTTP, or over HTTPS
// through a proxy. An origin with the same host and another scheme, such as a browser
// extension's, is another site. With Config.EvalSandbox, pages of all servers on this machine may.
func (s *Server) isAllowedOrigin(origin, host string) bool {
	if slices.Contains(s.cfg.AllowedOrigins, origin) || strings.EqualFold(origin, "http://"+host) || strings.EqualFold(origin, "https://"+host) {
		return true
	}
	page, err := url.Parse(origin)
	return s.cfg.EvalSandbox && err == nil && (page.Scheme == "http" || page.Scheme == "https") &&
		isLoopbackName(page.Hostname()) && origin == page.Scheme+"://"+page.Host
}

// seenOrigins is a set of the origins that were refused. The zero value is empty. It is safe for
// concurrent use.
type seenOrigins struct {
	mu      sync.Mutex
	origins map[string]bool
}

// maxSeenOrigins is how many origins are remembered, because clients can name any.
const maxSeenOrigins = 100

// addIfNew adds an origin and returns true, unless it is known or the set is full.
func (s *seenOrigins) addIfNew(origin string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.origins[origin] || len(s.origins) >= maxSeenOrigins {
		return false
	}
	if s.origins == nil {
		s.origins = map[string]bool{}
	}
	s.origins[origin] = true
	return true
}

// webSocketAcceptOptions returns how requests are upgraded to WebSockets: without a check of
// the Origin header, which checkHostAndOrigin has done.
func (s *Server) webSocketAcceptOptions() *websocket.AcceptOptions {
	return &websocket.AcceptOptions{InsecureSkipVerify: true}
}

// requireToken rejects requests without the token, unless Config.EvalSandbox.
func (s *Server) requireToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkToken(tokenOfRequest(r)); err != nil && !s.cfg.EvalSandbox {
			w.Header().Set("WWW-Authenticate", "Bearer")
			endpoint.WriteProblem(w, http.StatusUnauthorized, "the token is wrong or missing: send it as Authorization: Bearer, or as ?token=")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) checkToken(token string) error {
	if subtle.ConstantTimeCompare([]byte(token), []byte(s.cfg.Token)) != 1 {
		return newConsoleRejectionf("wrong token")
	}
	return nil
}

// PublicConfig is the response of GET /api/config, which needs no token: what the
// page must know before it connects.
type PublicConfig struct {
	CanAttachCases   bool   `json:"cases"`            // cases can be attached to sessions
	CanStartSessions bool   `json:"console"`          // there are sessions to work in; false: there are only attempts to watch
	ConsoleRole      string `json:"console_role"`     // RoleView or RoleHolder: the page's role unless it is opened with another ?role=
	DefaultSession   string `json:"default_session"`  // id of the session of a client that names none
	EvalSandbox      bool   `json:"eval_sandbox"`     // no token is needed
	Person           string `json:"person,omitempty"` // who does the agents' work at the consoles; absent: agents
	Version          string `json:"version"`          // of this program
}

// servePublicConfig handles GET /api/config.
func (s *Server) servePublicConfig(w http.ResponseWriter, _ *http.Request) {
	endpoint.WriteJSON(w, http.StatusOK, PublicConfig{
		CanAttachCases: s.cfg.PrepareCase != nil, CanStartSessions: s.cfg.StartSession != nil || s.cfg.Person != "", Person: s.cfg.Person, ConsoleRole: cmp.Or(s.cfg.ConsoleRole, RoleView),
		DefaultSession: DefaultSessionID, EvalSandbox: s.cfg.EvalSandbox, Version: s.cfg.Version,
	})
}

// serveReadiness handles GET /readyz: 503 while the default session has not started
// yet, or if it could not start.
func (s *Server) serveReadiness(w http.ResponseWriter, _ *http.Request) {
	if host := s.sessionHostByID(DefaultSessionID); host != nil {
		if state, startErr := host.stateAndStartError(); state == HostCreating || state == HostStarting || startErr != nil {
			text := "the session " + DefaultSessionID + " is " + string(state)
			if startErr != nil {
				text += ": " + startErr.Error()
			}
			endpoint.WriteProblem(w, http.StatusServiceUnavailable, text)
			return
		}
	}
	_, _ = io.WriteString(w, "ready\n")
}
