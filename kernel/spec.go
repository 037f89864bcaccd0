package kernel

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// processSpec returns the description of the kernel process to start: its command,
// environment, sandbox and limits. If fork is not nil, the pool forks the process instead of
// running the command. It fails if the sandbox cannot be planned.
func (k *Kernel) processSpec(cfg Config, fork *poolForker) (subprocess.Spec, error) {
	spec := subprocess.Spec{
		Name: "kernel", Argv: cfg.Command, Dir: cfg.Workdir, Env: kernelEnvironment(cfg),
		MaxFrameBytes: cfg.MaxFrameBytes, Output: cfg.Output, MaxProcesses: cfg.Sandbox.MaxProcesses(), MaxMemoryBytes: cfg.Sandbox.TotalMemoryBytes(),
		OnForbidden: cfg.OnForbidden, RunsUntrustedCode: true,
	}
	readPaths := cfg.ReadPaths
	switch {
	case cfg.Command != nil:
	case cfg.Emacs != nil:
		spec.Argv, spec.ConnectsBack, spec.Output = cfg.Emacs.kernelCommand(), true, k.merger.addPipeOutput
		readPaths = slices.Concat(cfg.Emacs.readPaths, readPaths)
	default:
		spec.Argv, spec.Output = []string{cfg.Python.Executable, "-u", cfg.Python.kernelProgram}, k.merger.addPipeOutput
		spec.OutputAfterFrames = true
		readPaths = slices.Concat(cfg.Python.readPaths, readPaths)
	}
	if path := pipConfigPath(cfg); path != "" {
		spec.Env = append(spec.Env, "PIP_CONFIG_FILE="+path)
		readPaths = append(slices.Clone(readPaths), path)
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

// kernelEnvironment returns all environment variables of a kernel process as NAME=value. From
// the server's variables it takes only those that an interpreter needs to find the user's
// language, time zone and packages; API keys of models are not among them.
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
		if home, ok := strings.CutPrefix(entry, "HOME="); ok && !hasEnvVariable(env, "PYTHONUSERBASE") {
			env = append(env, "PYTHONUSERBASE="+filepath.Join(home, ".local"))
		}
	}
	// Sets of strings then have the same order in each run, and what an agent is shown of
	// one matches a recording.
	if !hasEnvVariable(env, "PYTHONHASHSEED") {
		env = append(env, "PYTHONHASHSEED=0")
	}
	private := filepath.Join(cfg.Workdir, ".assay")
	env = append(env,
		"HOME="+filepath.Join(private, "home"), "TMPDIR="+filepath.Join(private, "tmp"), "MPLCONFIGDIR="+filepath.Join(private, "mpl"))
	if cfg.Sandbox != nil {
		env = append(env, "ASSAY_KERNEL_NETWORK="+string(cfg.Sandbox.Rules.EffectiveNetwork())) // the kernel explains errors with it
	}
	return append(env, subprocess.StandardEnvVars(cfg.Workdir, cfg.Session)...)
}

// pipConfigPath returns the path of the user's configuration of pip, which pip does not find itself,
// because HOME is in the workdir. It returns "" if there is none, or if the kernel has no network:
// then pip has no use for it, and it may contain passwords.
func pipConfigPath(cfg Config) string {
	if cfg.Sandbox != nil && cfg.Sandbox.Rules.EffectiveNetwork() != sandbox.NetworkOn {
		return ""
	}
	value := func(name string) string {
		for _, entry := range cfg.Environ {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
	home := value("HOME")
	config := cmp.Or(value("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	for _, path := range []string{value("PIP_CONFIG_FILE"), filepath.Join(config, "pip", "pip.conf"), filepath.Join(home, ".pip", "pip.conf")} {
		if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// hasEnvVariable reports whether env, a list of NAME=value, has a variable of this name.
func hasEnvVariable(env []string, name string) bool {
	return slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}
