package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/attempt"
	"assay/internal/batch"
	"assay/internal/protocol"
	"assay/internal/runs"
	"assay/internal/session"
	"assay/internal/trace"
	"assay/router"
	"assay/server"
	"assay/testcases"
)

type serveFlags struct {
	host        hostFlags
	addr, token string
	path        string // PATH[#id] of a case
	runs, out   string
}

func (p *process) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serves a live session to a console",
		Long: `Starts a kernel and an agent and serves them at /run and /agent to a console,
which holds the notebook. With --case the session is an attempt at that case,
which begins when the console has come; its verdict goes into a run folder.

With EVAL_SANDBOX=1 the token is ` + server.SandboxToken + `; without it one must be given.

Exit status: 0 ended by a signal, 2 bad usage or input, 3 it could not serve.`,
		Example: "  EVAL_SANDBOX=1 assay serve --agent 'python3 my_agent.py'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context(), f) },
	}
	f.host.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "localhost:8765", "`address` to listen at, on loopback")
	flags.StringVar(&f.token, "token", "", "what a console must say to be let in")
	flags.StringVar(&f.path, "case", "", "case to attach, as `PATH[#id]`")
	flags.StringVar(&f.runs, "runs", "runs", "`folder` in which the run of the case is made")
	flags.StringVar(&f.out, "out", "", "`folder` for the trace of the session (default a temporary one)")
	return cmd
}

func (p *process) serve(ctx context.Context, f *serveFlags) error {
	mode, _ := p.getenv("EVAL_SANDBOX")
	cases, err := f.attached()
	if err != nil {
		return usage(err)
	}
	web, err := server.New(server.Config{Sandbox: mode == "1", Token: f.token, FrameLimit: f.host.frameLimit, Log: p.log()})
	if err != nil {
		return usage(err)
	}
	ctx, interrupted := p.untilSignal(ctx)
	defer interrupted.stop()
	ln, err := listenLocally(ctx, f.addr)
	if err != nil {
		return err
	}
	h, err := p.newHost(ctx, &f.host)
	if err != nil {
		if err = errors.Join(err, ln.Close()); interrupted.status() != 0 {
			return nil
		}
		return err
	}
	live := func(ctx context.Context) error { return p.serveSession(ctx, h, f, web) }
	if cases != nil {
		live = func(ctx context.Context) error { return p.serveCase(ctx, h, f, web, cases) }
	}
	_, _ = fmt.Fprintf(p.err, "serving at http://%s\n", ln.Addr())
	err = together(ctx, func(ctx context.Context) error { return web.Run(ctx, ln) }, live)
	if cerr := h.close(); cerr != nil {
		return broken(errors.Join(err, cerr))
	}
	if err != nil && interrupted.status() == 0 {
		return broken(err)
	}
	return nil
}

// together runs both until ctx ends or one fails, which ends the other too.
func together(ctx context.Context, a, b func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		err := a(ctx)
		if err != nil {
			cancel(err)
		}
		done <- err
	}()
	err := b(ctx)
	if err != nil {
		cancel(err)
	}
	return errors.Join(err, <-done)
}

// listenLocally listens, on loopback only.
func listenLocally(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, usage(fmt.Errorf("--addr: %w", err))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usage(fmt.Errorf("--addr %s: want an address on loopback, such as localhost:8765", addr))
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, broken(err)
	}
	return ln, nil
}

// attached is the case that the flags name; nil: none.
func (f *serveFlags) attached() ([]testcases.Case, error) {
	if f.path == "" {
		return nil, nil
	}
	path, id, named := strings.Cut(f.path, "#")
	prefixes, err := f.host.prefixes()
	if err != nil {
		return nil, err
	}
	cases, err := testcases.Load([]string{path}, testcases.Options{Data: prefixes})
	if err != nil {
		return nil, err
	}
	if named {
		for _, c := range cases {
			if c.ID == id {
				return []testcases.Case{c}, testcases.CheckRun([]testcases.Case{c})
			}
		}
		return nil, fmt.Errorf("%s has no case %q", path, id)
	}
	if len(cases) > 1 {
		return nil, fmt.Errorf("%s has %d cases: name one, as %s#%s", path, len(cases), path, cases[0].ID)
	}
	return cases, testcases.CheckRun(cases)
}

// serveCase attaches a case: a run of one attempt whose notebook a console
// holds. It then serves on until ctx ends.
func (p *process) serveCase(ctx context.Context, h *host, f *serveFlags, web *server.Server, cases []testcases.Case) error {
	attempts, err := h.attempts()
	if err != nil {
		return err
	}
	missing, err := h.requirements(ctx, cases)
	if err != nil {
		return err
	}
	attempts.Console, attempts.SessionID = true, server.DefaultSession
	attempts.Attach = func(live *session.Session) { web.Attach(server.DefaultSession, live) }
	name := time.Now().Format("20060102-150405") + "-serve"
	folder, err := runs.Create(filepath.Join(f.runs, name), runs.Info{
		Started: time.Now().UTC(), Host: h.info(),
		Config: map[string]any{"case": f.path, "agent": f.host.agent, "model": f.host.model, "console": true},
	})
	if err != nil {
		return err
	}
	summary, err := batch.Run(ctx, batch.Config{
		Folder: folder, Cases: cases, Jobs: 1,
		Missing: missing,
		Attempt: func(ctx context.Context, work attempt.Work) runs.Attempt { return attempt.Run(ctx, attempts, work) },
	})
	if err = errors.Join(err, folder.Close()); err != nil {
		return err
	}
	if err := runs.EncodeLine(p.out, summary); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// serveSession serves a session without a case until ctx ends.
func (p *process) serveSession(ctx context.Context, h *host, f *serveFlags, web *server.Server) (err error) {
	root, err := h.sandboxRoot()
	if err != nil {
		return err
	}
	command, err := h.agentConfig("")
	if err != nil {
		return err
	}
	dir := f.out
	if dir == "" {
		dir = h.supervisor.TempDir()
	} else if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	name := server.DefaultSession + "-" + time.Now().Format("20060102-150405.000") + ".trace.jsonl"
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	journal := trace.NewJournal(server.DefaultSession)
	writer := trace.NewWriter(journal, file)
	written := make(chan error, 1)
	go func() { written <- errors.Join(writer.Run(context.WithoutCancel(ctx)), file.Close()) }()
	defer func() {
		journal.Close()
		err = errors.Join(err, <-written)
	}()
	live, err := session.Start(ctx, h.supervisor, session.Config{
		ID: server.DefaultSession, Journal: journal, Environ: p.environ, SandboxRoot: root, Console: true,
		Kernel: h.kernelConfig(), Agent: command,
		Init: protocol.AgentInit{SessionID: 1}, Router: router.Config{FrameLimit: f.host.frameLimit}, Printed: p.err, Log: p.log(),
	})
	if err != nil {
		return err
	}
	web.Attach(server.DefaultSession, live)
	<-ctx.Done()
	return live.End(context.WithoutCancel(ctx), context.Cause(ctx).Error())
}
