package check

import (
	"context"
	"errors"
	"syscall"
	"time"

	"assay/internal/protocol"
	"assay/internal/subprocess"
)

// endSituations returns the situations in which the agent must exit.
func endSituations() []situation {
	const rule = "exit when a read returns the end of the stream"
	return []situation{
		{name: "close", section: sectionStarting, needs: handshake, run: tryClose, rule: rule},
		{name: "close-at-work", section: sectionStarting, needs: query, prepare: withholdFirstAnswer, run: duringAction(tryCloseAtWork), rule: rule},
		{name: "sigterm", section: sectionStarting, needs: handshake, run: trySIGTERM, isTolerable: true, rule: "exit at SIGTERM"},
	}
}

// tryClose is the situation in which the socket is closed while the agent has nothing to do.
func tryClose(ctx context.Context, p *server) Finding {
	if err := p.agent.Close(protocol.CloseNormal, ""); err != nil {
		return fail("%v", err)
	}
	return p.awaitExit(ctx, "its socket was closed")
}

// tryCloseAtWork is the situation in which the socket is closed while an action of the agent is not answered.
func tryCloseAtWork(ctx context.Context, p *server, action *withheldAction, _ int) Finding {
	if err := p.agent.Close(protocol.CloseNormal, ""); err != nil {
		return fail("%v", err)
	}
	return p.awaitExit(ctx, "its socket was closed during "+action.frame.Action)
}

// trySIGTERM is the situation in which the agent gets SIGTERM, and its socket stays open.
func trySIGTERM(ctx context.Context, p *server) Finding {
	if err := p.agent.Signal(syscall.SIGTERM); err != nil {
		return fail("%v", err)
	}
	return p.awaitExit(ctx, "SIGTERM")
}

// awaitExit waits until the process of the agent has exited because of cause, at most subprocess.StopGrace, after
// which a session kills it.
func (p *server) awaitExit(ctx context.Context, cause string) Finding {
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, subprocess.StopGrace, errTooLate)
	defer cancel()
	select {
	case <-p.agent.Exited():
		return pass("%s: it %s after %v", cause, p.agent.ExitState(), round(time.Since(start)))
	case <-ctx.Done():
	}
	if err := context.Cause(ctx); !errors.Is(err, errTooLate) {
		return fail("%v", err)
	}
	return fail("%s: it still ran %v later, when a session kills it", cause, subprocess.StopGrace)
}

// errTooLate is the cause of the end of a wait for an exit.
var errTooLate = errors.New("too late")
