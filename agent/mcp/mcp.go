// Package mcp is an agent process that an external program controls through the Model
// Context Protocol (MCP). To the server it is an agent like any other. To MCP clients it is
// a server of tools, those of a notebook, on a Unix socket: over streamable HTTP, and over a
// WebSocket with one message per frame. [Bridge] joins such a WebSocket to standard streams,
// because most clients start a server as a subprocess.
//
//	assay server ── wire protocol ── [Run] ── Unix socket ── [Bridge] ── stdio ── client
//	                                   └── /mcp of the assay server ── HTTP ── client
//
// The calls of the clients are run by a [tools.ExternalAgent].
//
// Run starts one goroutine for the HTTP server, which has one per connection, besides those
// of the external agent; a command has one that waits for its exit. All have ended when Run
// returns.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"assay/agent/builtin"
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

// Config configures an agent that is controlled by an MCP client. Only Socket is required.
type Config struct {
	Socket string // path of the Unix socket for clients; see [SocketPath]

	// Command is started for each query; see [Run]. Without one, clients that connect by
	// themselves get the task.
	Command []string

	Program string   // path of the assay program, for the configuration of the Command
	WorkDir string   // working directory of the Command, where its configuration is written; "" means the current one
	Environ []string // environment of the Command

	// CloseTimeout is how long the Command may go on after it has submitted; 0 means 30 s.
	CloseTimeout time.Duration

	Version string         // of the assay program
	Agent   builtin.Config // see [tools.NewExternalAgent]
	Stderr  io.Writer      // gets the output of the Command line by line; nil discards
	Log     *slog.Logger   // nil discards
}

// Run runs an agent on conn. It returns as [builtin.Run] does, closes conn and leaves nothing
// running.
//
// With a Command, Run starts it for each query, in its own process group, with a file
// .mcp.json in its folder that says how to reach the tools. {task} in an argument is replaced
// by the query; without {task} the query is the Command's standard input. The exit of the
// Command ends the query. The Command and its group are killed when the query is cancelled,
// when the agent ends, and CloseTimeout after the Command has submitted.
//
// In an evaluation, a Command that fails without a submission ends the agent: Run returns a
// [*CommandError].
//
// Without a Command, the submission of a client ends the query.
func Run(ctx context.Context, conn protocol.Conn, cfg Config) error {
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.CloseTimeout <= 0 {
		cfg.CloseTimeout = 30 * time.Second
	}
	listener, err := listenUnix(ctx, cfg.Socket)
	if err != nil {
		return errors.Join(err, conn.Close(protocol.CloseNormal, ""))
	}
	agent, err := tools.NewExternalAgent(conn, cfg.Agent)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	task := newCurrentTask()
	work := task.awaitSubmission
	if len(cfg.Command) > 0 {
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		config, err := newClientConfig(cfg.WorkDir, cfg.Program, cfg.Socket)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer config.folder.Close()
		runner := &commandRunner{cfg: cfg, agent: agent, task: task, end: end, clientConfig: config}
		work = runner.run
	}
	s := newToolServer(agent, task, cfg)
	var serving sync.WaitGroup
	serving.Go(func() { s.serve(guard(listener, cfg.Log)) })
	err = agent.Run(ctx, work)
	s.stop()
	serving.Wait()
	return err
}

// toolServer serves the notebook's tools to MCP clients on the agent's Unix socket. It is
// safe for concurrent use.
type toolServer struct {
	agent    *tools.ExternalAgent
	task     *currentTask
	log      *slog.Logger
	mcp      *mcp.Server
	http     *http.Server
	requests requestTracker
	clients  sync.WaitGroup // HTTP requests and WebSockets that are being served

	ctx    context.Context //nolint:containedctx // of the server: tool calls outlive the HTTP requests that they come in
	cancel context.CancelFunc
}

func newToolServer(agent *tools.ExternalAgent, task *currentTask, cfg Config) *toolServer {
	s := &toolServer{
		agent: agent, task: task, log: cfg.Log,
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
	s.addTools(len(cfg.Command) == 0)
	s.addTaskResources()
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: readHeaderTimeout,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	return s
}

// serve accepts clients until the server is stopped.
func (s *toolServer) serve(listener net.Listener) {
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("no more clients can connect", "error", err)
	}
}

// stop cancels all calls, disconnects the clients and waits until they are gone.
func (s *toolServer) stop() {
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
}

// handler returns the handler for WebSockets and streamable HTTP.
func (s *toolServer) handler() http.Handler {
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
func (s *toolServer) serveWebSocket(w http.ResponseWriter, r *http.Request) {
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
func (s *toolServer) addInstructions(next mcp.MethodHandler) mcp.MethodHandler {
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
