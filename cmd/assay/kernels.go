package main

import (
	"context"
	"slices"
	"strings"

	"assay/internal/sandbox"
	"assay/kernel"
	"assay/kernel/jupyter"
)

// What --kernel may say beside a command line.
const (
	kernelPython  = "python"
	kernelElisp   = "elisp"
	kernelJupyter = "jupyter:" // and the name of a kernelspec
)

// kernels is what --kernel has come to.
type kernels struct {
	python  *kernel.Python // nil with another kernel
	elisp   *kernel.Emacs  // likewise
	command []string       // of a foreign kernel
	read    []string       // what a fence has to let it read
	sockets bool           // it needs Unix sockets, to talk to us
	itself  bool           // it also talks to itself over the network
}

// findKernel makes sure that the kernel can be started.
func (h *host) findKernel(ctx context.Context) (err error) {
	name := h.flags.kernel
	k := &h.kernels
	switch spec, isJupyter := strings.CutPrefix(name, kernelJupyter); {
	case name == kernelPython:
		k.python, err = kernel.ResolvePython(ctx, h.flags.python, h.supervisor.TempDir())
	case name == kernelElisp:
		k.elisp, err = kernel.ResolveEmacs(ctx, "", h.supervisor.TempDir())
		k.sockets = true
	case isJupyter:
		found, err := jupyter.FindSpec(ctx, spec, h.p.environ)
		if err != nil {
			return usage(err)
		}
		k.command = []string{h.p.self, "jupyter", found.Path}
		k.read, k.sockets, k.itself = slices.Concat(neighbours(k.command), found.ReadPaths()), true, true
	default:
		k.command, err = words("--kernel", name, "python, elisp, jupyter:NAME")
		k.read = neighbours(k.command)
	}
	if err != nil {
		return broken(err)
	}
	return nil
}

// kernelConfig is the kernel of every session.
func (h *host) kernelConfig() kernel.Config {
	return kernel.Config{
		Python: h.kernels.python, Emacs: h.kernels.elisp, Command: h.kernels.command,
		Pool: h.pool, Sandbox: h.sandboxing.kernel, ReadyTimeout: h.flags.ready,
		MaxFrameBytes: h.flags.frameLimit, MaxStdioBytes: h.flags.stdioLimit,
	}
}

// resolvesUnix is the version of Landlock from which on a fence keeps a process
// from Unix sockets that lie outside.
const resolvesUnix = 9

// kernelRules are those of a kernel's fence. Who talks to itself over the network
// gets, where there is to be none, one with nobody else in it.
func (h *host) kernelRules(rules sandbox.Rules, machine sandbox.Machine) sandbox.Rules {
	k := h.kernels
	if k.elisp != nil && machine.LandlockVersion >= resolvesUnix {
		rules.WritePaths = append(rules.WritePaths, h.supervisor.SocketsDir())
	}
	rules.ReadPaths = slices.Concat(rules.ReadPaths, k.read)
	rules.AllowUnixSockets = k.sockets
	if k.itself && rules.Network == sandbox.NetworkOff {
		rules.Network = sandbox.NetworkLoopback
	}
	return rules
}
