package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"assay/agent/builtin/tools"
	"assay/internal/protocol"
)

const (
	// httpSessionTimeout is how long an HTTP client may be silent until its session is
	// dropped. The client can then start a new one.
	httpSessionTimeout = 24 * time.Hour

	// shutdownTimeout is how long clients may take to read pending responses when the agent
	// ends.
	shutdownTimeout = 500 * time.Millisecond

	// readHeaderTimeout is how long a client may take to send the header of a request.
	readHeaderTimeout = 10 * time.Second
)

// ToolServerConfig configures [StartToolServer]. Only Socket is required.
type ToolServerConfig struct {
	Socket        string       // path of the Unix socket for clients; see [SocketPath]
	Version       string       // of the assay program
	OffersGetTask bool         // clients have a tool that waits for the task
	Log           *slog.Logger // nil discards

	// BeforeCall, if set, is called before each call of a tool of the notebook.
	BeforeCall func(context.Context)
}

// ToolServer serves the notebook's tools to MCP clients on the agent's Unix socket. It is
// safe for concurrent use.
type ToolServer struct {
	agent    *tools.ExternalAgent
	task     *currentTask
	log      *slog.Logger
	mcp      *mcp.Server
	http     *http.Server
	requests requestTracker
	before   func(context.Context) // called before each call of a tool of the notebook
	clients  sync.WaitGroup        // HTTP requests and WebSockets that are being served
	serving  sync.WaitGroup        // the goroutine that accepts clients

	ctx    context.Context //nolint:containedctx // of the server: tool calls outlive the HTTP requests that they come in
	cancel context.CancelFunc
}

// StartToolServer offers the tools of an external agent on the Unix socket of cfg. The caller must
// Stop the server, after the agent has ended.
func StartToolServer(ctx context.Context, agent *tools.ExternalAgent, cfg ToolServerConfig) (*ToolServer, error) {
	listener, err := listenUnix(ctx, cfg.Socket)
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.BeforeCall == nil {
		cfg.BeforeCall = func(context.Context) {}
	}
	s := &ToolServer{
		agent: agent, task: newCurrentTask(), log: cfg.Log, before: cfg.BeforeCall,
		requests: requestTracker{open: map[string]*http.Request{}},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "assay", Title: "Assay", Version: cfg.Version},
		&mcp.ServerOptions{
			Logger: cfg.Log,
			Capabilities: &mcp.ServerCapabilities{ // without listChanged: the lists never change
				Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
			},
		},
	)
	s.mcp.AddReceivingMiddleware(s.addInstructions)
	s.addTools(cfg.OffersGetTask)
	s.addTaskResources()
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: readHeaderTimeout,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	s.serving.Go(func() { s.serve(guard(listener, cfg.Log)) })
	return s, nil
}

// SetTask sets the text of the task that clients get; "" means that there is none.
func (s *ToolServer) SetTask(text string) { s.task.set(text) }

// serve accepts clients until the server is stopped.
func (s *ToolServer) serve(listener net.Listener) {
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("no more clients can connect", "error", err)
	}
}

// Stop cancels all calls, disconnects the clients and waits until they are gone.
func (s *ToolServer) Stop() {
	s.cancel()
	for session := range s.mcp.Sessions() {
		_ = session.Close() // the client sees the end of its connection
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
	s.clients.Wait()
	s.serving.Wait()
}

// handler returns the handler for WebSockets and streamable HTTP.
func (s *ToolServer) handler() http.Handler {
	streamable := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s.mcp },
		&mcp.StreamableHTTPOptions{
			Logger: s.log, SessionTimeout: httpSessionTimeout, MaxRequestBodyBytes: protocol.DefaultMaxFrameBytes,
		},
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.clients.Add(1)
		defer s.clients.Done()
		if r.Header.Get("Upgrade") != "" {
			s.serveWebSocket(w, r)
			return
		}
		defer s.requests.trackRequest(r)()
		streamable.ServeHTTP(w, r)
	})
}

// serveWebSocket serves one client until it disconnects or the server is stopped.
func (s *ToolServer) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := acceptWebSocket(s.ctx, w, r)
	if err != nil {
		s.log.Debug("not a client", "error", err) // the request has been answered
		return
	}
	defer conn.Close()
	session, err := s.mcp.Connect(s.ctx, &mcp.IOTransport{Reader: conn, Writer: conn, MaxLineLength: protocol.DefaultMaxFrameBytes}, nil)
	if err != nil {
		s.log.Warn("a client could not be served", "error", err)
		return
	}
	defer context.AfterFunc(s.ctx, func() { _ = conn.Close() })()
	if err := session.Wait(); err != nil && s.ctx.Err() == nil {
		s.log.Warn("the connection to a client was lost", "error", err)
	}
}

// addInstructions is middleware that puts the current instructions into the response with
// which a client's session starts.
func (s *ToolServer) addInstructions(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		switch result := result.(type) {
		case *mcp.InitializeResult:
			result.Instructions = s.instructions()
		case *mcp.DiscoverResult:
			result.Instructions = s.instructions()
		}
		return result, err
	}
}

// requestTracker knows the HTTP requests that are being served. The SDK does not cancel a
// tool call when the client of its HTTP request disconnects, but it passes the request's
// header to the call. So each request gets a header with its id, by which the call finds the
// request's context.
type requestTracker struct {
	mu     sync.Mutex
	lastID int
	open   map[string]*http.Request // by id
}

// requestIDHeader is the HTTP header in which requestTracker puts the id of a request.
const requestIDHeader = "Assay-Post"

// trackRequest adds an HTTP request to the tracked ones and sets its id header. The caller
// must call untrack when the request has been served.
func (t *requestTracker) trackRequest(r *http.Request) (untrack func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastID++
	id := fmt.Sprint(t.lastID)
	r.Header.Set(requestIDHeader, id)
	t.open[id] = r
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.open, id)
	}
}

// requestContext returns the context of the HTTP request that a call came in, or nil if it came
// over a WebSocket or the request has been served.
func (t *requestTracker) requestContext(extra *mcp.RequestExtra) context.Context {
	if extra == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.open[extra.Header.Get(requestIDHeader)]; r != nil {
		return r.Context()
	}
	return nil
}
