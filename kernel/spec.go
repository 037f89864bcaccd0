package kernel

import (
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/subprocess"
)

// processSpec says which process to start: with the fork, or with a command if fork is
// nil.
func (k *Kernel) processSpec(cfg Config, fork *poolFork) (subprocess.Spec, error) {
	spec := subprocess.Spec{
		Name: "kernel", Argv: cfg.Command, Dir: cfg.Workdir, Env: kernelEnvironment(cfg),
		MaxFrameBytes: cfg.MaxFrameBytes, Output: cfg.Output, MaxProcesses: cfg.Sandbox.MaxProcesses(),
	}
	readPaths := cfg.ReadPaths
	switch {
	case cfg.Command != nil:
	case cfg.Emacs != nil:
		spec.Argv, spec.ConnectsBack, spec.Output = cfg.Emacs.kernelCommand(), true, k.merger.addOutput
		readPaths = slices.Concat(cfg.Emacs.readPaths, readPaths)
	default:
		spec.Argv, spec.Output = []string{cfg.Python.Executable, "-u", cfg.Python.kernelProgram}, k.merger.addOutput
		readPaths = slices.Concat(cfg.Python.readPaths, readPaths)
	}
	if fork != nil {
		spec.Forker = fork
		readPaths = append(readPaths, fork.poolFolder)
	}
	plan, err := cfg.Sandbox.PlanFor(cfg.Workdir, readPaths...)
	if err != nil {
		return spec, err
	}
	spec.Sandbox = plan
	if fork != nil {
		fork.sandbox = plan
	}
	return spec, nil
}

// kernelEnvironment returns the whole environment of a kernel. From the server's it takes only
// what an interpreter needs to find the user's language, time zone and packages. Keys of
// models are not among it.
func kernelEnvironment(cfg Config) []string {
	env := subprocess.FilterEnv(cfg.Environ, func(name string) bool {
		switch name {
		case "PATH", "LANG", "TZ", "VIRTUAL_ENV":
			return true
		}
		return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "PYTHON") || strings.HasPrefix(name, "CONDA_")
	})
	// HOME is in the workdir. With this, Python still finds packages that were installed
	// with pip --user.
	for _, entry := range cfg.Environ {
		if home, ok := strings.CutPrefix(entry, "HOME="); ok && !hasVariable(env, "PYTHONUSERBASE") {
			env = append(env, "PYTHONUSERBASE="+filepath.Join(home, ".local"))
		}
	}
	// Sets of strings then have the same order in each run, and what an agent is shown of
	// one matches a recording.
	if !hasVariable(env, "PYTHONHASHSEED") {
		env = append(env, "PYTHONHASHSEED=0")
	}
	private := filepath.Join(cfg.Workdir, ".assay")
	env = append(env,
		"HOME="+filepath.Join(private, "home"), "TMPDIR="+filepath.Join(private, "tmp"), "MPLCONFIGDIR="+filepath.Join(private, "mpl"))
	return append(env, subprocess.StandardEnv(cfg.Workdir, cfg.Session)...)
}

func hasVariable(env []string, name string) bool {
	return slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}
