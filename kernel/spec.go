package kernel

import (
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/subprocess"
)

// spec says what process to start: a fork of the pool, if there is one, else a
// command.
func (k *Kernel) spec(cfg Config, warm *fork) (subprocess.Spec, error) {
	spec := subprocess.Spec{
		Name: "kernel", Argv: cfg.Command, Dir: cfg.Workdir, Env: environment(cfg),
		MaxFrameBytes: cfg.MaxFrameBytes, Output: cfg.Output, MaxProcesses: cfg.Sandbox.MaxProcesses(),
	}
	read := cfg.ReadPaths
	switch {
	case cfg.Command != nil:
	case cfg.Emacs != nil:
		spec.Argv, spec.ConnectsBack, spec.Output = cfg.Emacs.argv(), true, k.fromPipe
		read = slices.Concat(cfg.Emacs.paths, read)
	default:
		spec.Argv, spec.Output = []string{cfg.Python.Executable, "-u", cfg.Python.start}, k.fromPipe
		read = slices.Concat(cfg.Python.paths, read)
	}
	if warm != nil {
		spec.Forker = warm
		read = append(read, warm.read)
	}
	plan, err := cfg.Sandbox.PlanFor(cfg.Workdir, read...)
	if err != nil {
		return spec, err
	}
	spec.Sandbox = plan
	if warm != nil {
		warm.fence = plan
	}
	return spec, nil
}

// environment is the whole environment of a kernel: nothing of the server's but
// what an interpreter needs to be the user's. Keys of models are not among it.
func environment(cfg Config) []string {
	env := subprocess.FilterEnv(cfg.Environ, func(name string) bool {
		switch name {
		case "PATH", "LANG", "TZ", "VIRTUAL_ENV":
			return true
		}
		return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "PYTHON") || strings.HasPrefix(name, "CONDA_")
	})
	// HOME is the sandbox's: what was installed with pip --user is found by this.
	for _, entry := range cfg.Environ {
		if home, ok := strings.CutPrefix(entry, "HOME="); ok && !hasName(env, "PYTHONUSERBASE") {
			env = append(env, "PYTHONUSERBASE="+filepath.Join(home, ".local"))
		}
	}
	// Sets of strings are then in the same order in each run: what an agent is shown
	// of one fits what was recorded of another.
	if !hasName(env, "PYTHONHASHSEED") {
		env = append(env, "PYTHONHASHSEED=0")
	}
	own := filepath.Join(cfg.Workdir, ".assay")
	env = append(env,
		"HOME="+filepath.Join(own, "home"), "TMPDIR="+filepath.Join(own, "tmp"), "MPLCONFIGDIR="+filepath.Join(own, "mpl"))
	return append(env, subprocess.StandardEnv(cfg.Workdir, cfg.Session)...)
}

func hasName(env []string, name string) bool {
	return slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}
