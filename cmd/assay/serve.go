package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"assay/cmd/assay/internal/exit"
	"assay/eval/attempt"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/router"
	"assay/server"
)

// takeOverDelay is how long, in a session without a case, the server waits for a console
// after the agent's first action. Then it holds the notebook itself.
const takeOverDelay = 5 * time.Second

type serveFlags struct {
	host         kernelAndAgentFlags
	addr         string
	token        tokenFlag
	consoleRole  string // of the page, at /agent
	allowRemote  bool
	origins      []string
	cases        []string // PATH or PATH#ID
	headless     bool
	runs, out    string
	sessionIdle  time.Duration // 0 means never
	consoleGrace time.Duration
}

func (p *cli) newServeCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve live sessions to consoles",
		Long: `Start a kernel and an agent, and serve them to consoles at /run and /agent: to any
number that show the server's notebook, or to one that holds the notebook.
?session=ID selects a session other than "default"; it starts at the first
request. /watch streams a session's trace, /api/sessions and /api/runs list what
there is, /metrics has counters.

With --case the default session is an attempt at that case. It begins when a
console has connected, or at once with --headless. Several cases run one after
the other, each with a fresh kernel, agent and sandbox. Verdicts go to the
consoles and into a run folder.

With EVAL_SANDBOX=1 the token is ` + server.EvalSandboxToken + ` and every console may do
everything; otherwise a token is required (--token-file, or ASSAY_TOKEN), and the
first console owns the session.

Messages between agent, notebook and kernel are logged, unless --log is given.

Exit status: 0 ended by a signal, 2 bad usage or input, 3 it could not serve.`,
		Example: "  EVAL_SANDBOX=1 assay serve --agent 'python3 my_agent.py'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context(), f) },
	}
	f.host.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "localhost:8765", "`address` to listen on")
	flags.BoolVar(&f.allowRemote, "allow-remote", false, "allow an --addr beyond loopback, for a container whose port is published on loopback")
	flags.StringArrayVar(&f.origins, "origin", nil, "`origin` of other pages that may connect, such as http://localhost:5173 (repeatable)")
	f.token.add(flags, "that consoles must send")
	flags.StringArrayVar(&f.cases, "case", nil, "cases to run in the default session, as `PATH[#id]` (repeatable)")
	flags.StringVar(&f.consoleRole, "console-role", server.RoleView, "`role` of the page: view shows the server's notebook, holder keeps the notebook in the page")
	flags.BoolVar(&f.headless, "headless", false, "do not wait for a console; the server holds the notebook")
	flags.StringVar(&f.runs, "runs", defaultRunsDir, "`folder` to create runs in and to show runs from")
	flags.StringVar(&f.out, "out", "", "`folder` for session traces, from which notebooks are restored (default: a temporary folder)")
	flags.DurationVar(&f.sessionIdle, "session-idle", 8*time.Hour, "`duration` after which an unused session ends; 0 is never")
	flags.DurationVar(&f.consoleGrace, "grace", attempt.DefaultHolderGrace, "`duration` that the console holding a case's notebook may be disconnected")
	return cmd
}

// serveHost is assay serve: the server, and the host that starts its sessions.
type serveHost struct {
	p        *cli
	flags    *serveFlags
	host     *kernelAndAgentHost
	config   server.Config
	attempts attempt.Config
	server   *server.Server
}

// serve serves sessions until a signal. The server listens before the kernel is looked
// for, so that a used port is reported at once.
func (p *cli) serve(ctx context.Context, f *serveFlags) error {
	p.lowerLogLevel(slog.LevelInfo)
	s := &serveHost{p: p, flags: f}
	if err := s.configure(); err != nil {
		return exit.UsageError(err)
	}
	caseRuns, err := s.loadFlaggedCases()
	if err != nil {
		return exit.UsageError(err)
	}
	cases, err := s.loadAllCases()
	if err != nil {
		return exit.UsageError(err)
	}
	f.host.sandbox.withhold(cases)
	f.host.sandbox.withholdFolders(f.runs)
	ctx, interrupt := p.cancelOnSignal(ctx)
	defer interrupt.stop()
	listeners, err := listen(ctx, "--addr", f.addr, f.allowRemote, ", or --allow-remote")
	if err != nil {
		return err
	}
	if s.host, err = p.newHost(ctx, &f.host); err == nil {
		err = errors.Join(s.run(ctx, listeners, caseRuns), s.host.close())
	} else {
		err = errors.Join(err, closeAll(listeners))
	}
	if err != nil && interrupt.exitError() != nil {
		p.newLogger().Warn("errors while the server ended", "error", err)
		return nil
	}
	return exit.FirstErrorOrBroken(err)
}

// configure makes the server's configuration from the flags, and rejects invalid ones.
func (s *serveHost) configure() error {
	mode, _ := s.p.getenv("EVAL_SANDBOX")
	if s.flags.sessionIdle < 0 || s.flags.consoleGrace <= 0 {
		return errors.New("--session-idle is at least 0, --grace more than 0")
	}
	if len(s.flags.cases) == 0 && s.flags.host.agent == "oracle" {
		return errors.New("--agent oracle plays the solution of a case: name one with --case")
	}
	if _, err := s.flags.host.dataFolders(); err != nil {
		return err
	}
	if err := s.flags.checkHuman(); err != nil {
		return err
	}
	person, err := s.flags.host.personName(s.p)
	if err != nil {
		return err
	}
	token, err := s.flags.token.read(s.p)
	if err != nil {
		return err
	}
	s.config = server.Config{
		EvalSandbox: mode == "1", Token: token, AllowRemoteHosts: s.flags.allowRemote, AllowedOrigins: s.flags.origins,
		Person: person, ConsoleRole: s.flags.consoleRole, StartSession: s.startSession, TraceDir: s.flags.out, Redactor: s.p.redactor, IdleTimeout: s.flags.sessionIdle,
		RunsDir: s.flags.runs, MaxFrameBytes: s.flags.host.maxFrameBytes, Version: version, Log: s.p.newLogger(),
	}
	if len(s.flags.cases) > 0 {
		s.config.PrepareCase, s.config.ListCases = s.prepareCase, s.listCases
	}
	if name, _ := s.flags.host.agentProtocol(); name == agentFlagMCP {
		s.config.MCPSocketPath = func(sessionID string) string { return s.host.mcpSocket(sessionID) }
	}
	return s.config.Validate()
}

// run serves until ctx ends. It fails if the default session cannot be started, or if what the graders of
// its cases need is missing.
func (s *serveHost) run(ctx context.Context, listeners []net.Listener, caseRuns []caseSequence) error {
	if err := s.prepareServer(); err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	for _, cases := range caseRuns {
		if _, err := s.checkCases(ctx, cases.cases); err != nil {
			return errors.Join(exit.UsageError(err), closeAll(listeners))
		}
	}
	if s.config.EvalSandbox && s.config.Token != "" {
		_, _ = fmt.Fprintf(s.p.stderr, "assay: with EVAL_SANDBOX=1 the token is %s: no other is used\n", server.EvalSandboxToken)
	}
	s.host.printUnenforcedRules()
	_, _ = fmt.Fprintf(s.p.stderr, "serving at http://%s\n", listeners[0].Addr())
	_, _ = fmt.Fprintf(s.p.stderr, "in a browser: http://%[1]s/ is the console, http://%[1]s/runs the runs\n", listeners[0].Addr())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var starting sync.WaitGroup
	var startErr error
	starting.Go(func() {
		if startErr = s.startDefaultSession(ctx, caseRuns); startErr != nil {
			cancel(startErr)
		}
	})
	err := s.server.Run(ctx, s.host.guard(listeners)...)
	cancel(err)
	starting.Wait()
	return errors.Join(err, startErr)
}

// prepareServer creates the folders that will be written to, and the server.
func (s *serveHost) prepareServer() (err error) {
	if s.attempts, err = s.host.attemptConfig(); err != nil {
		return err
	}
	s.attempts.AwaitConsole = !s.flags.headless
	s.attempts.HolderGrace, s.attempts.SharedConsoles = s.flags.consoleGrace, s.config.EvalSandbox
	if s.config.TraceDir == "" {
		s.config.TraceDir = filepath.Join(s.host.supervisor.TempDir(), "traces")
	}
	if err := s.makeFolders(); err != nil {
		return err
	}
	s.server, err = server.New(s.config)
	return err
}

// makeFolders creates the folders for traces and runs, so that a wrong name is reported
// before a session starts.
func (s *serveHost) makeFolders() error {
	if err := os.MkdirAll(s.config.TraceDir, 0o750); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if len(s.flags.cases) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.flags.runs, 0o750); err != nil {
		return fmt.Errorf("--runs: %w", err)
	}
	return nil
}

// startDefaultSession queues attempts at the cases in the default session. Without cases
// it starts the session.
func (s *serveHost) startDefaultSession(ctx context.Context, caseRuns []caseSequence) error {
	for _, run := range caseRuns {
		if err := s.server.QueueAttempts(server.DefaultSessionID, s.attemptRunner(run)); err != nil {
			return err
		}
	}
	if len(caseRuns) > 0 {
		return nil
	}
	if err := s.server.StartSession(ctx, server.DefaultSessionID); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// startSession starts a session without a case. It fails if a person does the agent's work.
func (s *serveHost) startSession(ctx context.Context, options server.StartOptions) (*session.Session, error) {
	if s.host.person != "" {
		return nil, errors.New("--agent human works on cases, and this session has none")
	}
	agent, err := s.host.agentConfig("")
	if err != nil {
		return nil, err
	}
	cfg := session.Config{
		ID: options.SessionID, Journal: options.Journal, RestoreFrom: options.RestoreFrom,
		Environ: s.p.environ, WorkdirRoot: s.attempts.WorkdirRoot, AwaitConsole: !s.flags.headless, TakeOverDelay: takeOverDelay,
		MaxDiskBytes: int64(s.flags.host.sandbox.disk),
		Kernel:       s.host.kernelConfig(), Agent: agent, AgentInit: protocol.AgentInit{SessionID: 1},
		Router:      router.Config{MaxFrameBytes: s.flags.host.maxFrameBytes, Shared: s.config.EvalSandbox},
		ChildOutput: s.p.stderr, ChildLineSink: options.ChildLineSink, Redactor: s.p.redactor, Log: s.p.newLogger(),
	}
	if s.host.gateway != nil {
		cfg.OpenModels = s.host.gateway.open
	}
	return session.Start(ctx, s.host.supervisor, cfg)
}
