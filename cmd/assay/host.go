package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"assay/agent"
	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/limiter"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/kernel"
)

// hostFlags are the flags of every subcommand that starts kernels and agents.
type hostFlags struct {
	agent          string
	agentEnv       []string
	builtin        builtinFlags
	kernel, python string
	sandboxRoot    string
	ready          time.Duration
	frameLimit     int64
	stdioLimit     int
	limits         limitFlags
	sandbox        sandboxFlags
	pool           poolFlags
	modelCalls     int // at once; 0: any number
	data           []string
}

func (f *hostFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "builtin", "`agent`: builtin, oracle, noop, mcp, 'COMMAND ARGS…', or 'mcp: COMMAND ARGS…' for an MCP client")
	f.builtin.add(flags)
	flags.StringArrayVar(&f.agentEnv, "agent-env", nil, "`name` of an ASSAY_ variable to pass to the agent (repeatable)")
	flags.StringVar(&f.kernel, "kernel", "python", "`kernel`: python, elisp, jupyter:NAME (an installed Jupyter kernel), or 'COMMAND ARGS…'")
	flags.StringVar(&f.python, "python", "python3", "Python `interpreter` of the kernel")
	flags.DurationVar(&f.ready, "ready", kernel.DefaultReadyTimeout, "`duration` that kernel and agent each have to become ready")
	flags.Int64Var(&f.frameLimit, "frame-limit", protocol.DefaultMaxFrameBytes, "largest message of a kernel, agent or console, in `bytes`")
	flags.IntVar(&f.stdioLimit, "stdio-limit", kernel.DefaultMaxStdioBytes, "most text that one run of a cell may print, in `bytes`; the middle is cut; -1 is no limit")
	flags.StringVar(&f.sandboxRoot, "sandbox-root", "", "`folder` to create working folders in (default $LATCH_SANDBOX_ROOT, else a temporary folder)")
	flags.StringArrayVar(&f.data, "data", nil, "folder in which data addresses with a prefix are found, as `PREFIX=DIR` (repeatable)")
	f.limits.add(flags)
	f.sandbox.add(flags)
	f.pool.add(flags)
	flags.IntVar(&f.modelCalls, "max-model-calls", 0, "maximum `number` of model calls in flight over all built-in agents; 0 is no limit")
}

// addSome adds only the flags of these names. The others have their defaults.
func (f *hostFlags) addSome(cmd *cobra.Command, names ...string) {
	all := &cobra.Command{}
	f.add(all)
	for _, name := range names {
		cmd.Flags().AddFlag(all.Flags().Lookup(name))
	}
}

// host is what starts kernels and agents: a supervisor and what they have in
// common. Whoever made it must close it.
type host struct {
	flags      *hostFlags
	p          *process
	supervisor *subprocess.Supervisor
	sandboxing sandboxing
	kernels    kernels
	pool       *kernel.Pool     // nil: kernels start cold
	gate       *limiter.Limiter // of calls of the model; nil: they do not wait
	agentWords []string         // of a foreign agent
	secret     string           // in the names of sockets that code in a kernel must not find
}

func (p *process) newHost(ctx context.Context, flags *hostFlags) (*host, error) {
	h := &host{flags: flags, p: p, secret: uuid.NewString()[:8]}
	if err := h.check(); err != nil {
		return nil, usage(err)
	}
	supervisor, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{p.self, "reap"}, Launcher: h.door(), Log: p.log()})
	if err != nil {
		return nil, broken(err)
	}
	h.supervisor = supervisor
	if err := h.equip(ctx); err != nil {
		return nil, errors.Join(err, supervisor.Close())
	}
	return h, nil
}

// private is a path for what only agents are told of. A kernel knows the temporary
// folder, from its own arguments, but cannot list it.
func (h *host) private(name string) string {
	return filepath.Join(h.supervisor.TempDir(), name+"-"+h.secret)
}

// equip finds the kernel, confines it and fills the pool.
func (h *host) equip(ctx context.Context) (err error) {
	if err := h.findKernel(ctx); err != nil {
		return err
	}
	if err := h.equipMCP(); err != nil {
		return broken(err)
	}
	if h.sandboxing, err = h.confine(ctx); err != nil {
		return broken(err)
	}
	if err := h.admit(); err != nil {
		return broken(err)
	}
	if err := h.fill(ctx); err != nil {
		return broken(err)
	}
	return nil
}

// check finds what is wrong with the flags before anything is started.
func (h *host) check() (err error) {
	foreign := !slices.Contains([]string{"builtin", "oracle", "noop", agentMCP}, h.flags.agent)
	for _, err := range []error{h.flags.limits.check(), h.flags.sandbox.check(foreign), h.flags.pool.check(h.flags.kernel), h.flags.checkCalls()} {
		if err != nil {
			return err
		}
	}
	switch f := h.flags; {
	case f.ready <= 0:
		return fmt.Errorf("--ready %v: want a time of more than 0", f.ready)
	case f.frameLimit <= 0:
		return fmt.Errorf("--frame-limit %d: want more than 0 bytes", f.frameLimit)
	case f.stdioLimit == 0 || f.stdioLimit < -1:
		return fmt.Errorf("--stdio-limit %d: want more than 0 bytes, or -1 for no limit", f.stdioLimit)
	}
	if line, ok := h.flags.mcpCommand(); ok {
		return h.checkMCP(line)
	}
	switch h.flags.agent {
	case "oracle", "noop":
		return nil
	case "builtin":
		return h.checkBuiltin(&h.flags.builtin)
	default:
		h.agentWords, err = words("--agent", h.flags.agent, "builtin, oracle, noop, mcp")
		return err
	}
}

// words splits a command line as a shell does, makes sure that its program is
// there, and that its files will be found. names are what the flag may say instead.
func words(flag, line, names string) ([]string, error) {
	words, err := shellwords.Parse(line)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", flag, line, err)
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("%s is empty", flag)
	}
	path, err := lookPath(words[0])
	if err != nil {
		return nil, fmt.Errorf("%s %q: want %s, or a command: %w", flag, line, names, err)
	}
	words[0] = path
	for i, word := range words[1:] {
		// The child works in its sandbox: a file that is named from here, as in
		// 'python3 my_agent.py', would not be found from there.
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			if words[i+1], err = filepath.Abs(word); err != nil {
				return nil, err
			}
		}
	}
	return words, nil
}

// agentConfig is the agent of a session; solution is the file that an oracle
// plays.
func (h *host) agentConfig(solution string) (agent.Config, error) {
	cfg := agent.Config{PassVariables: h.flags.agentEnv, ReadyTimeout: h.flags.ready, MaxFrameBytes: h.flags.frameLimit}
	if _, ok := h.flags.mcpCommand(); ok {
		cfg.Command, cfg.Sandbox = h.mcpAgent(), h.sandboxing.agent
		return cfg, nil
	}
	switch h.flags.agent {
	case "noop":
		cfg.Command = []string{h.p.self, "agent", "--model", "noop"}
	case "oracle":
		if solution == "" {
			return cfg, errors.New("the case has no oracle")
		}
		cfg.Command = []string{h.p.self, "agent", "--model", "oracle", "--solution", solution}
	case "builtin":
		cfg.Command = append([]string{h.p.self, "agent"}, h.flags.builtin.arguments()...)
	default:
		cfg.Command, cfg.Sandbox = h.agentWords, h.sandboxing.agent
	}
	return cfg, nil
}

// attempts is what all attempts have in common.
func (h *host) attempts() (attempt.Config, error) {
	root, err := h.sandboxRoot()
	if err != nil {
		return attempt.Config{}, broken(err)
	}
	solutions := ""
	if h.flags.agent == "oracle" {
		solutions = filepath.Join(h.supervisor.TempDir(), "solutions")
		if err := os.Mkdir(solutions, 0o700); err != nil {
			return attempt.Config{}, broken(err)
		}
	}
	return attempt.Config{
		SolutionsDir: solutions,
		Supervisor:   h.supervisor, Kernel: h.kernelConfig(), Environ: h.p.environ, AgentConfig: h.agentConfig, WorkdirRoot: root,
		LimitOverrides: h.limits(), OpenJudge: h.p.judge, Log: h.p.log(),
	}, nil
}

// sandboxRoot is the folder for sandboxes, made if it is not there.
func (h *host) sandboxRoot() (string, error) {
	root := h.flags.sandboxRoot
	if root == "" {
		root, _ = h.p.getenv("LATCH_SANDBOX_ROOT")
	}
	if root == "" {
		root = filepath.Join(h.supervisor.TempDir(), "sandboxes")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for sandboxes: %w", err)
	}
	return root, nil
}

// prefixes reads the --data flags.
func (f *hostFlags) prefixes() (map[string]string, error) {
	dirs := map[string]string{}
	for _, entry := range f.data {
		prefix, dir, ok := strings.Cut(entry, "=")
		if !ok || prefix == "" || dir == "" {
			return nil, fmt.Errorf("--data %q: want PREFIX=DIR", entry)
		}
		dirs[prefix] = dir
	}
	return dirs, nil
}

func (h *host) info() runs.Host { return hostInfo(h.kernels.python) }

// limits are those that were asked for.
func (h *host) limits() runs.Limits { return h.flags.sandbox.limits(h.flags.limits.asked()) }

func (h *host) close() error { return errors.Join(h.drain(), h.shut(), h.supervisor.Close()) }

// lookPath finds a program as a shell does, and makes its path good for every
// folder.
func lookPath(name string) (string, error) {
	found, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}
