package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/progress"
	"assay/cmd/assay/internal/terminal"
	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/internal/sandbox"
	"assay/testcases"
	"assay/testcases/grading"
)

// runFlags are the flags of assay run.
type runFlags struct {
	host      kernelAndAgentFlags
	jobs      int
	epochs    int
	out       string
	json      bool
	quiet     bool
	progress  string // auto, plain or none
	ui        uiFlags
	selection testcases.Selection
}

func (p *cli) newRunCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run PATH…",
		Short: "Run cases and report",
		Long: `Run the cases in files, folders and globs. Each gets a separate kernel, agent and
sandbox. The last line on stdout is

  PASS p/n  (failed f, ungraded u, infrastructure i)  RUN_FOLDER

or FAIL if p is less than n; n counts graded attempts and those that failed
because of the infrastructure. With --json stdout has one object per attempt as
it ends, then the summary.

Exit status: 0 all passed, 1 some did not, 2 bad usage or input, 3 nothing could
be graded or the run was aborted, 130 or 143 interrupted (a second signal ends it
at once).`,
		Example: "  assay run testcases/examples --agent oracle -j 4",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := f.checkHuman(cmd); err != nil {
				return exit.UsageError(err)
			}
			return p.runCases(cmd.Context(), f, paths)
		},
	}
	flags := cmd.Flags()
	f.host.add(cmd)
	f.host.sandbox.setDefaultNetwork(flags, sandbox.NetworkLoopback)
	f.host.agentSandbox.confineByDefault(flags)
	flags.IntVarP(&f.jobs, "jobs", "j", runtime.NumCPU(), "`number` of attempts at once")
	flags.IntVar(&f.epochs, "epochs", 1, "`number` of attempts per case")
	flags.StringVar(&f.out, "out", "", "run `folder` to create; it must not exist (default runs/<time>-<name>)")
	flags.BoolVar(&f.json, "json", false, "print JSON on stdout: one object per attempt, then the summary")
	f.progress = "auto"
	flags.Var(choiceFlag{&f.progress, []string{"auto", "plain", "none"}}, "progress", "progress on stderr: `auto|plain|none`; auto is a live display on a terminal, else lines")
	flags.BoolVar(&f.quiet, "quiet", false, "same as --progress none")
	f.ui.add(flags)
	s := &f.selection
	flags.StringVar(&s.ID, "id", "", "only cases whose id matches the `glob`")
	flags.StringArrayVar(&s.Tags, "tag", nil, "only cases with this `tag` (repeatable: any of them)")
	flags.StringToStringVar(&s.Meta, "meta", nil, "only cases with this metadata, as `KEY=VALUE`")
	flags.IntVar(&s.MaxCases, "first", 0, "only the first `N` of the selected cases")
	return cmd
}

// runCases runs the cases in paths and returns an error with the exit status.
func (p *cli) runCases(ctx context.Context, f *runFlags, paths []string) error {
	cases, err := f.loadCases(p, paths)
	if err != nil {
		return exit.UsageError(err)
	}
	if f.out == "" {
		f.out = newRunFolder(defaultRunsDir, runName(paths))
	}
	f.host.sandbox.attemptsAtOnce = min(f.jobs, len(cases)*f.epochs)
	f.host.sandbox.withholdFolders(append(runFoldersBeside(f.out), f.out, defaultRunsDir)...)
	ctx, interrupt := p.cancelOnSignal(ctx)
	defer interrupt.stop()
	h, err := p.newHost(ctx, &f.host)
	if err != nil {
		return interrupt.exitErrorOr(err)
	}
	summary, err := p.runOnHost(ctx, h, f, cases, paths)
	if err = errors.Join(err, h.close()); err == nil {
		err = runExitError(summary)
	}
	return interrupt.exitErrorOr(exit.FirstErrorOrBroken(err))
}

// runOnHost creates the run folder, runs the cases with kernels and agents that h starts, and
// reports the results. Attempts that fail are counted in the summary and are no error. It fails
// if the run folder exists, if the requirements of the cases cannot be checked, or if a result
// cannot be written.
func (p *cli) runOnHost(ctx context.Context, h *kernelAndAgentHost, f *runFlags, cases []testcases.Case, paths []string) (batch.Summary, error) {
	var none batch.Summary
	if err := batch.CheckOpenFiles(min(f.jobs, len(cases)*max(f.epochs, 1))); err != nil {
		return none, exit.BrokenError(err)
	}
	skipReason, err := h.checkRequirements(ctx, cases)
	if err != nil {
		return none, exit.BrokenError(err)
	}
	if err := p.checkGraders(cases, skipReason); err != nil {
		return none, exit.UsageError(err)
	}
	attempts, err := h.attemptConfig()
	if err != nil {
		return none, err
	}
	folder, err := runs.Create(f.out, runs.Info{Started: time.Now().UTC(), Config: f.recordedFlags(paths, h), Host: h.machineInfo()}, p.redactor)
	if errors.Is(err, runs.ErrExists) {
		return none, exit.UsageError(err)
	} else if err != nil {
		return none, exit.BrokenError(err)
	}
	ui, err := h.startUI(ctx, &f.ui, folder.Dir)
	if err != nil {
		return none, errors.Join(err, folder.Close(), os.RemoveAll(folder.Dir)) // nothing has been run
	}
	skipped := len(slices.DeleteFunc(slices.Clone(cases), func(c testcases.Case) bool { return skipReason(c) == "" }))
	reporter := p.startReporter(f, (len(cases)-skipped)*f.epochs, skipped, folder.Dir, h)
	if name := f.host.modelWithUnknownPrice(p, cases); name != "" {
		reporter.Printf("not enforced: the limit on cost, because the price of %s is not known", name)
	}
	ui.Observer = reporter
	summary, err := batch.Run(ctx, batch.Config{
		RunWriter: folder, Cases: cases, Epochs: f.epochs, Jobs: f.jobs, SkipReason: skipReason, Observer: ui,
		RunAttempt: func(ctx context.Context, job attempt.Job) runs.Attempt { return ui.runAttempt(ctx, attempts, job) },
	})
	if err = errors.Join(err, reporter.Finish(summary), ui.stop(), folder.Close()); err != nil {
		return summary, exit.BrokenError(err)
	}
	return summary, nil
}

// checkGraders returns an error with everything that the graders of the cases need and that is
// missing here: programs, scripts, models and their keys. Cases that will be skipped are not checked.
func (p *cli) checkGraders(cases []testcases.Case, skipReason func(testcases.Case) string) error {
	var errs []error
	in := grading.Input{Environ: attempt.EnvWithoutSecrets(p.environ), Judge: p.openJudge}
	for _, c := range cases {
		if skipReason(c) != "" {
			continue
		}
		in.Dir = c.Source.Dir()
		for _, spec := range c.Graders {
			if err := grading.CheckAvailable(spec, in); err != nil {
				errs = append(errs, fmt.Errorf("%s: case %q: %w", c.Source, c.ID, err))
			}
		}
	}
	return errors.Join(errs...)
}

// startReporter prints what will be run, and starts to show progress.
func (p *cli) startReporter(f *runFlags, attempts, skipped int, runDir string, h *kernelAndAgentHost) *progress.Reporter {
	cfg := progress.Config{Out: p.resultsWriter(f.json), JSON: f.json, Err: p.stderr, LineCount: attempts + skipped, RunDir: runDir, Pool: h.pool}
	switch p.progressKind(f) {
	case "none":
		cfg.Err = io.Discard
	case "live":
		cfg.Screen, cfg.Color = p.screen, p.wantsColor()
	}
	agent := f.host.agent
	if f.host.builtin.model != "" {
		agent += " with " + f.host.builtin.model
	}
	if h.person != "" {
		agent += " (" + h.person + ")"
	}
	reporter := progress.New(cfg)
	for _, missing := range describeUnenforcedRules(h.enforcedRules()) {
		reporter.Printf("not enforced on this machine: %s", missing)
	}
	if f.host.sandbox.isOn && f.host.sandbox.network == "" {
		reporter.Printf(`kernels have no network, except in cases with "network": "on"; --network on opens it for all`)
	}
	if f.host.hasForeignAgent() && !f.host.confinesAgent() {
		reporter.Printf("the agent is not confined (--sandbox-agent): it can read the cases and change the results, so the score is on trust")
	}
	h.withheldBeside.report(reporter.Printf)
	planned := formatCount(attempts, "attempt")
	if skipped > 0 {
		planned += ", " + formatCount(skipped, "case") + " skipped"
	}
	reporter.Printf("%s, %d at once, agent %s, into %s", planned, f.jobs, agent, runDir)
	reporter.Start()
	return reporter
}

// progressKind returns how a run shows its progress on stderr: live, plain or none.
func (p *cli) progressKind(f *runFlags) string {
	terminalType, _ := p.getenv("TERM")
	switch {
	case f.quiet:
		return "none"
	case f.progress != "auto":
		return f.progress
	case !p.screen.IsTerminal(), terminalType == "", terminalType == "dumb":
		return "plain"
	case f.json && terminal.IsTerminal(p.stdout): // the objects would get between the lines of the display
		return "plain"
	default:
		return "live"
	}
}

// checkRequirements returns a function that says why a case cannot be tried on this
// machine, or "" if it can.
func (h *kernelAndAgentHost) checkRequirements(ctx context.Context, cases []testcases.Case) (skipReason func(testcases.Case) string, err error) {
	machine := testcases.Machine{Kernels: []string{h.flags.kernel}}
	if python := h.kernel.python; python != nil {
		machine.Python = python.Executable
	}
	known, err := testcases.CheckRequirements(ctx, cases, machine)
	if err != nil {
		return nil, err
	}
	return func(c testcases.Case) string {
		if c.Kernel != "" && c.Kernel != h.flags.kernel {
			return fmt.Sprintf("needs the kernel %s", c.Kernel)
		}
		if c.Kernel == "" && h.flags.kernel == "elisp" && hasKernelCheck(c) {
			return `its kernel_check is in Python; a case for Emacs Lisp has "kernel": "elisp"`
		}
		return known.OfCase(c)
	}, nil
}

// hasKernelCheck reports whether a grader of the case has code that runs in the kernel.
func hasKernelCheck(c testcases.Case) bool {
	return slices.ContainsFunc(c.Graders, func(spec grading.Spec) bool { return spec.Type == "kernel_check" })
}

// defaultRunsDir is the folder in which run folders are made without --out.
const defaultRunsDir = "runs"

// runName returns a name for a run of the cases in paths.
func runName(paths []string) string {
	return strings.TrimSuffix(filepath.Base(filepath.Clean(paths[0])), filepath.Ext(paths[0]))
}

// runFoldersBeside returns the run folders that are in the same folder as dir.
func runFoldersBeside(dir string) (folders []string) {
	parent := filepath.Dir(filepath.Clean(dir))
	entries, _ := os.ReadDir(parent) // without the folder there is none beside dir
	for _, entry := range entries {
		if _, err := os.Stat(filepath.Join(parent, entry.Name(), "attempts.jsonl")); err == nil {
			folders = append(folders, filepath.Join(parent, entry.Name()))
		}
	}
	return folders
}

// newRunFolder returns the path of a folder in dir that does not exist. Its name has the
// current time and name, and a number if several runs start in one second.
func newRunFolder(dir, name string) string {
	base := filepath.Join(dir, time.Now().Format("20060102-150405")+"-"+name)
	folder := base
	for n := 2; ; n++ {
		if _, err := os.Stat(folder); err != nil {
			return folder
		}
		folder = fmt.Sprintf("%s-%d", base, n)
	}
}

// recordedFlags returns what run.json records of the command line: the flags that matter for the
// results, by name, and the paths, made absolute. URLs in the model's arguments lose their user
// and password.
func (f *runFlags) recordedFlags(paths []string, h *kernelAndAgentHost) map[string]any {
	b := f.host.builtin
	systemHash := ""
	if b.systemText != "" {
		systemHash = fmt.Sprintf("%x", sha256.Sum256([]byte(b.systemText)))
	}
	return map[string]any{
		"paths": absolutePaths(paths), "agent": f.host.agent, "person": h.person, "model": b.model, "strategy": b.strategy, "name": b.name,
		"model_args": withoutCredentials(b.modelArgs), "max_eval_iters": b.maxEvalIters, "memory_dir": b.memoryDir,
		"system": b.systemFile, "system_sha256": systemHash,
		"skills_dir": b.skillsDir, "state_dir": b.stateDir, "record": b.record, "cache": f.host.gateway.cacheDir, "gateway": f.host.gateway.mode, "max_model_calls": f.host.gateway.maxCalls,
		"kernel": f.host.kernel, "network": f.host.sandbox.network, "agent_confined": !f.host.hasForeignAgent() || f.host.confinesAgent(), "agent_network": h.recordedAgentNetwork(),
		"jobs": f.jobs, "epochs": f.epochs,
		"limits": f.host.limits.overrides(), "selection": f.selection,
	}
}

// withoutCredentials removes user and password from the URLs in KEY=VALUE arguments.
func withoutCredentials(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		key, value, _ := strings.Cut(arg, "=")
		if address, err := url.Parse(value); err == nil && address.User != nil {
			address.User = nil
			out[i] = key + "=" + address.String()
		}
	}
	return out
}

// absolutePaths makes paths absolute, so that a stored run can be graded again from any
// folder.
func absolutePaths(paths []string) []string {
	out := slices.Clone(paths)
	for i, path := range out {
		if absolute, err := filepath.Abs(path); err == nil {
			out[i] = absolute
		}
	}
	return out
}

// machineInfo returns what run.json records about this machine.
func (h *kernelAndAgentHost) machineInfo() runs.Host {
	info := runs.Host{AssayVersion: version, GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	if python := h.kernel.python; python != nil {
		info.PythonVersion = python.Version
	}
	info.HostName, _ = os.Hostname() // "" if the machine has no name
	return info
}

// runExitError returns an error with the exit status for a run's summary, or nil if all
// attempts have passed.
func runExitError(s batch.Summary) error {
	switch {
	case s.Attempts == 0 && s.Skipped > 0:
		return exit.BrokenError(errors.New("every case was skipped: what they require is missing"))
	case s.GradedCount() > 0 && s.Infrastructure == s.GradedCount():
		return exit.BrokenError(errors.New("nothing could be graded: see the outcomes above"))
	case !s.AllPassed():
		return exit.FailedError()
	default:
		return nil
	}
}
