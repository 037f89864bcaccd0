package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/localsession"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/router"
)

// localSessionFlags are the flags of a command that runs a session in this process, without
// a server.
type localSessionFlags struct {
	host kernelAndAgentFlags
	out  string
}

// add adds the flags of the kernel and of the trace, and the flags of kernelAndAgentFlags named
// in more.
func (f *localSessionFlags) add(cmd *cobra.Command, more ...string) {
	f.host.addSome(cmd, append(more, "kernel", "python", "cell", "ready", "frame-limit", "stdio-limit", "sandbox-root",
		"sandbox", "sandbox-read", "network", "memory", "processes", "open-files", "disk")...)
	cmd.Flags().Lookup("cell").Usage = "`duration` that one cell or piece of code may run (default 5m)"
	cmd.Flags().StringVar(&f.out, "out", "", "`folder` for trace.jsonl and stderr.txt, the output of kernel and agent (default: a temporary folder)")
}

// localSession is a session in this process, with the host that started it. close ends
// both.
type localSession struct {
	*localsession.Session
	host *kernelAndAgentHost
}

// startLocalSession starts a kernel and an agent, and returns when both are ready. The
// session has the given id. Its errors carry an exit status; after an error nothing is
// left running.
func (p *cli) startLocalSession(ctx context.Context, id string, f *localSessionFlags) (*localSession, error) {
	h, err := p.newHost(ctx, &f.host)
	if err != nil {
		return nil, err
	}
	s, err := h.startLocalSession(ctx, id, f.out)
	if err != nil {
		return nil, exit.FirstErrorOrBroken(errors.Join(err, h.close()))
	}
	return &localSession{Session: s, host: h}, nil
}

func (h *kernelAndAgentHost) startLocalSession(ctx context.Context, id, outDir string) (*localsession.Session, error) {
	p, f := h.p, h.flags
	h.printUnenforcedRules()
	agent, err := h.agentConfig("")
	if err != nil {
		return nil, err
	}
	root, err := h.sandboxRoot()
	if err != nil {
		return nil, err
	}
	cfg := session.Config{
		ID: id, Environ: p.environ, WorkdirRoot: root, MaxDiskBytes: int64(f.sandbox.disk),
		Kernel: h.kernelConfig(), Agent: agent, AgentInit: protocol.AgentInit{SessionID: 1, Limits: limitsForAgent(f.limits.overrides())},
		Router: router.Config{MaxFrameBytes: f.maxFrameBytes, CellTimeout: f.limits.cell, Shared: true},
		Log:    p.newLogger(),
	}
	if h.gateway != nil {
		cfg.OpenModels = h.gateway.open
	}
	return localsession.Start(ctx, h.supervisor, cfg, outDir, p.redactor)
}

// printUnenforcedRules prints which limits and promises do not hold on this machine.
func (h *kernelAndAgentHost) printUnenforcedRules() {
	for _, missing := range describeUnenforcedRules(h.enforcedRules()) {
		_, _ = fmt.Fprintf(h.p.stderr, "not enforced on this machine: %s\n", missing)
	}
}

// close ends the session and its host. cause is recorded in the trace.
func (s *localSession) close(cause string) error {
	return errors.Join(s.Close(cause), s.host.close())
}

// cellTimeout returns how long code may run.
func (s *localSession) cellTimeout() time.Duration {
	if timeout := s.host.flags.limits.cell; timeout > 0 {
		return timeout
	}
	return router.DefaultCellTimeout
}
