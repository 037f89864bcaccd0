// Package attempt makes one attempt at one case: it starts a session, sends the agent its task,
// decides when and how the agent's work has ended, collects the state of the notebook, grades it
// and writes the attempt's files. It always returns a result; what goes wrong is the outcome of the
// result.
//
// # Phases
//
//	start    working folder with the case's files, kernel and agent, the case's setup
//	work     the task is sent; the watcher reads the trace until it comes to a verdict
//	collect  the session collects the notebook's state; the agent is stopped
//	grade    the graders run while the kernel still lives
//	end      the session ends; the trace is closed; conversation and notebook are written from it
//
// The router and the session know nothing of evaluations. All decisions are made by the
// [completionWatcher] from the trace alone, which has every frame of the session in one order.
//
// # When the agent is done
//
// An agent submits by the tool submit_response, with [CompletionMarker] in the summary. The first
// such submission is the answer. The other tools of its message are carried out; then the attempt is
// frozen: every further action is refused. It is completed as soon as it is idle: no cell has an
// open run and no action of the agent waits for its answer. A run of a cell opens when run_cell is
// sent to the kernel, when the kernel names the cell in run_queue or start_cell, and, for 1 s, when
// an answer to the agent says that a run will follow. It closes with cell_result, dispose_cell or
// the end of the kernel, and, if it had started, with a start_cell without a cell. Without a marked submission the attempt
// ends by a limit, by the end of a child, by a fatal error of the agent, or when the agent's turn
// ends. See completionWatcher for the state machine.
//
// # Goroutines
//
// [Run] waits for all of them: one that logs the traffic of the session, until the trace is closed;
// one that drains the trace for the watcher while the session starts, waits for a console or
// collects its state; and, while a notebook runs again for a grader, one that measures its working
// folder.
//
// # Guarantees
//
// Run returns exactly one result with exactly one outcome, also if code of this package panics. The
// trace has every frame once per hop, in the order in which the session saw them. Afterwards
// nothing of the attempt is left but its folder: no process, no open file, no socket, no temporary
// file. Processes that leave their process group are killed as well if cgroup v2 is writable;
// Enforced in the result says whether it was.
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
	"time"

	"assay/agent"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/model"
	"assay/internal/model/gateway"
	"assay/internal/redact"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/kernel"
	"assay/testcases"
)

// Config has the settings that all attempts of a run share. Supervisor, Kernel and AgentConfig
// are required.
type Config struct {
	Supervisor *subprocess.Supervisor
	Kernel     kernel.Config
	Environ    []string // the server's environment, as "NAME=value"

	// IgnoreCaseNetwork makes the network of Kernel.Sandbox hold for all cases, whatever network
	// they name.
	IgnoreCaseNetwork bool

	// AgentConfig returns how to start the agent. solution is the path of a file with the case's
	// oracle, or empty if SolutionsDir is empty or the case has no oracle.
	AgentConfig func(solution string) (agent.Config, error)

	// SolutionsDir is the folder for files with the oracles of cases, for agents that replay them.
	// If it is empty, no such file is written.
	SolutionsDir string

	// WorkdirRoot is the folder in which working folders are made; empty is the default folder for
	// temporary files.
	WorkdirRoot string

	// LimitOverrides replace the limits of the case and the defaults. In it 0 means not set, and a
	// negative value means no limit.
	LimitOverrides runs.Limits

	// AwaitConsole waits for the first console, which decides whether it or the server holds the
	// notebook; without it the server does. HolderGrace is how long a console that holds the
	// notebook may be away; 0 is DefaultHolderGrace. SharedConsoles and ReadOnlyConsoles are Shared
	// and ReadOnly of router.Config.
	AwaitConsole                     bool
	HolderGrace                      time.Duration
	SharedConsoles, ReadOnlyConsoles bool

	// Person is the name of the person who does the agent's work, in a notebook that the server holds. The
	// agent gets its task when a console has sent attempt_start; until then nothing can be done. What
	// consoles do then counts as the agent's actions and not as interventions, and the attempt's duration
	// counts from there. Empty: an agent works.
	Person string

	// OnSession, if set, is called with the session when it has started, before the case's setup.
	OnSession func(*session.Session)

	// OpenModels, if set, makes the endpoint for the calls of models of an agent; see session.Config.
	OpenModels func(gateway.Agent) *gateway.Endpoint

	// OpenJudge opens the model of this name for graders; nil: there is none. Its calls are recorded as
	// judge.jsonl in the attempt's folder.
	OpenJudge func(name string) (model.Client, error)

	// OnTrace, if set, is called with the recording before it has an entry. OnTaskSent, if set, is
	// called when the agent gets its task, which is when its time begins to count.
	OnTrace    func(*trace.Recording)
	OnTaskSent func(at time.Time)

	// ChildLineSink, if set, gets every line that kernel and agent print; see session.Config.
	ChildLineSink func(child string) func(line []byte)

	// SessionID is the id of the session; empty means the name of the attempt's folder.
	SessionID string

	// Redactor finds the secrets that are replaced in the attempt's files; nil: none are.
	Redactor *redact.Redactor

	Log *slog.Logger // nil discards
}

// Job says which attempt to make: the case, the epoch and try, and the folder to write
// to.
type Job struct {
	Case   testcases.Case
	Epoch  int    // from 1
	Try    int    // from 1
	Dir    string // path of the attempt's folder, which must exist
	RelDir string // path of the same folder relative to the run's folder

	// Progress, if set, is updated while the attempt runs.
	Progress *Progress
}

// attempt is the state of one attempt from its start to its result.
type attempt struct {
	cfg       Config
	job       Job
	log       *slog.Logger
	startedAt time.Time
	limits    runs.Limits
	result    runs.Attempt

	redactor    *redact.Redactor // counts for this attempt
	journal     *trace.Journal
	recording   *trace.Recording
	flowLog     sync.WaitGroup // the goroutine that logs the traffic
	childOutput *os.File       // stderr.txt; nil until it is opened
	judgeCalls  *os.File       // judge.jsonl; nil if no judge has been opened
	session     *session.Session
	watcher     *completionWatcher
	collected   session.CollectedState

	solutionPath      string                   // file with the case's oracle; empty: none
	markedFiles       int                      // files of the case that have the completion marker
	markedNotebook    int                      // 1 if the notebook has the marker, and nothing that was counted before
	forbiddenLinks    int                      // links in the working folder to what code in the kernel may not read
	rerunEnforced     []func() map[string]bool // Enforced of each kernel that ran the notebook again
	agentHasNoNetwork bool                     // it can reach nothing but the models that the server serves
	agentKilledKernel bool                     // the kernel died, and the agent's code is the cause
	thawKernel        func()                   // while the attempt is graded: ends the standstill of the kernel
}

// Run makes one attempt and returns its result, in which only the name of the run is missing.
// It never fails: what goes wrong is the outcome of the result. When ctx ends the attempt is
// cancelled and the cause of ctx is the detail of the outcome.
func Run(ctx context.Context, cfg Config, job Job) (result runs.Attempt) {
	a := newAttempt(cfg, job)
	defer func() {
		if fault := recover(); fault != nil {
			a.log.Error("an attempt panicked", "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			a.setHarnessError(fmt.Sprintf("a fault of the harness: %v", fault))
		}
		result = a.completeResult()
	}()
	a.runPhases(ctx)
	return a.result
}

// newAttempt returns an attempt that has not begun, with its journal and its watcher. runPhases
// closes both.
func newAttempt(cfg Config, job Job) *attempt {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if job.Progress == nil {
		job.Progress = &Progress{}
	}
	a := &attempt{cfg: cfg, job: job, startedAt: time.Now(), limits: EffectiveLimits(cfg.LimitOverrides, job.Case), redactor: cfg.Redactor.NewCounter()}
	a.log = cfg.Log.With("case", job.Case.ID)
	a.result = runs.Attempt{
		Type: runs.TypeAttempt, CaseID: job.Case.ID, Tags: job.Case.Tags, Epoch: job.Epoch, Try: job.Try, Person: cfg.Person, Limits: a.limits,
		Graders: nil,
	}
	id := cfg.SessionID
	if id == "" {
		id = filepath.Base(job.Dir)
	}
	a.journal = trace.NewJournal(id)
	a.watcher = newCompletionWatcher(a.journal, a.limits, cmp.Or(cfg.HolderGrace, DefaultHolderGrace), job.Progress, a.refuseActions)
	if cfg.Person != "" {
		a.watcher.person = newPersonState()
	}
	return a
}

// refuseActions makes the session refuse all further actions, because the answer was
// submitted. It is called by the watcher, after the task was sent.
func (a *attempt) refuseActions() {
	a.session.RefuseActions("the answer was submitted: no further action is carried out")
	a.session.RefuseModelCalls("the answer was submitted: no further call of a model is made")
}

// runPhases goes through the phases start, work, collect and grade, and measures how long each
// takes. If the trace cannot be created or the session cannot be started, it sets the outcome
// and returns.
func (a *attempt) runPhases(ctx context.Context) {
	if err := a.openTrace(); err != nil {
		a.setOutcome(runs.OutcomeHarnessError, err.Error())
		return
	}
	defer a.closeTrace()
	defer a.removeSolution()
	defer a.watcher.close()
	phaseStart := time.Now()
	endPhase := func(durationMS *int64) {
		*durationMS = time.Since(phaseStart).Milliseconds()
		phaseStart = time.Now()
	}
	phases := &a.result.Phases
	a.job.Progress.setActivity("starting kernel and agent")
	var err error
	a.watcher.readEntriesDuring(func() { err = a.startSession(ctx) }, a.watcher.readBeforeTask)
	endPhase(&phases.StartMS)
	if err != nil {
		a.setStartFailure(ctx, err)
		return
	}
	defer a.endSession(ctx)
	a.awaitHolder(ctx)
	phaseStart = time.Now()
	a.runAgent(ctx)
	phases.WaitMS = a.watcher.waitedUntil(time.Now()).Milliseconds()
	endPhase(&phases.WorkMS)
	a.collectState(ctx)
	endPhase(&phases.CollectMS)
	a.grade(ctx)
	endPhase(&phases.GradeMS)
}

// setOutcome sets the outcome of the attempt and its detail text. It does nothing if there is
// an outcome already.
func (a *attempt) setOutcome(outcome runs.Outcome, detail string) {
	if a.result.Outcome == "" {
		a.result.Outcome, a.result.Detail = outcome, strings.TrimSpace(detail)
	}
}

// openTrace starts to record the trace in trace.jsonl and to log the traffic. It fails if
// trace.jsonl cannot be created.
func (a *attempt) openTrace() error {
	recording, err := trace.NewRecording(a.journal, a.filePath("trace.jsonl"), a.redactor)
	if err != nil {
		return err
	}
	a.recording = recording
	follower := a.journal.Follow()
	a.flowLog.Go(func() { _ = flow.LogSessionMessages(context.Background(), follower, a.log) }) // until the journal is closed
	if a.cfg.OnTrace != nil {
		a.cfg.OnTrace(recording)
	}
	return nil
}

// closeTrace closes the journal, waits until the trace file is complete, and writes the files
// that are made from it. If anything fails, the outcome becomes harness_error.
func (a *attempt) closeTrace() {
	a.job.Progress.setActivity("writing the attempt's files")
	err := a.recording.Close()
	a.flowLog.Wait()
	for _, file := range []*os.File{a.childOutput, a.judgeCalls} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	if err == nil && a.session != nil {
		err = a.writeFinalFiles()
	}
	if err != nil {
		// With an incomplete recording nobody could check the verdict.
		a.setHarnessError(fmt.Sprintf("the attempt could not be recorded: %v", err))
	}
}

// setHarnessError replaces the outcome of the attempt by harness_error with this detail and
// removes the graders' verdict.
func (a *attempt) setHarnessError(detail string) {
	a.result.Outcome, a.result.Detail = runs.OutcomeHarnessError, detail
	a.clearVerdict()
}

// filePath returns the path of the file with this name in the attempt's folder.
func (a *attempt) filePath(name string) string { return filepath.Join(a.job.Dir, name) }

// tamperSignals returns how many signs of tampering there are so far.
func (a *attempt) tamperSignals() int {
	return a.markedFiles + a.markedNotebook + a.forbiddenLinks + a.watcher.counts.tamperSignals
}

// completeResult fills in the fields of the result that every attempt has (times, usage,
// counts, files) and returns the result.
func (a *attempt) completeResult() runs.Attempt {
	r := &a.result
	// Before they are shortened to be shown: half a secret would not be found.
	r.Detail = a.redactor.String(r.Detail)
	for i, text := range r.Graders {
		r.Graders[i] = a.redactor.JSON(text)
	}
	if r.Grading != nil {
		r.Grading.Text = a.redactor.String(r.Grading.Text)
	}
	r.Started, r.Ended = a.startedAt.UTC(), time.Now().UTC()
	r.DurationMS = r.Ended.Sub(r.Started).Milliseconds()
	r.Usage = a.usage()
	r.TamperSignals = a.tamperSignals()
	r.Interventions = a.watcher.counts.interventions
	r.Redacted = a.redactor.Count()
	r.Enforced = a.enforcedRules()
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

// enforcedRules returns, by name of a sandbox rule or limit, whether it was enforced for every
// child process of the attempt that has it: the session's kernels and agents, and the kernels
// that ran the notebook again. Commands of graders do not count, because they run without a
// sandbox.
func (a *attempt) enforcedRules() map[string]bool {
	combined := map[string]bool{}
	if a.session != nil {
		session.CombineEnforcedRules(combined, a.session.EnforcedRules())
	}
	for _, record := range a.rerunEnforced {
		session.CombineEnforcedRules(combined, record())
	}
	return combined
}
