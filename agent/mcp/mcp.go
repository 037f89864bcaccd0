// Package mcp lets any program that speaks the Model Context Protocol be the
// agent. To the server it is an agent process like any other; to such a program
// it is a server of tools, those of a notebook, at a Unix socket: as streamable
// HTTP, and as a WebSocket with a message a frame. [Bridge] joins the latter to
// standard streams, which is how most clients start a server.
//
//	server ── wire ── [Run] ── Unix socket ── [Bridge] ── stdio ── client
//	                             └── /mcp of the server ── HTTP ── client
//
// What a client calls is carried out by [tools.ExternalAgent].
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
	// forgotten is how long a client of HTTP may say nothing until its session
	// is forgotten. It may come again.
	forgotten = 24 * time.Hour

	// shutdown is how long answers may take to be read when the agent ends.
	shutdown = 500 * time.Millisecond

	// greeting is how long a client may take to say what it wants.
	greeting = 10 * time.Second
)

// Config says what an agent is to do. Only the Socket is required.
type Config struct {
	// Socket is the path at which clients are served, see [Socket].
	Socket string

	// Command is started for each query, see [Run]; none: a client that comes by
	// itself gets the task.
	Command []string

	Program string   // path of this program, for the Command's configuration
	Dir     string   // where the Command works, and its configuration is written; "" is the current folder
	Environ []string // of the Command

	// Goodbye is how long the Command may go on after it has submitted; 0 is 30 s.
	CloseTimeout time.Duration

	Version string         // of this program
	Agent   builtin.Config // as NewHands takes it
	Stderr  io.Writer      // gets what the Command prints, by lines; nil discards
	Log     *slog.Logger   // nil discards
}

// Run is an agent on conn whose mind is a client of the Model Context Protocol.
// It returns as [builtin.Run] does, and closes conn; nothing that it started is
// left.
//
// With a Command, that is started for each query, in a process group of its own,
// with a file .mcp.json in its folder that says how to reach the tools. {task} in
// an argument is replaced by the query; where there is none, the query is its
// standard input. It is killed, with its group, when the query is cancelled or
// the agent ends, and some time after it has submitted. Its exit ends the query.
//
// Without one, the query ends with a client's submission.
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
	listener, err := listen(ctx, cfg.Socket)
	if err != nil {
		return errors.Join(err, conn.Close(protocol.CloseNormal, ""))
	}
	hands, err := tools.NewExternalAgent(conn, cfg.Agent)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	desk := newDesk()
	work := desk.work
	if len(cfg.Command) > 0 {
		program := &program{cfg: cfg, hands: hands, desk: desk}
		work = program.work
	}
	s := newService(hands, desk, cfg)
	var serving sync.WaitGroup
	serving.Go(func() { s.serve(listener) })
	err = hands.Run(ctx, work)
	s.stop()
	serving.Wait()
	return err
}

// service is what clients talk to. It is safe for concurrent use.
type service struct {
	hands   *tools.ExternalAgent
	desk    *desk
	log     *slog.Logger
	server  *mcp.Server
	web     *http.Server
	posts   posts
	clients sync.WaitGroup // requests that are served

	life context.Context //nolint:containedctx // of the service: calls outlive the requests that they come in
	end  context.CancelFunc
}

func newService(hands *tools.ExternalAgent, desk *desk, cfg Config) *service {
	s := &service{
		hands: hands, desk: desk, log: cfg.Log,
		posts: posts{open: map[string]*http.Request{}},
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.server = mcp.NewServer(
		&mcp.Implementation{Name: "assay", Title: "Assay", Version: cfg.Version},
		&mcp.ServerOptions{
			Logger: cfg.Log,
			Capabilities: &mcp.ServerCapabilities{ // nothing of it ever changes
				Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
			},
		},
	)
	s.server.AddReceivingMiddleware(s.instruct)
	s.addTools(len(cfg.Command) == 0)
	s.addTask()
	s.web = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: greeting,
		BaseContext: func(net.Listener) context.Context { return s.life },
	}
	return s
}

// serve serves clients until the service is stopped.
func (s *service) serve(listener net.Listener) {
	if err := s.web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("no more clients can come", "error", err)
	}
}

// stop ends everything: calls that wait first, then their clients.
func (s *service) stop() {
	s.end()
	for client := range s.server.Sessions() {
		_ = client.Close() // it is told by the end of its connection
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdown)
	defer cancel()
	if err := s.web.Shutdown(ctx); err != nil {
		_ = s.web.Close()
	}
	s.clients.Wait()
}

// handler takes WebSockets and streamable HTTP.
func (s *service) handler() http.Handler {
	streamable := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s.server },
		&mcp.StreamableHTTPOptions{
			Logger: s.log, SessionTimeout: forgotten, MaxRequestBodyBytes: protocol.DefaultMaxFrameBytes,
		},
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.clients.Add(1)
		defer s.clients.Done()
		if r.Header.Get("Upgrade") != "" {
			s.upgrade(w, r)
			return
		}
		defer s.posts.enter(r)()
		streamable.ServeHTTP(w, r)
	})
}

// upgrade serves a client on a WebSocket.
func (s *service) upgrade(w http.ResponseWriter, r *http.Request) {
	conn, err := accept(s.life, w, r)
	if err != nil {
		s.log.Debug("not a client", "error", err) // it has been answered
		return
	}
	defer conn.Close()
	session, err := s.server.Connect(s.life, &mcp.IOTransport{Reader: conn, Writer: conn, MaxLineLength: protocol.DefaultMaxFrameBytes}, nil)
	if err != nil {
		s.log.Warn("a client could not be served", "error", err)
		return
	}
	defer context.AfterFunc(s.life, func() { _ = conn.Close() })()
	if err := session.Wait(); err != nil && s.life.Err() == nil {
		s.log.Warn("a client broke off", "error", err)
	}
}

// instruct tells each client at its start what is to be done.
func (s *service) instruct(next mcp.MethodHandler) mcp.MethodHandler {
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

// posts are the requests of HTTP that are served. A call is not told when the
// client goes in whose request it came; but it is shown the request's header.
type posts struct {
	mu   sync.Mutex
	made int
	open map[string]*http.Request
}

// postHeader has the name of a request.
const postHeader = "Assay-Post"

// enter takes a request in, until leave is called.
func (p *posts) enter(r *http.Request) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	name := fmt.Sprint(p.made)
	r.Header.Set(postHeader, name)
	p.open[name] = r
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, name)
	}
}

// of is the context of the request that something came in; nil: it came on a
// WebSocket, or the request has been answered.
func (p *posts) of(extra *mcp.RequestExtra) context.Context {
	if extra == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.open[extra.Header.Get(postHeader)]; r != nil {
		return r.Context()
	}
	return nil
}
