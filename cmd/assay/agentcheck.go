package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"assay/agent"
	"assay/agent/check"
	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/terminal"
	"assay/eval/runs"
	"assay/internal/model/gateway"
	"assay/testcases/lint"
)

// agentCheckFlags are the flags of assay agent check.
type agentCheckFlags struct {
	host   kernelAndAgentFlags
	check  check.Config
	asJSON bool
}

func (p *cli) newAgentCheckCommand() *cobra.Command {
	f := &agentCheckFlags{}
	cmd := &cobra.Command{
		Use:   "check AGENT",
		Short: "Check whether an agent speaks the wire protocol",
		Long: fmt.Sprintf(`Start an agent in scripted situations, each as a new process, and report how it did:
pass, warn, fail or skip (the situation did not arise), what happened, and the
section of docs/protocol.md with the rule. AGENT is what --agent of assay run takes:
a command in quotes, 'mcp: COMMAND', 'acp: COMMAND', oracle, noop, or
builtin with --model.

The agent gets a small notebook, in which every run of a cell prints 42, and the
task to compute 6 times 7. A check takes some 15 s, more if the agent is slow: one
answer is withheld for %v, longer than an agent should wait for it.

Exit status: 0 nothing failed, 1 something did, 2 bad usage, 3 the check could not
be made, 130 or 143 interrupted.`, check.DefaultAnswerTimeout),
		Example: "  assay agent check 'python3 my_agent.py'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.host.agent = args[0]
			return p.checkAgent(cmd.Context(), f)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *agentCheckFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.host.addSome(cmd, "model", "model-arg", "strategy", "name", "system", "memory-dir", "skills-dir", "state-dir", "max-eval-iters",
		"gateway", "agent-env", "ready", "frame-limit", "sandbox-agent", "agent-network", "agent-read", "agent-write", "agent-home")
	f.host.agentSandbox.confineByDefault(flags)
	f.host.isKernelPlayed = true
	flags.StringArrayVar(&f.check.Only, "only", nil, "`name` of a situation to try (repeatable; default: all)")
	flags.DurationVar(&f.check.QueryTimeout, "wall", check.DefaultQueryTimeout, "`duration` that the agent may take for a query")
	flags.IntVarP(&f.check.Jobs, "jobs", "j", check.DefaultJobs, "`number` of situations at once")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object for each situation, and one with the summary")
}

// checkAgent checks the agent of the flags and prints the findings. It fails if one of them is a failure.
func (p *cli) checkAgent(ctx context.Context, f *agentCheckFlags) error {
	if err := f.validate(); err != nil {
		return exit.UsageError(err)
	}
	ctx, interrupt := p.cancelOnSignal(ctx)
	defer interrupt.stop()
	host, err := p.newHost(ctx, &f.host)
	if err != nil {
		return interrupt.exitErrorOr(err)
	}
	summary, err := f.run(ctx, host)
	err = errors.Join(err, host.close())
	switch {
	case err != nil:
		return interrupt.exitErrorOr(exit.FirstErrorOrBroken(err))
	case summary.Failed > 0:
		return exit.FailedError()
	default:
		return nil
	}
}

// validate rejects invalid flags.
func (f *agentCheckFlags) validate() error {
	for _, name := range f.check.Only {
		if names := check.Names(); !slices.Contains(names, name) {
			hint := "known are " + strings.Join(names, ", ")
			if near := lint.NearestWord(name, names); near != "" {
				hint = "did you mean " + near + "?"
			}
			return fmt.Errorf("--only %s: there is no such situation: %s", name, hint)
		}
	}
	switch {
	case f.host.agent == agentFlagHuman:
		return errors.New("a person speaks no protocol: want the command of an agent")
	case f.host.agent == agentFlagMCP:
		return errors.New("mcp waits for clients that connect by themselves, and none connects to a check: want 'mcp: COMMAND'")
	case f.check.QueryTimeout <= 0:
		return fmt.Errorf("--wall %v: want a time of more than 0", f.check.QueryTimeout)
	case f.check.Jobs < 1:
		return fmt.Errorf("-j %d: want at least 1", f.check.Jobs)
	default:
		return nil
	}
}

// run makes the check and prints its findings and its summary.
func (f *agentCheckFlags) run(ctx context.Context, host *kernelAndAgentHost) (summary check.Summary, err error) {
	cfg := f.check
	cfg.Supervisor = host.supervisor
	if cfg.WorkdirRoot, err = host.sandboxRoot(); err != nil {
		return summary, err
	}
	solution, err := writeCheckSolution(host.supervisor.TempDir())
	if err != nil {
		return summary, err
	}
	if cfg.Agent, err = host.agentConfig(solution); err != nil {
		return summary, err
	}
	cfg.Agent.Environ = host.p.environ
	calls := failedCalls{counts: map[string]int{}}
	if host.gateway != nil {
		cfg.NewModelServer = func() agent.ModelServer {
			return endpointServer{host.gateway.open(gateway.Agent{OnEvent: calls.add}), host.p.newLogger()}
		}
	}
	var printErr error
	show := func(line string, object any) {
		if f.asJSON {
			printErr = errors.Join(printErr, runs.EncodeLine(host.p.stdout, object))
			return
		}
		_, err := fmt.Fprintln(host.p.stdout, terminal.Printable(line))
		printErr = errors.Join(printErr, err)
	}
	summary, err = check.Run(ctx, cfg, func(found check.Finding) {
		found.Detail = host.p.redactor.String(found.Detail)
		show(checkLine(found), found)
	})
	if err == nil {
		show(summary.String(), summary)
	}
	for _, line := range calls.lines() {
		_, err := fmt.Fprintln(host.p.stderr, terminal.Printable(host.p.redactor.String(line)))
		printErr = errors.Join(printErr, err)
	}
	return summary, errors.Join(err, printErr)
}

// failedCalls counts the calls of models that have failed, by their errors.
type failedCalls struct {
	mu     sync.Mutex
	counts map[string]int
}

// add counts a call that has failed.
func (c *failedCalls) add(e gateway.Event) {
	if e.Reply == nil || e.Reply.IsComplete || e.Reply.Status < 400 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[e.Reply.Error]++
}

// lines returns a line for each of the most frequent errors.
func (c *failedCalls) lines() (lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const maxLines = 3
	texts := slices.SortedFunc(maps.Keys(c.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.counts[b], c.counts[a]), cmp.Compare(a, b))
	})
	for _, text := range texts[:min(maxLines, len(texts))] {
		lines = append(lines, fmt.Sprintf("calls of models that failed: %d: %s", c.counts[text], text))
	}
	return lines
}

// endpointServer serves an endpoint of the gateway to one process of an agent.
type endpointServer struct {
	*gateway.Endpoint
	log *slog.Logger
}

// Serve serves the connections of a listener until it is closed, and ends all calls then.
func (s endpointServer) Serve(listener net.Listener) {
	defer s.Close()
	if err := s.Endpoint.Serve(listener); err != nil {
		s.log.Debug("the agent's model server has ended", "error", err)
	}
}

// writeCheckSolution writes the solution that the oracle plays in a check, and returns its path.
func writeCheckSolution(dir string) (path string, err error) {
	path = filepath.Join(dir, "check-solution.json")
	return path, os.WriteFile(path, []byte(`["print(6 * 7)"]`), 0o600)
}

// checkLine returns a finding as a line for people.
func checkLine(f check.Finding) string {
	text := fmt.Sprintf("%-4s  %-14s  %s", f.Status, f.Name, terminal.OneLine(f.Detail))
	if f.Remedy != "" {
		text += ": " + f.Remedy
	}
	return text + "  (protocol.md, " + f.Section + ")"
}
