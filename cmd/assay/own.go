package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// ownFlags are those of a command that has a session of its own, without a
// server. The agent is the one that host.agent says.
type ownFlags struct {
	host hostFlags
	out  string
}

// add adds the flags that say how the kernel is started and where the trace is
// put, and those of the host's that are named.
func (f *ownFlags) add(cmd *cobra.Command, more ...string) {
	f.host.addSome(cmd, append(more, "kernel", "python", "cell", "ready", "frame-limit", "stdio-limit", "sandbox-root",
		"sandbox", "sandbox-read", "network", "memory", "processes", "open-files", "disk")...)
	cmd.Flags().Lookup("cell").Usage = "`duration` that one cell or piece of code may run (default 5m)"
	cmd.Flags().StringVar(&f.out, "out", "", "`folder` for trace.jsonl and stderr.txt, the output of kernel and agent (default: a temporary folder)")
}

// own is a session that belongs to this process alone. The server's document is
// the notebook, and whoever made it is its only console. Whoever made it must
// close it.
type own struct {
	session   *session.Session
	host      *host
	dir       string // of the trace
	temporary bool   // it goes with the session

	recording *trace.Recording
	printed   *os.File
}

// startOwn starts a kernel and an agent, and returns when both are ready; id is
// what the session is called. Its errors have their exit status, and leave
// nothing behind.
func (p *process) startOwn(ctx context.Context, id string, f *ownFlags) (*own, error) {
	h, err := p.newHost(ctx, &f.host)
	if err != nil {
		return nil, err
	}
	o := &own{host: h}
	if err := o.start(ctx, id, f); err != nil {
		err = errors.Join(err, o.close("it could not start"))
		if status, ok := errors.AsType[*statusError](err); ok {
			return nil, status
		}
		return nil, broken(err)
	}
	return o, nil
}

func (o *own) start(ctx context.Context, id string, f *ownFlags) error {
	if err := o.record(id, f.out); err != nil {
		return err
	}
	p := o.host.p
	for _, what := range unenforced(o.host.enforced()) {
		_, _ = fmt.Fprintf(p.err, "not enforced on this machine: %s\n", what)
	}
	command, err := o.host.agentConfig("")
	if err != nil {
		return err
	}
	root, err := o.host.sandboxRoot()
	if err != nil {
		return err
	}
	limits := f.host.limits.asked()
	o.session, err = session.Start(ctx, o.host.supervisor, session.Config{
		ID: id, Journal: o.recording.Journal, Environ: p.environ, WorkdirRoot: root, MaxDiskBytes: int64(f.host.sandbox.disk),
		Kernel: o.host.kernelConfig(), Agent: command, AgentInit: protocol.AgentInit{SessionID: 1, Limits: agentLimits(limits)},
		Router:      router.Config{MaxFrameBytes: f.host.frameLimit, CellTimeout: f.host.limits.cell, Shared: true},
		ChildOutput: o.printed, Log: p.log(),
	})
	return err
}

// record begins the trace, in a folder that goes with the session unless it was
// asked for.
func (o *own) record(id, dir string) (err error) {
	o.dir, o.temporary = dir, dir == ""
	if o.temporary {
		o.dir = filepath.Join(o.host.supervisor.TempDir(), id)
	}
	if err := os.MkdirAll(o.dir, 0o750); err != nil {
		return usage(fmt.Errorf("--out: %w", err))
	}
	o.recording, err = trace.NewRecording(trace.NewJournal(id), filepath.Join(o.dir, "trace.jsonl"))
	if errors.Is(err, fs.ErrExist) {
		return usage(fmt.Errorf("--out %s: it has a trace already", dir))
	} else if err != nil {
		return err
	}
	o.printed, err = os.OpenFile(filepath.Join(o.dir, "stderr.txt"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	return err
}

// agentLimits are the limits of each query, as an agent is told them.
func agentLimits(asked runs.Limits) json.RawMessage {
	raw, err := json.Marshal(runs.Limits{
		WallTimeoutS: max(asked.WallTimeoutS, 0), CellTimeoutS: max(asked.CellTimeoutS, 0), MaxTurns: max(asked.MaxTurns, 0), MaxActions: max(asked.MaxActions, 0),
		MaxTokens: max(asked.MaxTokens, 0), MaxCostUSD: max(asked.MaxCostUSD, 0),
	})
	if err != nil {
		return nil // numbers can always be written
	}
	return raw
}

// close ends the session for this cause, with all that it has started. What is
// left is the trace, if it was asked for.
func (o *own) close(cause string) error {
	var errs []error
	if o.session != nil {
		errs = append(errs, o.session.End(context.Background(), cause))
	}
	if o.recording != nil {
		errs = append(errs, o.recording.Close())
	}
	if o.printed != nil {
		errs = append(errs, o.printed.Close())
	}
	return errors.Join(append(errs, o.host.close())...)
}

// cellLimit is how long code may run.
func (o *own) cellLimit() time.Duration {
	if limit := o.host.flags.limits.cell; limit > 0 {
		return limit
	}
	return router.DefaultCellTimeout
}
