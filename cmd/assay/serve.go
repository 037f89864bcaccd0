package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"assay/eval/attempt"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/router"
	"assay/server"
)

// takeOver is how long after an agent's first action the server waits for a
// console until it holds the notebook itself, in a session without a case.
const takeOver = 5 * time.Second

type serveFlags struct {
	host        hostFlags
	addr, token string
	role        string // of the page, at /agent
	remote      bool
	origins     []string
	cases       []string // PATH[#id] each
	headless    bool
	runs, out   string
	idle, grace time.Duration
}

func (p *process) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve live sessions to consoles",
		Long: `Starts a kernel and an agent and serves them at /run and /agent to consoles: any
number that show the server's notebook, or one that holds it. ?session=ID asks
for another session than "default", which is started when it is first asked for.
/watch has a session's trace as it grows, /api/sessions and /api/runs tell what
there is, /metrics counts.

With --case the default session is an attempt at that case, which begins when a
console has come, or at once with --headless; several come one after the other,
each with a fresh kernel, agent and sandbox. A verdict goes to the consoles and
into a run folder.

With EVAL_SANDBOX=1 the token is ` + server.EvalSandboxToken + ` and every console may do
everything; without it a token must be given, and the console that came first
owns the session.

What agent, notebook and kernel say to each other is logged, unless --log says
otherwise.

Exit status: 0 ended by a signal, 2 bad usage or input, 3 it could not serve.`,
		Example: "  EVAL_SANDBOX=1 assay serve --agent 'python3 my_agent.py'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context(), f) },
	}
	f.host.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "localhost:8765", "`address` to listen on")
	flags.BoolVar(&f.remote, "allow-remote", false, "allow an --addr beyond loopback, for a container whose port is published on loopback")
	flags.StringArrayVar(&f.origins, "origin", nil, "`origin` of other pages that may connect, such as http://localhost:5173 (repeatable)")
	flags.StringVar(&f.token, "token", "", "access `token` that consoles must send")
	flags.StringArrayVar(&f.cases, "case", nil, "cases to run in the default session, as `PATH[#id]` (repeatable)")
	flags.StringVar(&f.role, "console-role", server.RoleView, "`role` of the page: view shows the server's notebook, holder keeps the notebook in the page")
	flags.BoolVar(&f.headless, "headless", false, "do not wait for a console; the server holds the notebook")
	flags.StringVar(&f.runs, "runs", "runs", "`folder` to create runs in and to show runs from")
	flags.StringVar(&f.out, "out", "", "`folder` for session traces, from which notebooks are restored (default: a temporary folder)")
	flags.DurationVar(&f.idle, "session-idle", 8*time.Hour, "`duration` after which an unused session ends; 0 is never")
	flags.DurationVar(&f.grace, "grace", attempt.DefaultHolderGrace, "`duration` that the console holding a case's notebook may be disconnected")
	return cmd
}

// serving is assay serve while it lasts.
type serving struct {
	p        *process
	f        *serveFlags
	h        *host
	config   server.Config
	attempts attempt.Config
	web      *server.Server
}

func (p *process) serve(ctx context.Context, f *serveFlags) error {
	p.logAtLeast(slog.LevelInfo)
	s := &serving{p: p, f: f}
	if err := s.configure(); err != nil {
		return usage(err)
	}
	attached, err := s.attached()
	if err != nil {
		return usage(err)
	}
	ctx, interrupted := p.untilSignal(ctx)
	defer interrupted.stop()
	ln, err := listen(ctx, "--addr", f.addr, f.remote, ", or --allow-remote")
	if err != nil {
		return err
	}
	if s.h, err = p.newHost(ctx, &f.host); err == nil {
		err = errors.Join(s.run(ctx, ln, attached), s.h.close())
	} else {
		err = errors.Join(err, ln.Close())
	}
	if err == nil {
		return nil
	}
	if interrupted.status() != 0 {
		p.log().Warn("it did not end well", "error", err)
		return nil
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return status
	}
	return broken(err)
}

// configure makes the server's configuration of the flags.
func (s *serving) configure() error {
	mode, _ := s.p.getenv("EVAL_SANDBOX")
	if s.f.idle < 0 || s.f.grace <= 0 {
		return errors.New("--session-idle is at least 0, --grace more than 0")
	}
	if len(s.f.cases) == 0 && s.f.host.agent == "oracle" {
		return errors.New("--agent oracle plays the solution of a case: name one with --case")
	}
	if _, err := s.f.host.prefixes(); err != nil {
		return err
	}
	s.config = server.Config{
		EvalSandbox: mode == "1", Token: s.f.token, AllowRemoteHosts: s.f.remote, AllowedOrigins: s.f.origins,
		ConsoleRole: s.f.role, StartSession: s.open, TraceDir: s.f.out, IdleTimeout: s.f.idle, RunsDir: s.f.runs, MaxFrameBytes: s.f.host.frameLimit,
		Version: version, Log: s.p.log(),
	}
	if len(s.f.cases) > 0 {
		s.config.PrepareCase, s.config.ListCases = s.prepare, s.list
	}
	if _, ok := s.f.host.mcpCommand(); ok {
		s.config.MCPSocketPath = func(session string) string { return s.h.mcpSocket(session) }
	}
	return s.config.Validate()
}

// run serves until ctx ends, or the first session cannot start.
func (s *serving) run(ctx context.Context, ln net.Listener, attached []caseRun) error {
	if err := s.prepareServer(); err != nil {
		return errors.Join(err, ln.Close())
	}
	if s.config.EvalSandbox && s.f.token != "" {
		_, _ = fmt.Fprintf(s.p.err, "assay: with EVAL_SANDBOX=1 the token is %s: --token is not used\n", server.EvalSandboxToken)
	}
	for _, what := range unenforced(s.h.enforced()) {
		_, _ = fmt.Fprintf(s.p.err, "not enforced on this machine: %s\n", what)
	}
	_, _ = fmt.Fprintf(s.p.err, "serving at http://%s\n", ln.Addr())
	_, _ = fmt.Fprintf(s.p.err, "in a browser: http://%[1]s/ is the console, http://%[1]s/runs the runs\n", ln.Addr())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var starting sync.WaitGroup
	var startErr error
	starting.Go(func() {
		if startErr = s.begin(ctx, attached); startErr != nil {
			cancel(startErr)
		}
	})
	err := s.web.Run(ctx, ln)
	cancel(err)
	starting.Wait()
	return errors.Join(err, startErr)
}

func (s *serving) prepareServer() (err error) {
	if s.attempts, err = s.h.attempts(); err != nil {
		return err
	}
	s.attempts.AwaitConsole = !s.f.headless
	s.attempts.HolderGrace, s.attempts.SharedConsoles = s.f.grace, s.config.EvalSandbox
	if s.config.TraceDir == "" {
		s.config.TraceDir = filepath.Join(s.h.supervisor.TempDir(), "traces")
	}
	if err := s.makeFolders(); err != nil {
		return err
	}
	s.web, err = server.New(s.config)
	return err
}

// makeFolders makes what will be written to, so that a wrong name is found before
// anybody waits for a session.
func (s *serving) makeFolders() error {
	if err := os.MkdirAll(s.config.TraceDir, 0o750); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if len(s.f.cases) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.f.runs, 0o750); err != nil {
		return fmt.Errorf("--runs: %w", err)
	}
	return nil
}

// begin attaches the cases, or starts the session without one.
func (s *serving) begin(ctx context.Context, attached []caseRun) error {
	for _, run := range attached {
		if err := s.web.QueueAttempts(server.DefaultSessionID, s.try(run)); err != nil {
			return err
		}
	}
	if len(attached) > 0 {
		return nil
	}
	if err := s.web.StartSession(ctx, server.DefaultSessionID); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// open starts a session without a case.
func (s *serving) open(ctx context.Context, o server.StartOptions) (*session.Session, error) {
	command, err := s.h.agentConfig("")
	if err != nil {
		return nil, err
	}
	return session.Start(ctx, s.h.supervisor, session.Config{
		ID: o.SessionID, Journal: o.Journal, RestoreFrom: o.RestoreFrom,
		Environ: s.p.environ, WorkdirRoot: s.attempts.WorkdirRoot, AwaitConsole: !s.f.headless, TakeOverDelay: takeOver,
		MaxDiskBytes: int64(s.f.host.sandbox.disk),
		Kernel:       s.h.kernelConfig(), Agent: command, AgentInit: protocol.AgentInit{SessionID: 1},
		Router:      router.Config{MaxFrameBytes: s.f.host.frameLimit, Shared: s.config.EvalSandbox},
		ChildOutput: s.p.err, ChildLineSink: o.ChildLineSink, Log: s.p.log(),
	})
}

// unused is base, or base with a number, as a name for a folder that is not
// there.
func unused(base string) string {
	name := base
	for n := 2; ; n++ { // several may begin in one second
		if _, err := os.Stat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// below tells whether path is folder or in it.
func below(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
