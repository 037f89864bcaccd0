package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/go-units"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"assay/eval/runs"
	"assay/internal/sandbox"
)

// sandboxFlags say what a kernel may do outside of its sandbox, and how much
// inside.
type sandboxFlags struct {
	on, agent            bool
	network              string
	read                 []string
	memory, disk         size
	processes, openFiles int
}

func (f *sandboxFlags) add(flags *pflag.FlagSet) {
	f.network, f.memory, f.disk = string(sandbox.NetworkOn), usualMemory(), size(2<<30)
	flags.BoolVar(&f.on, "sandbox", true, "confine kernels to their working folder with what this machine offers")
	flags.BoolVar(&f.agent, "sandbox-agent", false, "confine a foreign agent by the same rules")
	flags.StringArrayVar(&f.read, "sandbox-read", nil, "`path` outside the working folder that may be read (repeatable)")
	flags.Var(choice{&f.network, []string{"on", "loopback", "off"}}, "network", "network of sandboxed code: `on|loopback|off`; loopback reaches only processes of the same sandbox")
	flags.Var(&f.memory, "memory", "most memory that each sandboxed process may allocate, a `size` such as 8GiB; 0 is no limit")
	flags.IntVar(&f.processes, "processes", 4096, "maximum `number` of processes and threads in a sandbox; 0 is no limit")
	flags.IntVar(&f.openFiles, "open-files", 4096, "maximum `number` of open files of each sandboxed process; 0 is no limit")
	flags.Var(&f.disk, "disk", "most data added to a working folder, measured each second, and the largest file: a `size` such as 2GiB; 0 is no limit")
}

// usualMemory is three quarters of the machine's, so that a kernel that wants
// all of it gets a MemoryError before the machine is without.
func usualMemory() size {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return size(info.Totalram / 4 * 3 * uint64(info.Unit)) //nolint:gosec // no machine has 2^63 bytes
}

func (f *sandboxFlags) check(foreign bool) error {
	for _, path := range f.read {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("--sandbox-read: %w", err)
		}
	}
	switch {
	case f.processes < 0 || f.openFiles < 0:
		return fmt.Errorf("--processes %d, --open-files %d: a limit is not negative; 0 is none", f.processes, f.openFiles)
	case f.agent && !f.on:
		return fmt.Errorf("--sandbox-agent confines by the same rules as --sandbox, which is off")
	case f.agent && !foreign:
		return fmt.Errorf("--sandbox-agent is for a foreign agent: the built-in ones run no code")
	}
	return nil
}

// sandboxing is how kernels and agents are confined; the zero value is not at
// all.
type sandboxing struct {
	kernel, agent *sandbox.Template
}

// confine probes what the machine can do.
func (h *host) confine(ctx context.Context) (sandboxing, error) {
	f := &h.flags.sandbox
	if !f.on {
		return sandboxing{}, nil
	}
	rules := sandbox.Rules{
		Network: sandbox.Network(f.network), MaxMemoryBytes: int64(f.memory), MaxFileBytes: int64(f.disk),
		MaxProcesses: f.processes, MaxOpenFiles: f.openFiles,
	}
	for _, path := range f.read {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return sandboxing{}, err
		}
		rules.ReadPaths = append(rules.ReadPaths, absolute)
	}
	rules.ReadPaths = append(rules.ReadPaths, sandbox.SystemPaths()...)
	machine := sandbox.ProbeMachine(ctx, h.door())
	s := sandboxing{kernel: &sandbox.Template{Machine: machine, Rules: h.kernelRules(rules, machine)}}
	if f.agent {
		rules.ReadPaths = slices.Concat(rules.ReadPaths, neighbours(h.agentWords))
		if _, ok := h.flags.mcpCommand(); ok { // we stand between it and the server, and it reaches us by a socket
			rules.ReadPaths = slices.Concat(rules.ReadPaths, neighbours([]string{h.p.self}))
			rules.WritePaths, rules.AllowUnixSockets = append(rules.WritePaths, h.mcpSockets()), true
		}
		s.agent = &sandbox.Template{Machine: machine, Rules: rules}
	}
	return s, nil
}

// door is the command that puts another behind a fence.
func (h *host) door() []string { return []string{h.p.self, "fence"} }

// neighbours are the folders of a foreign command's program and files, and what
// a program has beside its bin folder.
func neighbours(command []string) []string {
	var paths []string
	for i, word := range command {
		if !filepath.IsAbs(word) {
			continue
		}
		for _, path := range []string{word, resolved(word)} {
			folder := filepath.Dir(path)
			if i == 0 && filepath.Base(folder) == "bin" {
				folder = filepath.Dir(folder)
			}
			paths = append(paths, folder)
		}
	}
	return paths
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// enforced tells which promises hold here.
func (h *host) enforced() map[string]bool {
	held := h.supervisor.Enforceable()
	if h.sandboxing.kernel != nil {
		maps.Copy(held, h.sandboxing.kernel.Machine.Enforceable(h.sandboxing.kernel.Rules))
	}
	if h.flags.sandbox.disk > 0 {
		held["disk"] = true
	}
	return held
}

// unenforced says, for people, what is promised and does not hold here.
func unenforced(held map[string]bool) []string {
	missing := sandbox.DescribeUnenforced(held)
	if kept, asked := held["cgroup_kill"]; asked && !kept {
		missing = append(missing, "a process that leaves its process group outlives its session: there is no cgroup (version 2) that we may write")
	}
	return missing
}

// limits is l with --disk in the form of attempt.Config: negative is no limit.
func (f *sandboxFlags) limits(l runs.Limits) runs.Limits {
	l.MaxDiskBytes = int64(f.disk)
	if l.MaxDiskBytes == 0 {
		l.MaxDiskBytes = -1
	}
	return l
}

// size is a flag of bytes, such as 512MiB or 2g; a bare number is bytes.
type size int64

func (s *size) String() string { return strings.ReplaceAll(units.BytesSize(float64(*s)), " ", "") }

// Type names the kind of value in a help text.
func (s *size) Type() string { return "size" }

// Set reads a size.
func (s *size) Set(text string) error {
	bytes, err := units.RAMInBytes(text)
	if err != nil || bytes < 0 || bytes > math.MaxInt64/2 {
		return fmt.Errorf("want a size such as 512MiB or 2GiB, or 0")
	}
	*s = size(bytes)
	return nil
}
