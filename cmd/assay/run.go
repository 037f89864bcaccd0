package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/kernel"
	"assay/testcases"
)

// runFlags are those of assay run beside the host's.
type runFlags struct {
	host      hostFlags
	jobs      int
	epochs    int
	out       string
	json      bool
	quiet     bool
	progress  string // auto, plain or none
	ui        uiFlags
	selection testcases.Selection
}

func (p *process) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run PATH…",
		Short: "Run cases and report",
		Long: `Runs the cases of files, folders and globs: each with a kernel, an agent and a
sandbox of its own. The last line on stdout is

  PASS p/n  (failed f, ungraded u, infrastructure i)  RUN_FOLDER

or FAIL when p is less than n; n counts graded attempts and those that
infrastructure broke. With --json stdout has one object per attempt as it ends,
and last the summary.

Exit status: 0 all passed, 1 some did not, 2 bad usage or input, 3 nothing could
be graded or the run broke off, 130 or 143 interrupted (a second signal ends it
at once).`,
		Example: "  assay run testcases/examples --agent oracle -j 4",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			return p.runCases(cmd.Context(), f, paths)
		},
	}
	flags := cmd.Flags()
	f.host.add(cmd)
	flags.IntVarP(&f.jobs, "jobs", "j", runtime.NumCPU(), "`number` of attempts at once")
	flags.IntVar(&f.epochs, "epochs", 1, "`number` of attempts per case")
	flags.StringVar(&f.out, "out", "", "run `folder` to create; it must not exist (default runs/<time>-<name>)")
	flags.BoolVar(&f.json, "json", false, "print JSON on stdout: one object per attempt, then the summary")
	f.progress = "auto"
	flags.Var(choice{&f.progress, []string{"auto", "plain", "none"}}, "progress", "progress on stderr: `auto|plain|none`; auto is a live display on a terminal, else lines")
	flags.BoolVar(&f.quiet, "quiet", false, "same as --progress none")
	f.ui.add(flags)
	s := &f.selection
	flags.StringVar(&s.ID, "id", "", "only cases whose id matches the `glob`")
	flags.StringArrayVar(&s.Tags, "tag", nil, "only cases with this `tag` (repeatable: any of them)")
	flags.StringToStringVar(&s.Meta, "meta", nil, "only cases with this metadata, as `KEY=VALUE`")
	flags.IntVar(&s.MaxCases, "first", 0, "only the first `N` of the selected cases")
	return cmd
}

func (p *process) runCases(ctx context.Context, f *runFlags, paths []string) error {
	cases, err := f.load(p, paths)
	if err != nil {
		return usage(err)
	}
	ctx, interrupted := p.untilSignal(ctx)
	defer interrupted.stop()
	h, err := p.newHost(ctx, &f.host)
	if err != nil {
		if status := interrupted.status(); status != 0 {
			return &statusError{status: status}
		}
		return err
	}
	summary, err := p.runOn(ctx, h, f, cases, paths)
	err = errors.Join(err, h.close())
	if status := interrupted.status(); status != 0 {
		return &statusError{status: status}
	}
	if err != nil {
		if status, ok := errors.AsType[*statusError](err); ok {
			return status
		}
		return broken(err)
	}
	return verdict(summary)
}

// load reads and selects the cases, and refuses a run that could not be graded.
func (f *runFlags) load(p *process, paths []string) ([]testcases.Case, error) {
	switch {
	case f.jobs < 1 || f.epochs < 1 || f.selection.MaxCases < 0:
		return nil, errors.New("-j and --epochs are at least 1, --first at least 0")
	case f.host.agent == agentMCP:
		return nil, errors.New("--agent mcp waits for a client that comes by itself, and none comes to a run: want --agent 'mcp: COMMAND', or assay serve --agent mcp")
	}
	prefixes, err := f.host.prefixes()
	if err != nil {
		return nil, err
	}
	if err := f.ui.check(p); err != nil {
		return nil, err
	}
	cases, err := testcases.Load(paths, testcases.Options{Data: prefixes})
	if err != nil {
		return nil, err
	}
	cases, err = testcases.Select(cases, f.selection)
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, errors.New("no case is left by the selection: see --id, --tag, --meta and --first")
	}
	return cases, testcases.CheckRunnable(cases)
}

func (p *process) runOn(ctx context.Context, h *host, f *runFlags, cases []testcases.Case, paths []string) (batch.Summary, error) {
	var none batch.Summary
	missing, err := h.requirements(ctx, cases)
	if err != nil {
		return none, broken(err)
	}
	attempts, err := h.attempts()
	if err != nil {
		return none, err
	}
	folder, err := runs.Create(f.folder(paths), runs.Info{Started: time.Now().UTC(), Config: f.record(paths), Host: h.info()})
	if errors.Is(err, runs.ErrExists) {
		return none, usage(err)
	} else if err != nil {
		return none, broken(err)
	}
	ui, err := p.startUI(ctx, &f.ui, folder.Dir)
	if err != nil {
		return none, errors.Join(err, folder.Close())
	}
	report := p.newReport(f, len(cases)*max(f.epochs, 1), folder.Dir, h)
	if name := f.host.unpriced(p, cases); name != "" {
		report.say("not enforced: the limit on cost, as the price of %s is not known", name)
	}
	ui.Observer = report
	summary, err := batch.Run(ctx, batch.Config{
		RunWriter: folder, Cases: cases, Epochs: f.epochs, Jobs: f.jobs, SkipReason: missing, Observer: ui,
		RunAttempt: func(ctx context.Context, work attempt.Job) runs.Attempt { return ui.try(ctx, attempts, work) },
	})
	if err = errors.Join(err, report.end(summary), ui.stop(), folder.Close()); err != nil {
		return summary, broken(err)
	}
	return summary, nil
}

// requirements finds out which cases cannot be tried here.
func (h *host) requirements(ctx context.Context, cases []testcases.Case) (func(testcases.Case) string, error) {
	machine := testcases.Machine{Kernels: []string{h.flags.kernel}}
	if python := h.kernels.python; python != nil {
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
		return known.Missing(c)
	}, nil
}

// folder is that of the run: the one asked for, or a new one below runs.
func (f *runFlags) folder(paths []string) string {
	if f.out != "" {
		return f.out
	}
	name := strings.TrimSuffix(filepath.Base(filepath.Clean(paths[0])), filepath.Ext(paths[0]))
	base := filepath.Join("runs", time.Now().Format("20060102-150405")+"-"+name)
	folder := base
	for n := 2; ; n++ { // several may begin in one second
		if _, err := os.Stat(folder); err != nil {
			return folder
		}
		folder = fmt.Sprintf("%s-%d", base, n)
	}
}

// record is what run.json has of the command.
func (f *runFlags) record(paths []string) map[string]any {
	b := f.host.builtin
	return map[string]any{
		"paths": absolute(paths), "agent": f.host.agent, "model": b.model, "strategy": b.strategy, "name": b.name,
		"model_args": withoutLogin(b.modelArgs), "max_eval_iters": b.maxEvalIters, "memory_dir": b.memoryDir,
		"skills_dir": b.skillsDir, "state_dir": b.stateDir, "record": b.record, "max_model_calls": f.host.modelCalls,
		"kernel": f.host.kernel, "jobs": f.jobs, "epochs": f.epochs,
		"limits": f.host.limits.asked(), "selection": f.selection,
	}
}

// withoutLogin leaves out of settings the user and the password that a base_url
// may have.
func withoutLogin(args []string) []string {
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

// absolute makes paths good for every folder, so that a stored run can be graded
// again from anywhere.
func absolute(paths []string) []string {
	out := slices.Clone(paths)
	for i, path := range out {
		if full, err := filepath.Abs(path); err == nil {
			out[i] = full
		}
	}
	return out
}

func hostInfo(python *kernel.Python) runs.Host {
	info := runs.Host{AssayVersion: version, GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	if python != nil {
		info.PythonVersion = python.Version
	}
	info.HostName, _ = os.Hostname() // empty where there is none
	return info
}

// verdict is the exit status that a run's summary calls for.
func verdict(s batch.Summary) error {
	switch {
	case s.Attempts == 0 && s.Skipped > 0:
		return broken(errors.New("every case was skipped: what they require is missing"))
	case s.GradedCount() > 0 && s.Infrastructure == s.GradedCount():
		return &statusError{status: exitBroken, err: errors.New("nothing could be graded: see the outcomes above")}
	case !s.AllPassed():
		return &statusError{status: exitFailed}
	default:
		return nil
	}
}
