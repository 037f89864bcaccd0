package server

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// caseLimit is the largest body of a request that attaches a case, in bytes.
const caseLimit = 64 << 10

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
	closed.HandleFunc("GET /watch", func(w http.ResponseWriter, r *http.Request) { s.serveWatch(ctx, w, r) })
	closed.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) { s.serveMCP(ctx, w, r) })
	closed.Handle("GET /metrics", s.metrics.handler())
	get(closed, "/api/sessions", s.serveSessions)
	get(closed, "/api/sessions/{id}", s.serveSession)
	endpoint(closed, "/api/sessions/{id}/case", map[string]http.HandlerFunc{http.MethodPost: s.serveCase})
	if s.cfg.Runs != "" {
		newRunsAPI(s.cfg.Runs, s.log).register(closed)
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

// admits tells whether a page of this origin may talk to us at host.
func (s *Server) admits(origin, host string) bool {
	if slices.Contains(s.cfg.Origins, origin) {
		return true
	}
	at, err := url.Parse(origin)
	return err == nil && at.Host == host
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

// serveWatch is /watch: a session's trace from an entry on, then live.
func (s *Server) serveWatch(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	s.consoles.Add(1)
	defer s.consoles.Done()
	from := int64(1)
	if text := r.URL.Query().Get("from"); text != "" {
		var err error
		if from, err = strconv.ParseInt(text, 10, 64); err != nil || from < 0 {
			problem(w, http.StatusBadRequest, codeBadParameter, "from: want the number of an entry, not "+strconv.Quote(text))
			return
		}
	}
	id := idOr(r.URL.Query().Get("session"))
	sl := s.known(id)
	tail, err := s.tail(id, sl)
	switch {
	case err != nil:
		problem(w, http.StatusInternalServerError, codeUnreadable, err.Error())
		return
	case tail == nil:
		problem(w, http.StatusNotFound, codeNotFound, "there is no session "+strconv.Quote(id))
		return
	}
	defer func() { _ = tail.Close() }()
	ws, err := websocket.Accept(w, r, s.accept())
	if err != nil {
		s.log.Debug("not a watcher", "error", err) // it has been answered
		return
	}
	defer s.metrics.console("watch")()
	ctx, end := watching(ctx, sl)
	defer end()
	if err := watch(ctx, protocol.NewWebSocket(context.WithoutCancel(ctx), ws, watcherLimit), tail, from); err != nil {
		s.log.Warn("a watcher was sent away", "session", id, "error", err)
	}
}

// tail opens the trace of a session: of the one behind an id, else the newest of
// those that are left of it; nil: there is none.
func (s *Server) tail(id string, sl *slot) (*trace.Tail, error) {
	if sl != nil && sl.trace() != nil {
		return sl.trace().Tail()
	}
	if paths := storedTraces(s.cfg.Out)[id]; paths != nil {
		return trace.OpenTail(paths[len(paths)-1], nil)
	}
	return nil, nil //nolint:nilnil // there is none, which is no error
}

// watching is how long a session can be watched: when the server stops, until it
// has ended and a moment longer, so that its end is seen too.
func watching(ctx context.Context, sl *slot) (context.Context, func()) {
	watched, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if sl == nil {
		return watched, cancel
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if !sl.untilStop(ctx, watched.Done()) {
			return
		}
		select {
		case <-time.After(lastWrite):
			cancel()
		case <-watched.Done():
		}
	})
	return watched, func() {
		cancel()
		waiting.Wait()
	}
}

// watcherLimit is the largest message of a watcher, which has nothing to say, in
// bytes.
const watcherLimit = 4 << 10

func idOr(id string) string {
	if id == "" {
		return DefaultSession
	}
	return id
}

// serveCase attaches a case to a session: {"path": …, "id": …}.
func (s *Server) serveCase(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Path string `json:"path"`
		ID   string `json:"id"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, caseLimit))
	if err == nil {
		err = json.Unmarshal(body, &wanted)
	}
	switch {
	case err != nil:
		problem(w, http.StatusBadRequest, codeBadParameter, "want {\"path\": …, \"id\": …}: "+err.Error())
		return
	case s.cfg.Case == nil:
		problem(w, http.StatusConflict, codeConflict, "no cases can be attached here: assay serve --case PATH says where they are")
		return
	}
	attempts, err := s.cfg.Case(wanted.Path, wanted.ID)
	if err == nil {
		err = s.Attempt(r.PathValue("id"), attempts)
	}
	if err != nil {
		problem(w, http.StatusBadRequest, codeBadParameter, err.Error())
		return
	}
	answerJSON(w, http.StatusAccepted, map[string]any{"session": r.PathValue("id"), "path": wanted.Path, "id": wanted.ID})
}
