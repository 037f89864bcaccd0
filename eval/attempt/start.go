package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/model/gateway"
	"assay/internal/model/replay"
	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/router"
)

// setStartFailure sets the outcome of an attempt whose session could not be started: cancelled
// if ctx has ended, setup_error for a *session.StartError, and otherwise harness_error.
func (a *attempt) setStartFailure(ctx context.Context, err error) {
	var startErr *session.StartError
	switch {
	case ctx.Err() != nil:
		a.setOutcome(runs.OutcomeCancelled, context.Cause(ctx).Error())
	case errors.As(err, &startErr) && startErr.Component == "agent":
		a.setOutcome(runs.OutcomeSetupError, a.withFolder(err.Error()))
	case errors.As(err, &startErr):
		a.setOutcome(runs.OutcomeSetupError, err.Error())
	default:
		a.setOutcome(runs.OutcomeHarnessError, err.Error())
	}
}

// startSession starts the session and runs the case's setup in its kernel. If the session or
// the setup fails, the error is a *session.StartError; another error means that a file could
// not be written or opened. After an error no session is running.
func (a *attempt) startSession(ctx context.Context) error {
	if err := a.writeSolution(); err != nil {
		return err
	}
	agentConfig, err := a.cfg.AgentConfig(a.solutionPath)
	if err != nil {
		return &session.StartError{Component: "agent", Err: err}
	}
	confined := agentConfig.Sandbox
	a.agentHasNoNetwork = confined != nil && confined.Rules.Network == sandbox.NetworkOff
	childOutput, err := os.OpenFile(filepath.Join(a.job.Dir, "stderr.txt"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	linked := a.linkedDataFiles()
	a.cfg.Kernel.ReadPaths, a.cfg.Kernel.Sandbox, agentConfig.ReadPaths = linked, a.kernelSandbox(), linked
	cfg := session.Config{
		ID: a.journal.SessionID, Journal: a.journal, Kernel: a.cfg.Kernel, Agent: agentConfig, Environ: a.cfg.Environ,
		WorkdirRoot: a.cfg.WorkdirRoot, PrepareWorkdir: a.stageFiles, AwaitConsole: a.cfg.AwaitConsole && a.cfg.Person == "", IsEvaluation: true,
		AgentInit: newAgentInit(a.limits), MaxDiskBytes: a.limits.MaxDiskBytes, NewCellID: a.cellIDGenerator(),
		Router:     router.Config{AfterAgentFrame: a.watcher.position.await, CellTimeout: secondsToDuration(a.limits.CellTimeoutS), CellRunLimit: secondsToDuration(a.limits.CellTimeoutS), MaxFrameBytes: a.cfg.Kernel.MaxFrameBytes, Shared: a.cfg.SharedConsoles, ReadOnly: a.cfg.ReadOnlyConsoles},
		OpenModels: a.cfg.OpenModels, ModelSilenceDelay: a.modelSilenceDelay(), ModelScope: replay.CacheScope{Epoch: a.job.Epoch, Try: a.job.Try},
		ModelLimits: gateway.Limits{MaxCalls: a.limits.MaxTurns, MaxTokens: a.limits.MaxTokens, MaxCostUSD: a.limits.MaxCostUSD},
		ChildOutput: childOutput, Redactor: a.redactor, ChildLineSink: a.cfg.ChildLineSink, Log: a.log,
	}
	a.childOutput = childOutput
	a.session, err = session.Start(ctx, a.cfg.Supervisor, cfg)
	if err != nil {
		return err
	}
	if a.cfg.Person != "" {
		a.session.RefuseActions("the attempt has not started yet")
	}
	if a.cfg.OnSession != nil {
		a.cfg.OnSession(a.session)
	}
	if err := a.runSetup(ctx); err != nil {
		a.setStartFailure(ctx, err)
		a.endSession(ctx)
		return err
	}
	return nil
}

// modelSilenceDelay returns how long nothing of a reply must come until that counts as silence of the model: a
// minute, or less if the attempt has little time.
func (a *attempt) modelSilenceDelay() time.Duration {
	const part = 4
	if wall := secondsToDuration(a.limits.WallTimeoutS); wall > 0 {
		return min(maxSilenceDelay, wall/part)
	}
	return maxSilenceDelay
}

// kernelSandbox returns the sandbox of the attempt's kernel, with the network that the case names.
func (a *attempt) kernelSandbox() *sandbox.Template {
	template := a.cfg.Kernel.Sandbox
	if network := a.job.Case.Network; network != "" && !a.cfg.IgnoreCaseNetwork {
		template = template.WithNetwork(sandbox.Network(network))
	}
	return template
}

// cellIDGenerator returns a function that makes the ids of the notebook's cells. The ids depend
// only on case, epoch, try and order, so that a recording of one run can be replayed in
// another.
func (a *attempt) cellIDGenerator() func() string {
	var count atomic.Int64
	return func() string {
		name := fmt.Sprintf("%s/%d/%d/%d", a.job.Case.ID, a.job.Epoch, a.job.Try, count.Add(1))
		return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String()
	}
}

// runSetup runs the case's setup code, if it has any. It fails with a *session.StartError if the
// code raises or takes longer than the cell limit, or if the kernel dies.
func (a *attempt) runSetup(ctx context.Context) error {
	if a.job.Case.Setup == "" {
		return nil
	}
	a.job.Progress.setActivity("running the case's setup")
	response, err := a.session.Execute(ctx, a.job.Case.Setup, secondsToDuration(a.limits.CellTimeoutS))
	if err == nil {
		err = executionError(response)
	}
	if err != nil {
		return &session.StartError{Component: "setup", Err: fmt.Errorf("the case's setup failed: %w", err)}
	}
	return nil
}

// executionError returns the traceback of executed code as an error if the code raised. It
// returns nil otherwise, also for code that was interrupted.
func executionError(response protocol.ExecuteCodeResponse) error {
	if response.Status != protocol.StatusError {
		return nil
	}
	return errors.New(strings.TrimSpace(response.Exception))
}

// endSession ends the session; the attempt's outcome is the reason that consoles get. A failure
// is only logged. Further calls do nothing.
func (a *attempt) endSession(ctx context.Context) {
	cause := strings.TrimSuffix(string(a.result.Outcome)+": "+a.result.Detail, ": ")
	if err := a.session.End(context.WithoutCancel(ctx), cause); err != nil {
		a.log.Warn("the session could not be ended cleanly", "error", err)
	}
}
