package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"assay/agent"
	"assay/cmd/assay/internal/exit"
	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/model"
	"assay/internal/model/gateway"
	"assay/internal/peers"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/kernel"
)

// kernelAndAgentFlags are the flags of every subcommand that starts kernels and agents.
type kernelAndAgentFlags struct {
	agent          string
	person         string
	agentEnv       []string
	builtin        builtinAgentFlags
	kernel, python string
	isKernelPlayed bool // no kernel is started
	sandboxRoot    string
	readyTimeout   time.Duration
	maxFrameBytes  int64
	maxStdioBytes  int // -1 means no limit
	limits         limitFlags
	sandbox        sandboxFlags
	agentSandbox   agentSandboxFlags
	pool           poolFlags
	gateway        gatewayFlags
	data           []string
}

func (f *kernelAndAgentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "builtin", "`agent`: builtin, oracle, noop, human (a person in the browser), mcp, 'COMMAND ARGS…', 'mcp: COMMAND ARGS…' for an MCP client, or 'acp: COMMAND ARGS…' for an ACP agent")
	flags.StringVar(&f.person, "person", "", "with --agent human: `name` of the person, which is recorded (default $USER)")
	f.builtin.add(flags)
	flags.StringArrayVar(&f.agentEnv, "agent-env", nil, "`name` of an ASSAY_ variable to pass to the agent (repeatable)")
	flags.StringVar(&f.kernel, "kernel", "python", "`kernel`: python, elisp, jupyter:NAME (an installed Jupyter kernel), or 'COMMAND ARGS…'")
	flags.StringVar(&f.python, "python", "python3", "Python `interpreter` of the kernel")
	flags.DurationVar(&f.readyTimeout, "ready", kernel.DefaultReadyTimeout, "`duration` that kernel and agent each have to become ready")
	flags.Int64Var(&f.maxFrameBytes, "frame-limit", protocol.DefaultMaxFrameBytes, "largest message of a kernel, agent or console, in `bytes`")
	flags.IntVar(&f.maxStdioBytes, "stdio-limit", kernel.DefaultMaxStdioBytes, "most text that one run of a cell may print, in `bytes`; the middle is cut; -1 is no limit")
	flags.StringVar(&f.sandboxRoot, "sandbox-root", "", "`folder` to create working folders in (default $LATCH_SANDBOX_ROOT, else a temporary folder)")
	flags.StringArrayVar(&f.data, "data", nil, "folder in which data addresses with a prefix are found, as `PREFIX=DIR` (repeatable)")
	f.limits.add(flags)
	f.sandbox.add(flags)
	f.agentSandbox.add(flags)
	f.pool.add(flags)
	f.gateway.add(flags)
}

// addSome adds only the flags with these names. The others have their defaults.
func (f *kernelAndAgentFlags) addSome(cmd *cobra.Command, names ...string) {
	all := &cobra.Command{}
	f.add(all)
	for _, name := range names {
		cmd.Flags().AddFlag(all.Flags().Lookup(name))
	}
}

// kernelAndAgentHost starts kernels and agents with the flags of a command. Its creator must close it.
type kernelAndAgentHost struct {
	flags      *kernelAndAgentFlags
	p          *cli
	supervisor *subprocess.Supervisor
	sandboxes  sandboxes
	kernel     selectedKernel
	pool       *kernel.Pool  // nil if kernels start cold
	gateway    *modelGateway // for the agents' calls of models; nil: they call their models themselves
	modelSlots *gateway.Slots
	secret     string // part of the names of sockets that code in a kernel must not find

	withheldBeside withheldBeside

	person         string   // who does the agent's work; empty: an agent
	agentCommand   []string // of a foreign agent, an MCP client, or an ACP agent
	agentReadPaths []string // folders of Python's libraries that the environment names
}

// newHost checks the flags, starts a supervisor and finds the kernel. Its errors carry an
// exit status.
func (p *cli) newHost(ctx context.Context, flags *kernelAndAgentFlags) (*kernelAndAgentHost, error) {
	h := &kernelAndAgentHost{flags: flags, p: p, secret: uuid.NewString()[:8]}
	if err := h.checkFlags(); err != nil {
		return nil, exit.UsageError(err)
	}
	supervisor, err := subprocess.NewSupervisor(subprocess.Config{
		CleanupHelper: p.cleanupHelperCommand(), Launcher: p.sandboxLauncherCommand(), MaxMemoryBytes: allSandboxesMemory(), Log: p.newLogger(),
	})
	if err != nil {
		return nil, exit.BrokenError(err)
	}
	h.supervisor = supervisor
	if err := h.prepare(ctx); err != nil {
		return nil, errors.Join(err, supervisor.Close())
	}
	return h, nil
}

// guard returns listeners in front of the given ones that refuse kernels and agents, and all that they
// start, of this host and of other servers.
func (h *kernelAndAgentHost) guard(listeners []net.Listener) []net.Listener {
	guarded := make([]net.Listener, len(listeners))
	for i, ln := range listeners {
		guarded[i] = h.supervisor.Guard().Listen(ln, func(peer peers.Peer, why error) {
			if peer == (peers.Peer{}) {
				h.p.newLogger().Warn("a connection was refused", "error", why)
				return
			}
			h.supervisor.ReportForbidden(peer, "a connection to the server at "+ln.Addr().String())
		})
	}
	return guarded
}

// agentOnlyPath returns a path that only agents receive. A kernel knows the temporary
// folder from its own arguments, but cannot list it.
func (h *kernelAndAgentHost) agentOnlyPath(name string) string {
	return filepath.Join(h.supervisor.TempDir(), name+"-"+h.secret)
}

// agentsDir returns the folder with the private folders of the agents.
func (h *kernelAndAgentHost) agentsDir() string { return h.agentOnlyPath("agents") }

// prepare finds the kernel, prepares its sandbox, and starts the pool.
func (h *kernelAndAgentHost) prepare(ctx context.Context) (err error) {
	if err := h.findKernel(ctx); err != nil {
		return err
	}
	if err := os.Mkdir(h.agentsDir(), 0o700); err != nil {
		return exit.BrokenError(err)
	}
	if err := h.copySystemText(); err != nil {
		return exit.BrokenError(err)
	}
	h.resolveAgentProgram(ctx)
	if h.sandboxes, err = h.prepareSandboxes(ctx); err != nil {
		return err
	}
	if err := h.startPool(ctx); err != nil {
		return exit.BrokenError(err)
	}
	return nil
}

// copySystemText writes the text of --system to a file for the agents, so that a change of the original file while
// they work makes no difference between them.
func (h *kernelAndAgentHost) copySystemText() error {
	f := &h.flags.builtin
	if f.systemText == "" {
		return nil
	}
	f.systemCopy = h.agentOnlyPath("system")
	return os.WriteFile(f.systemCopy, []byte(f.systemText), 0o600)
}

// checkFlags rejects invalid flags before anything is started.
func (h *kernelAndAgentHost) checkFlags() (err error) {
	isForeign := h.flags.hasForeignAgent()
	for _, err := range []error{h.flags.limits.check(), h.flags.sandbox.check(), h.flags.agentSandbox.check(isForeign, h.flags.sandbox.isOn), h.flags.pool.check(h.flags.kernel), h.flags.gateway.check(), h.flags.checkCache(), h.flags.checkModelCalls(), h.flags.checkBuiltinOnlyFlags()} {
		if err != nil {
			return err
		}
	}
	switch f := h.flags; {
	case f.readyTimeout <= 0:
		return fmt.Errorf("--ready %v: want a time of more than 0", f.readyTimeout)
	case f.maxFrameBytes <= 0:
		return fmt.Errorf("--frame-limit %d: want more than 0 bytes", f.maxFrameBytes)
	case f.maxStdioBytes == 0 || f.maxStdioBytes < -1:
		return fmt.Errorf("--stdio-limit %d: want more than 0 bytes, or -1 for no limit", f.maxStdioBytes)
	}
	if h.person, err = h.flags.personName(h.p); err != nil {
		return err
	}
	if name, line := h.flags.agentProtocol(); name != "" {
		err = h.parseProtocolAgent(name, line)
	} else {
		err = h.checkAgent()
	}
	h.modelSlots = gateway.NewSlots(h.flags.gateway.maxCalls)
	if err == nil {
		h.gateway, err = h.newModelGateway()
	}
	return err
}

// agentConfig returns the configuration of a session's agent. solution is the file that
// an oracle plays; "" if the case has none.
func (h *kernelAndAgentHost) agentConfig(solution string) (agent.Config, error) {
	cfg := agent.Config{PassVariables: h.flags.agentEnv, ReadyTimeout: h.flags.readyTimeout, MaxFrameBytes: h.flags.maxFrameBytes}
	if name, _ := h.flags.agentProtocol(); name != "" {
		cfg.Command, cfg.Sandbox, cfg.PrivateRoot, cfg.HomeSeed = h.protocolAgentCommand(name), h.sandboxes.agent, h.agentsDir(), h.flags.agentSandbox.home
		return cfg, nil
	}
	switch h.flags.agent {
	case "noop", agentFlagHuman:
		cfg.Command = []string{h.p.self, "agent", "--model", h.flags.agent}
	case "oracle":
		if solution == "" {
			return cfg, errors.New("the case has no oracle")
		}
		cfg.Command = []string{h.p.self, "agent", "--model", "oracle", "--solution", solution}
	case "builtin":
		arguments := h.flags.builtin.arguments()
		if h.gateway != nil {
			arguments = h.gateway.builtinArguments(&h.flags.builtin)
		}
		cfg.Command = append([]string{h.p.self, "agent"}, arguments...)
		cfg.Command = append(cfg.Command, h.p.redactArguments()...)
	default:
		cfg.Command, cfg.Sandbox, cfg.PrivateRoot, cfg.HomeSeed = h.agentCommand, h.sandboxes.agent, h.agentsDir(), h.flags.agentSandbox.home
	}
	return cfg, nil
}

// attemptConfig returns the configuration that all attempts share. Its errors carry an
// exit status.
func (h *kernelAndAgentHost) attemptConfig() (attempt.Config, error) {
	root, err := h.sandboxRoot()
	if err != nil {
		return attempt.Config{}, exit.BrokenError(err)
	}
	solutionsDir := ""
	if h.flags.agent == "oracle" {
		solutionsDir = filepath.Join(h.supervisor.TempDir(), "solutions")
		if err := os.Mkdir(solutionsDir, 0o700); err != nil {
			return attempt.Config{}, exit.BrokenError(err)
		}
	}
	cfg := attempt.Config{
		SolutionsDir: solutionsDir, Person: h.person,
		Supervisor: h.supervisor, Kernel: h.kernelConfig(), Environ: h.p.environ, AgentConfig: h.agentConfig, WorkdirRoot: root,
		IgnoreCaseNetwork: h.flags.sandbox.network != "",
		LimitOverrides:    h.limitOverrides(), OpenJudge: h.openJudge, Redactor: h.p.redactor, Log: h.p.newLogger(),
	}
	if h.gateway != nil {
		cfg.OpenModels = h.gateway.open
	}
	return cfg, nil
}

// openJudge opens a model for llm_judge, whose calls take slots of --max-model-calls like those of agents.
func (h *kernelAndAgentHost) openJudge(name string) (model.Client, error) {
	client, err := h.p.openJudge(name)
	if err != nil {
		return nil, err
	}
	return h.modelSlots.Limit(client), nil
}

// sandboxRoot returns the absolute path of the folder for working folders, and creates it
// if it does not exist.
func (h *kernelAndAgentHost) sandboxRoot() (string, error) {
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
		return "", fmt.Errorf("create the folder for sandboxes: %w", err)
	}
	return root, nil
}

// dataFolders returns the folders of --data by prefix.
func (f *kernelAndAgentFlags) dataFolders() (map[string]string, error) {
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

// limitOverrides returns the limits of the flags, which override those of cases. A person may think for as
// long as the wall limit allows, unless --idle is given.
func (h *kernelAndAgentHost) limitOverrides() runs.Limits {
	limits := h.flags.sandbox.withDiskLimit(h.flags.limits.overrides())
	if h.person != "" && limits.IdleTimeoutS == 0 {
		limits.IdleTimeoutS = -1
	}
	return limits
}

// close stops the pool, and then everything that is still running.
func (h *kernelAndAgentHost) close() error {
	return errors.Join(h.closePool(), h.supervisor.Close(), h.gateway.close())
}
