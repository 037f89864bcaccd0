// Package attempt is one try at one case: it starts a session, gives the agent
// its task, notices how the work ends, collects what is there, grades it, and
// writes it down. It always comes to a result; what goes wrong on the way is the
// result's outcome.
//
// It decides from the trace alone. The router and the session know nothing of
// evaluations; a [watch] reads every frame in the session's one order and says
// when the attempt is over and how.
package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"assay/agent"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/model"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/kernel"
	"assay/router"
	"assay/testcases"
)

// Config is what all attempts of a run have in common.
type Config struct {
	Supervisor *subprocess.Supervisor
	Kernel     kernel.Config
	Environ    []string // the server's environment

	// Agent makes the agent of an attempt. solution is the path of a file with
	// the case's oracle; it is empty without Solutions, or when the case has
	// none.
	AgentConfig func(solution string) (agent.Config, error)

	// Solutions is the folder in which such files are made, for agents that
	// play them; empty: no agent does, and no oracle leaves this process.
	SolutionsDir string

	// WorkdirRoot is the folder in which sandboxes are made.
	WorkdirRoot string

	// Limits go before those of the case, which go before the defaults; a zero
	// field does not say, a negative one is no limit.
	LimitOverrides runs.Limits

	// Console waits for a console, which decides who holds the notebook;
	// otherwise the server does. Grace is how long a holder may be away; 0 is
	// DefaultHolderGrace. Shared lets every console do everything, ReadOnlyConsoles none.
	// Attach, if set, is called with the session as soon as it is there.
	AwaitConsole                     bool
	HolderGrace                      time.Duration
	SharedConsoles, ReadOnlyConsoles bool
	OnSession                        func(*session.Session)

	// Judge opens the model of that name for graders; nil: there is none. Its
	// calls are written into the attempt's folder, as judge.jsonl.
	OpenJudge func(name string) (model.Client, error)

	// Observe, if set, is called with the trace before anything is in it, and
	// Asked when the agent is about to get its task: from then on its time runs.
	OnTrace    func(*trace.Recording)
	OnTaskSent func(at time.Time)

	// Lines, if set, gets what kernel and agent print, as session.Config says.
	ChildLineSink func(child string) func(line []byte)

	// SessionID names the session; empty is one of the attempt's own.
	SessionID string

	Log *slog.Logger // nil discards
}

// Job is what to try.
type Job struct {
	Case       testcases.Case
	Epoch, Try int
	Dir        string // folder of the attempt, which is there
	RelDir     string // the same, as the run's records name it

	// Doing, if set, is kept up to date.
	Progress *Progress
}

// attempt is one try while it lasts.
type attempt struct {
	cfg       Config
	job       Job
	log       *slog.Logger
	startedAt time.Time
	limits    runs.Limits
	result    runs.Attempt

	journal     *trace.Journal
	recording   *trace.Recording
	flowLog     sync.WaitGroup // the log of what passes
	childOutput *os.File       // what the children print; nil: not opened yet
	judgeCalls  *os.File       // the calls of a judge; nil: there was none
	session     *session.Session
	watch       *watch
	collected   session.CollectedState

	solutionPath      string                   // the file with the case's oracle; empty: none
	markedFiles       int                      // files of the case that hold the marker
	rerunEnforced     []func() map[string]bool // Enforced of each kernel that ran the notebook again
	agentKilledKernel bool                     // the kernel died running the agent's code
}

// Run tries a case once. The returned attempt lacks only the run's name. When
// ctx ends, the attempt is cancelled, with the cause of ctx as its detail.
func Run(ctx context.Context, cfg Config, work Job) (result runs.Attempt) {
	a := newAttempt(cfg, work)
	defer func() {
		if fault := recover(); fault != nil {
			a.log.Error("an attempt broke", "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			a.setHarnessError(fmt.Sprintf("a fault of the harness: %v", fault))
		}
		result = a.completeResult()
	}()
	a.runPhases(ctx)
	return a.result
}

func newAttempt(cfg Config, work Job) *attempt {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if work.Progress == nil {
		work.Progress = &Progress{}
	}
	a := &attempt{cfg: cfg, job: work, startedAt: time.Now(), limits: EffectiveLimits(cfg.LimitOverrides, work.Case)}
	a.log = cfg.Log.With("case", work.Case.ID)
	a.result = runs.Attempt{
		Type: runs.TypeAttempt, CaseID: work.Case.ID, Tags: work.Case.Tags, Epoch: work.Epoch, Try: work.Try, Limits: a.limits,
		Graders: nil,
	}
	id := cfg.SessionID
	if id == "" {
		id = filepath.Base(work.Dir)
	}
	a.journal = trace.NewJournal(id)
	a.watch = newWatch(a.journal, a.limits, cmp.Or(cfg.HolderGrace, DefaultHolderGrace), work.Progress)
	return a
}

// runPhases goes through the phases; each that fails ends the attempt.
func (a *attempt) runPhases(ctx context.Context) {
	if err := a.openTrace(); err != nil {
		a.setOutcome(runs.OutcomeHarnessError, err.Error())
		return
	}
	defer a.closeTrace()
	defer a.removeSolution()
	defer a.watch.close()
	phase := time.Now()
	next := func(took *int64) {
		*took = time.Since(phase).Milliseconds()
		phase = time.Now()
	}
	phases := &a.result.Phases
	a.job.Progress.setActivity("starting kernel and agent")
	var err error
	a.watch.drainDuring(func() { err = a.startSession(ctx) }, a.watch.readBeforeTask)
	next(&phases.StartMS)
	if err != nil {
		a.setStartFailure(ctx, err)
		return
	}
	defer a.endSession(ctx)
	a.runAgent(ctx)
	phases.WaitMS = a.watch.modelWaits.totalAt(time.Now()).Milliseconds()
	next(&phases.WorkMS)
	a.collectState(ctx)
	next(&phases.CollectMS)
	a.grade(ctx)
	next(&phases.GradeMS)
}

// setOutcome settles the outcome; the first one stands.
func (a *attempt) setOutcome(outcome runs.Outcome, detail string) {
	if a.result.Outcome == "" {
		a.result.Outcome, a.result.Detail = outcome, strings.TrimSpace(detail)
	}
}

func (a *attempt) setStartFailure(ctx context.Context, err error) {
	var start *session.StartError
	switch {
	case ctx.Err() != nil:
		a.setOutcome(runs.OutcomeCancelled, context.Cause(ctx).Error())
	case errors.As(err, &start):
		a.setOutcome(runs.OutcomeSetupError, err.Error())
	default:
		a.setOutcome(runs.OutcomeHarnessError, err.Error())
	}
}

// startSession makes the session and runs the case's setup in its kernel.
func (a *attempt) startSession(ctx context.Context) error {
	if err := a.writeSolution(); err != nil {
		return err
	}
	agentConfig, err := a.cfg.AgentConfig(a.solutionPath)
	if err != nil {
		return &session.StartError{Component: "agent", Err: err}
	}
	printed, err := os.OpenFile(filepath.Join(a.job.Dir, "stderr.txt"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	a.cfg.Kernel.ReadPaths = a.linkedPaths()
	cfg := session.Config{
		ID: a.journal.SessionID, Journal: a.journal, Kernel: a.cfg.Kernel, Agent: agentConfig, Environ: a.cfg.Environ,
		WorkdirRoot: a.cfg.WorkdirRoot, PrepareWorkdir: a.stageFiles, AwaitConsole: a.cfg.AwaitConsole, IsEvaluation: true,
		AgentInit: newAgentInit(a.limits), MaxDiskBytes: a.limits.DiskBytes, NewCellID: a.cellIDGenerator(),
		Router:      router.Config{CellTimeout: secondsToDuration(a.limits.CellS), MaxFrameBytes: a.cfg.Kernel.MaxFrameBytes, Shared: a.cfg.SharedConsoles, ReadOnly: a.cfg.ReadOnlyConsoles},
		ChildOutput: printed, ChildLineSink: a.cfg.ChildLineSink, Log: a.log,
	}
	a.childOutput = printed
	a.session, err = session.Start(ctx, a.cfg.Supervisor, cfg)
	if err != nil {
		return err
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

// cellIDGenerator makes the ids of an attempt's cells: the same attempt in another run
// has the same, so that what was recorded of the one fits the other.
func (a *attempt) cellIDGenerator() func() string {
	var made atomic.Int64
	return func() string {
		name := fmt.Sprintf("%s/%d/%d/%d", a.job.Case.ID, a.job.Epoch, a.job.Try, made.Add(1))
		return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String()
	}
}

func (a *attempt) runSetup(ctx context.Context) error {
	if a.job.Case.Setup == "" {
		return nil
	}
	a.job.Progress.setActivity("running the case's setup")
	done, err := a.session.Execute(ctx, a.job.Case.Setup, secondsToDuration(a.limits.CellS))
	if err == nil {
		err = executionError(done)
	}
	if err != nil {
		return &session.StartError{Component: "setup", Err: fmt.Errorf("the case's setup failed: %w", err)}
	}
	return nil
}

// executionError says that the case's setup has raised.
func executionError(done protocol.ExecuteCodeResponse) error {
	if done.Status != protocol.StatusError {
		return nil
	}
	return errors.New(strings.TrimSpace(done.Exception))
}

// endSession ends the session; it may be called again.
func (a *attempt) endSession(ctx context.Context) {
	cause := strings.TrimSuffix(string(a.result.Outcome)+": "+a.result.Detail, ": ")
	if err := a.session.End(context.WithoutCancel(ctx), cause); err != nil {
		a.log.Warn("the session did not end well", "error", err)
	}
}

func (a *attempt) openTrace() error {
	recording, err := trace.NewRecording(a.journal, a.filePath("trace.jsonl"))
	if err != nil {
		return err
	}
	a.recording = recording
	follower := a.journal.Follow()
	a.flowLog.Go(func() { _ = flow.Log(context.Background(), follower, a.log) }) // until the journal is closed
	if a.cfg.OnTrace != nil {
		a.cfg.OnTrace(recording)
	}
	return nil
}

// closeTrace ends the journal, waits for the file, and writes what is made of
// it.
func (a *attempt) closeTrace() {
	a.job.Progress.setActivity("writing down what happened")
	err := a.recording.Close()
	a.flowLog.Wait()
	for _, file := range []*os.File{a.childOutput, a.judgeCalls} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	if err == nil && a.session != nil {
		err = a.writeFiles()
	}
	if err != nil {
		// What was recorded is not whole, and so the verdict cannot be checked.
		a.setHarnessError(fmt.Sprintf("the attempt could not be recorded: %v", err))
	}
}

// setHarnessError makes the attempt one that the harness has spoilt, whatever it was.
func (a *attempt) setHarnessError(detail string) {
	a.result.Outcome, a.result.Detail = runs.OutcomeHarnessError, detail
	a.result.Passed, a.result.Score, a.result.Graders = nil, nil, nil
}

func (a *attempt) filePath(name string) string { return filepath.Join(a.job.Dir, name) }

// completeResult fills in what every result has.
func (a *attempt) completeResult() runs.Attempt {
	r := &a.result
	r.Started, r.Ended = a.startedAt.UTC(), time.Now().UTC()
	r.DurationMS = r.Ended.Sub(r.Started).Milliseconds()
	r.Usage = a.watch.usage
	r.TamperSignals = a.markedFiles + a.watch.tamperSignals
	r.Interventions = a.watch.interventions
	r.Enforced = a.enforced()
	r.Trace = filepath.Join(a.job.RelDir, "trace.jsonl")
	entries, err := os.ReadDir(a.job.Dir)
	if err != nil {
		a.log.Warn("the attempt's folder cannot be read", "error", err)
	}
	for _, entry := range entries {
		r.Files = append(r.Files, filepath.Join(a.job.RelDir, entry.Name()))
		if entry.Name() == "state.json" {
			r.NotebookState = filepath.Join(a.job.RelDir, entry.Name())
		}
	}
	return *r
}

// enforced combines what was enforced for each child of the attempt: the session's kernels and
// agents, and the kernels that ran the notebook again. The commands of graders run without a
// sandbox and do not count. A key is true only if it is true for every child that has it.
func (a *attempt) enforced() map[string]bool {
	combined := map[string]bool{}
	if a.session != nil {
		session.AddEnforced(combined, a.session.Enforced())
	}
	for _, record := range a.rerunEnforced {
		session.AddEnforced(combined, record())
	}
	return combined
}
