package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"assay/cmd/assay/internal/exit"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// sandboxFlags are the flags that say what kernels may do outside of their working folder, and how
// much inside. The limits are those of confined agents too.
type sandboxFlags struct {
	isOn                 bool
	network              string          // "" means that of the case, or defaultNetwork
	defaultNetwork       sandbox.Network // on, except for run
	readPaths            []string
	memory, disk         byteSizeFlag // 0 means no limit
	processes, openFiles int          // 0 means no limit
	flags                *pflag.FlagSet

	// attemptsAtOnce is how many attempts run at the same time. The default of --processes depends on it. No flag.
	attemptsAtOnce int

	// withheldPaths are files and folders that neither kernel nor agent may read, because they tell
	// how to pass. No flag.
	withheldPaths []string

	caseFiles []string // of the run, without symbolic links. No flag.

	// sharedFolders have the working folders of all attempts and the private folders of all agents. No flag.
	sharedFolders []string

	// coveredFolders are those withheldPaths that are folders of cases and runs: even the sizes of their files tell. No flag.
	coveredFolders []string
}

func (f *sandboxFlags) add(flags *pflag.FlagSet) {
	f.memory, f.disk = defaultMemoryLimit(), byteSizeFlag(2<<30)
	flags.BoolVar(&f.isOn, "sandbox", true, "confine kernels to their working folder with what this machine offers")
	flags.StringArrayVar(&f.readPaths, "sandbox-read", nil, "`path` outside the working folder that may be read (repeatable)")
	flags.Var(choiceFlag{&f.network, []string{"on", "loopback", "off"}}, "network", "network of sandboxed code, whatever its case says: `on|loopback|off`; loopback reaches only processes of the same sandbox")
	f.setDefaultNetwork(flags, sandbox.NetworkOn)
	flags.Var(&f.memory, "memory", "most memory that each sandboxed process may allocate, a `size` such as 8GiB; all together a quarter more; 0 is no limit")
	f.flags, f.attemptsAtOnce = flags, 4
	flags.IntVar(&f.processes, "processes", maxDefaultProcesses, "maximum `number` of processes and threads in a sandbox; 0 is no limit; the default is lower if all attempts together could use up kernel.pid_max")
	flags.IntVar(&f.openFiles, "open-files", 4096, "maximum `number` of open files of each sandboxed process; 0 is no limit")
	flags.Var(&f.disk, "disk", "most data added to a working folder, measured each second, and the largest file: a `size` such as 2GiB; 0 is no limit")
}

// setDefaultNetwork sets the network of code that neither --network nor its case gives one.
func (f *sandboxFlags) setDefaultNetwork(flags *pflag.FlagSet, network sandbox.Network) {
	f.defaultNetwork, flags.Lookup("network").DefValue = network, string(network)
}

// kernelNetwork returns the network of kernels whose case does not say otherwise.
func (f *sandboxFlags) kernelNetwork() sandbox.Network {
	return cmp.Or(sandbox.Network(f.network), f.defaultNetwork)
}

// defaultMemoryLimit returns three quarters of the memory that we may use, so that a kernel that
// allocates too much gets a MemoryError before the machine runs out. It returns 0 (no
// limit) if that is not known.
func defaultMemoryLimit() byteSizeFlag { return byteSizeFlag(sandbox.UsableMemoryBytes() / 4 * 3) }

// maxDefaultProcesses and minDefaultProcesses bound the default of --processes.
const (
	maxDefaultProcesses = 4096
	minDefaultProcesses = 256
)

// maxProcesses returns --processes or, if that was not given, the default for this machine.
func (f *sandboxFlags) maxProcesses() int {
	if f.flags.Changed("processes") {
		return f.processes
	}
	return defaultProcesses(sandbox.ProcessNumbers(), f.attemptsAtOnce)
}

// defaultProcesses returns how many processes a sandbox may have so that a quarter of the numbers that Linux has for
// processes stays free when each attempt has two sandboxes, full of processes that keep three numbers: their own,
// their group's and their session's, whose leaders have ended.
func defaultProcesses(numbers, attemptsAtOnce int) int {
	return min(max(numbers/4*3/(2*3*attemptsAtOnce), minDefaultProcesses), maxDefaultProcesses)
}

// allSandboxesMemory returns how much memory all confined kernels and agents together may use: seven eighths
// of what we may use, so that the server, and what else runs on the machine, keeps an eighth. 0 is no limit.
func allSandboxesMemory() int64 { return sandbox.UsableMemoryBytes() / 8 * 7 }

// check rejects invalid flags.
func (f *sandboxFlags) check() error {
	for _, path := range f.readPaths {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("--sandbox-read: %w", err)
		}
	}
	if f.processes < 0 || f.openFiles < 0 {
		return fmt.Errorf("--processes %d, --open-files %d: a limit is not negative; 0 is none", f.processes, f.openFiles)
	}
	return nil
}

// sandboxes are the sandboxes of kernels and agents. nil means not confined.
type sandboxes struct {
	kernel, agent *sandbox.Template
}

// prepareSandboxes probes what the machine can enforce, and makes the rules of the flags. Its errors
// carry an exit status.
func (h *kernelAndAgentHost) prepareSandboxes(ctx context.Context) (s sandboxes, err error) {
	f := &h.flags.sandbox
	if !f.isOn {
		return s, nil
	}
	root, err := h.sandboxRoot()
	if err != nil {
		return s, exit.BrokenError(err)
	}
	f.sharedFolders = []string{root, h.agentsDir()}
	f.withhold(nil, h.supervisor.TempDir()) // in case it is in a folder of the agent's program
	f.withholdOutput(h.flags.builtin.record)
	if dir := h.flags.gateway.cacheDir; dir != "" {
		f.withhold(nil, dir) // it has what other attempts have answered
	}
	machine := sandbox.ProbeMachine(ctx, h.p.sandboxLauncherCommand())
	rules := h.kernelSandboxRules(f.newRules(f.readPaths), machine)
	rules.Network = f.kernelNetwork()
	kernelPaths := rules.ReadPaths
	if python := h.kernel.python; python != nil {
		kernelPaths = slices.Concat(kernelPaths, python.ReadPaths())
	}
	agentPaths := []string(nil)
	if h.flags.confinesAgent() {
		agentPaths = h.agentSandboxRules().ReadPaths
	}
	h.withheldBeside = f.withholdBesideCases(slices.Concat(kernelPaths, agentPaths))
	f.sharedFolders = append(f.sharedFolders, f.coveredFolders...)
	rules.HiddenPaths, rules.SharedFolders = f.withheldPaths, f.sharedFolders
	if err := f.checkWithheldPaths("the kernel", kernelPaths); err != nil {
		return s, exit.UsageError(err)
	}
	s.kernel = &sandbox.Template{Machine: machine, Rules: rules, FindHidden: f.newLeftovers(kernelPaths)}
	if h.flags.confinesAgent() {
		rules := h.agentSandboxRules()
		if err := errors.Join(f.checkWithheldPaths("the agent", rules.ReadPaths), f.checkWritePaths(rules.WritePaths), f.checkAgentHome(h.flags.agentSandbox.home)); err != nil {
			return s, exit.UsageError(err)
		}
		s.agent = &sandbox.Template{Machine: machine, Rules: rules, FindHidden: f.newLeftovers(rules.ReadPaths)}
	}
	s.kernel.Rules.ReadPaths = append(s.kernel.Rules.ReadPaths, sandbox.SystemPaths()...)
	if s.agent != nil {
		s.agent.Rules.ReadPaths = append(s.agent.Rules.ReadPaths, sandbox.SystemPaths()...)
	}
	return s, nil
}

// newRules returns rules with the limits of the flags, in which readPaths may be read.
func (f *sandboxFlags) newRules(readPaths []string) sandbox.Rules {
	return sandbox.Rules{
		ReadPaths: absolutePaths(readPaths), HiddenPaths: f.withheldPaths, SharedFolders: f.sharedFolders,
		MaxMemoryBytes: int64(f.memory), MaxFileBytes: int64(f.disk), MaxProcesses: f.maxProcesses(), MaxOpenFiles: f.openFiles,
	}
}

// commandReadPaths returns what a foreign command must be able to read: the folder of its program, the
// folder of the first file among its arguments, which may be a script, and the other files. Of a program in a
// folder bin it returns the folder above, which has its libraries; of an interpreter of Python, which a script may
// name, only its file and its virtual environment, or the folders bin and lib. Symbolic links, by which an agent could open
// other folders, are followed only for a program that PATH finds, and for an interpreter of Python, such as that
// of a virtual environment.
func commandReadPaths(command []string) []string {
	var paths []string
	hasScript := false
	for i, word := range command {
		if !isRegularFile(word) {
			continue
		}
		target, isLink := followLinks(word)
		switch {
		case i == 0 && isPython(word):
			paths = slices.Concat(paths, []string{word}, pythonFolders(word), pythonFolders(target))
		case i == 0 && isLink:
			paths = append(paths, readPathOf(word, true, false))
			if onPath, err := lookPath(filepath.Base(word)); err == nil && onPath == word {
				paths = append(paths, readPathOf(target, true, false))
			}
		case !isLink:
			paths = append(paths, readPathOf(word, i == 0, hasScript))
		}
		hasScript = i > 0
	}
	return paths
}

// isRegularFile reports whether a word of a command is the absolute path of a file.
func isRegularFile(word string) bool {
	info, err := os.Stat(word)
	return filepath.IsAbs(word) && err == nil && info.Mode().IsRegular()
}

// readPathOf returns what of a file in a command must be readable: for a program its folder, or the one above
// bin unless that has the user's home; for the first other file its folder; else the file.
func readPathOf(path string, isProgram, hasScript bool) string {
	switch folder := filepath.Dir(path); {
	case isProgram && slices.Contains([]string{"bin", ".bin"}, filepath.Base(folder)) && !holdsHome(filepath.Dir(folder)):
		return filepath.Dir(folder)
	case isProgram || !hasScript:
		return folder
	default:
		return path
	}
}

// holdsHome reports whether a folder is the user's home or above it, so that it holds more than the libraries of a
// program.
func holdsHome(folder string) bool {
	home, err := os.UserHomeDir()
	return folder == "/" || err == nil && sandbox.IsWithin(filepath.Clean(home), folder)
}

// followLinks returns the path without symbolic links, and whether there was one below the current folder or the
// user's home, or for a path elsewhere anywhere in it.
func followLinks(path string) (target string, isLink bool) {
	target = sandbox.ResolvePath(path)
	current, _ := os.Getwd()    // without one the path is elsewhere
	home, _ := os.UserHomeDir() // as above
	for _, root := range []string{current, home} {
		if rest, err := filepath.Rel(root, path); err == nil && root != "" && filepath.IsLocal(rest) {
			return target, target != filepath.Join(sandbox.ResolvePath(root), rest)
		}
	}
	return target, target != filepath.Clean(path)
}

// pythonFolders returns the folders with the libraries and programs of an interpreter of Python: a virtual
// environment, or bin and lib. It returns none if the program is something else.
func pythonFolders(program string) []string {
	if !isPython(program) || filepath.Base(filepath.Dir(program)) != "bin" {
		return nil
	}
	prefix := filepath.Dir(filepath.Dir(program))
	if isRegularFile(filepath.Join(prefix, "pyvenv.cfg")) {
		return []string{prefix}
	}
	if libraries, _ := filepath.Glob(filepath.Join(prefix, "lib", "python3*")); len(libraries) == 0 { // the pattern is well-formed
		return nil
	}
	return []string{filepath.Join(prefix, "bin"), filepath.Join(prefix, "lib")}
}

// enforcedRules returns which limits and promises hold on this machine, by name.
func (h *kernelAndAgentHost) enforcedRules() map[string]bool {
	enforced := h.supervisor.Enforceable()
	if h.sandboxes.kernel != nil {
		maps.Copy(enforced, h.sandboxes.kernel.Machine.Enforceable(h.sandboxes.kernel.Rules))
	}
	if agent := h.sandboxes.agent; agent != nil {
		if h.gateway != nil {
			agent = agent.WithListener(sandbox.PrivateListenerPort)
		}
		session.CombineEnforcedRules(enforced, agent.Machine.Enforceable(agent.Rules))
	}
	if h.flags.sandbox.disk > 0 {
		enforced["disk"] = true
	}
	return enforced
}

// describeUnenforcedRules returns a text for each limit or promise that does not hold.
func describeUnenforcedRules(enforced map[string]bool) []string {
	missing := sandbox.DescribeUnenforced(enforced)
	// A sandbox with private shared memory has a mount namespace, by which its processes are found.
	if isEnforced, isKnown := enforced[subprocess.EnforcesCgroupKill]; isKnown && !isEnforced && !enforced[sandbox.EnforcesSharedMemory] {
		missing = append(missing, "a process that leaves its process group outlives its session: there is no writable cgroup (version 2) and no namespace")
	}
	return missing
}

// withDiskLimit returns l with --disk, in the form of attempt.Config: negative means no
// limit.
func (f *sandboxFlags) withDiskLimit(l runs.Limits) runs.Limits {
	l.MaxDiskBytes = int64(f.disk)
	if l.MaxDiskBytes == 0 {
		l.MaxDiskBytes = -1
	}
	return l
}
