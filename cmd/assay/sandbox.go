package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"assay/eval/runs"
	"assay/internal/sandbox"
)

// sandboxFlags are the flags that say what kernels and agents may do outside of their
// working folder, and how much inside.
type sandboxFlags struct {
	isOn, includesAgent  bool
	network              string
	readPaths            []string
	memory, disk         byteSizeFlag // 0 means no limit
	processes, openFiles int          // 0 means no limit
}

func (f *sandboxFlags) add(flags *pflag.FlagSet) {
	f.network, f.memory, f.disk = string(sandbox.NetworkOn), defaultMemoryLimit(), byteSizeFlag(2<<30)
	flags.BoolVar(&f.isOn, "sandbox", true, "confine kernels to their working folder with what this machine offers")
	flags.BoolVar(&f.includesAgent, "sandbox-agent", false, "confine a foreign agent by the same rules")
	flags.StringArrayVar(&f.readPaths, "sandbox-read", nil, "`path` outside the working folder that may be read (repeatable)")
	flags.Var(choiceFlag{&f.network, []string{"on", "loopback", "off"}}, "network", "network of sandboxed code: `on|loopback|off`; loopback reaches only processes of the same sandbox")
	flags.Var(&f.memory, "memory", "most memory that each sandboxed process may allocate, a `size` such as 8GiB; 0 is no limit")
	flags.IntVar(&f.processes, "processes", 4096, "maximum `number` of processes and threads in a sandbox; 0 is no limit")
	flags.IntVar(&f.openFiles, "open-files", 4096, "maximum `number` of open files of each sandboxed process; 0 is no limit")
	flags.Var(&f.disk, "disk", "most data added to a working folder, measured each second, and the largest file: a `size` such as 2GiB; 0 is no limit")
}

// defaultMemoryLimit returns three quarters of the machine's memory, so that a kernel that
// allocates too much gets a MemoryError before the machine runs out. It returns 0 (no
// limit) if the size of the memory is unknown.
func defaultMemoryLimit() byteSizeFlag {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return byteSizeFlag(info.Totalram / 4 * 3 * uint64(info.Unit)) //nolint:gosec // no machine has 2^63 bytes
}

// check rejects invalid flags. isForeign says that the agent is not a built-in one.
func (f *sandboxFlags) check(isForeign bool) error {
	for _, path := range f.readPaths {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("--sandbox-read: %w", err)
		}
	}
	switch {
	case f.processes < 0 || f.openFiles < 0:
		return fmt.Errorf("--processes %d, --open-files %d: a limit is not negative; 0 is none", f.processes, f.openFiles)
	case f.includesAgent && !f.isOn:
		return errors.New("--sandbox-agent confines by the same rules as --sandbox, which is off")
	case f.includesAgent && !isForeign:
		return errors.New("--sandbox-agent is for a foreign agent: the built-in ones run no code")
	}
	return nil
}

// sandboxes are the sandboxes of kernels and agents. nil means not confined.
type sandboxes struct {
	kernel, agent *sandbox.Template
}

// prepareSandboxes probes what the machine can enforce, and makes the rules of the flags.
func (h *kernelAndAgentHost) prepareSandboxes(ctx context.Context) (sandboxes, error) {
	f := &h.flags.sandbox
	if !f.isOn {
		return sandboxes{}, nil
	}
	rules := sandbox.Rules{
		Network: sandbox.Network(f.network), MaxMemoryBytes: int64(f.memory), MaxFileBytes: int64(f.disk),
		MaxProcesses: f.processes, MaxOpenFiles: f.openFiles,
	}
	for _, path := range f.readPaths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return sandboxes{}, err
		}
		rules.ReadPaths = append(rules.ReadPaths, absolute)
	}
	rules.ReadPaths = append(rules.ReadPaths, sandbox.SystemPaths()...)
	machine := sandbox.ProbeMachine(ctx, h.p.sandboxLauncherCommand())
	s := sandboxes{kernel: &sandbox.Template{Machine: machine, Rules: h.kernelSandboxRules(rules, machine)}}
	if f.includesAgent {
		rules.ReadPaths = slices.Concat(rules.ReadPaths, commandFolders(h.agentCommand))
		if _, ok := h.flags.mcpClientCommand(); ok { // the agent is this program, and its client connects to a Unix socket
			rules.ReadPaths = slices.Concat(rules.ReadPaths, commandFolders([]string{h.p.self}))
			rules.WritePaths, rules.AllowUnixSockets = append(rules.WritePaths, h.mcpSocketsDir()), true
		}
		s.agent = &sandbox.Template{Machine: machine, Rules: rules}
	}
	return s, nil
}

// commandFolders returns the folders that a foreign command must be able to read: those
// of its program and of its files, before and after following symbolic links. Of a
// program in a folder bin it returns the folder above, which has its libraries.
func commandFolders(command []string) []string {
	var folders []string
	for i, word := range command {
		if !filepath.IsAbs(word) {
			continue
		}
		for _, path := range []string{word, followLinks(word)} {
			folder := filepath.Dir(path)
			if i == 0 && filepath.Base(folder) == "bin" {
				folder = filepath.Dir(folder)
			}
			folders = append(folders, folder)
		}
	}
	return folders
}

// followLinks returns path without symbolic links, or path itself if it does not exist.
func followLinks(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// enforcedRules returns which limits and promises hold on this machine, by name.
func (h *kernelAndAgentHost) enforcedRules() map[string]bool {
	enforced := h.supervisor.Enforceable()
	if h.sandboxes.kernel != nil {
		maps.Copy(enforced, h.sandboxes.kernel.Machine.Enforceable(h.sandboxes.kernel.Rules))
	}
	if h.flags.sandbox.disk > 0 {
		enforced["disk"] = true
	}
	return enforced
}

// describeUnenforcedRules returns a text for each limit or promise that does not hold.
func describeUnenforcedRules(enforced map[string]bool) []string {
	missing := sandbox.DescribeUnenforced(enforced)
	if isEnforced, isKnown := enforced["cgroup_kill"]; isKnown && !isEnforced {
		missing = append(missing, "a process that leaves its process group outlives its session: there is no writable cgroup (version 2)")
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
