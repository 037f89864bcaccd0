package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"assay/cmd/assay/internal/exit"
	"assay/internal/sandbox"
	"assay/kernel"
	"assay/kernel/jupyter"
)

// Values of --kernel other than a command line.
const (
	kernelPython  = "python"
	kernelElisp   = "elisp"
	kernelJupyter = "jupyter:" // followed by the name of a kernelspec
)

// selectedKernel is the kernel that --kernel has selected.
type selectedKernel struct {
	python    *kernel.Python // nil for another kernel
	emacs     *kernel.Emacs  // nil for another kernel
	command   []string       // of a foreign kernel
	readPaths []string       // that its sandbox must let it read

	needsUnixSockets bool // to connect to this program
	needsLoopback    bool // its processes talk to each other over the network
}

// findKernel checks that the kernel of the flags can be started, unless the kernel is played.
func (h *kernelAndAgentHost) findKernel(ctx context.Context) (err error) {
	name := h.flags.kernel
	k := &h.kernel
	switch spec, isJupyter := strings.CutPrefix(name, kernelJupyter); {
	case h.flags.isKernelPlayed:
	case name == kernelPython:
		k.python, err = kernel.ResolvePython(ctx, h.flags.python, h.supervisor.TempDir())
	case name == kernelElisp:
		k.emacs, err = kernel.ResolveEmacs(ctx, "", h.supervisor.TempDir())
		err = errors.Join(err, os.MkdirAll(h.supervisor.SocketsDir(), 0o700)) // rules of sandboxes name only what exists
		k.needsUnixSockets = true
	case isJupyter:
		found, err := jupyter.FindSpec(ctx, spec, h.p.environ)
		if err != nil {
			return exit.UsageError(err)
		}
		k.command = []string{h.p.self, "jupyter", found.Path}
		k.readPaths = slices.Concat(commandReadPaths(k.command), found.ReadPaths())
		k.needsUnixSockets, k.needsLoopback = true, true
	default:
		k.command, err = parseCommandLine("--kernel", name, "python, elisp, jupyter:NAME")
		k.readPaths = commandReadPaths(k.command)
	}
	if err != nil {
		return exit.BrokenError(err)
	}
	return nil
}

// kernelConfig returns the configuration of every session's kernel.
func (h *kernelAndAgentHost) kernelConfig() kernel.Config {
	return kernel.Config{
		Python: h.kernel.python, Emacs: h.kernel.emacs, Command: h.kernel.command,
		Pool: h.pool, Sandbox: h.sandboxes.kernel, ReadyTimeout: h.flags.readyTimeout,
		MaxFrameBytes: h.flags.maxFrameBytes, MaxStdioBytes: h.flags.maxStdioBytes,
	}
}

// landlockVersionForUnixSockets is the first version of Landlock with which a sandbox
// keeps a process from Unix sockets outside of its folders.
const landlockVersionForUnixSockets = 9

// kernelSandboxRules adds to rules what the selected kernel needs.
func (h *kernelAndAgentHost) kernelSandboxRules(rules sandbox.Rules, machine sandbox.Machine) sandbox.Rules {
	k := h.kernel
	if k.emacs != nil {
		rules.VisiblePaths = append(rules.VisiblePaths, h.supervisor.SocketsDir())
	}
	if k.emacs != nil && machine.LandlockVersion >= landlockVersionForUnixSockets {
		rules.WritePaths = append(rules.WritePaths, h.supervisor.SocketsDir())
	}
	rules.ReadPaths = slices.Concat(rules.ReadPaths, k.readPaths)
	rules.AllowUnixSockets, rules.NeedsLoopback = k.needsUnixSockets, k.needsLoopback
	return rules
}
