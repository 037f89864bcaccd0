package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

const (
	// minOpenFiles is the limit of open files below which a run with many attempts at
	// once can fail.
	minOpenFiles = 1024

	// minFreeBytes is the free space below which there may be too little for sandboxes
	// and traces.
	minFreeBytes = 1 << 30
)

// checks returns all checks.
func checks(cfg Config) []check {
	return []check{
		{"python", true, cfg.checkPython},
		{"temporary folder", true, checkTempFolder},
		{"runs folder", false, checkRunsFolder},
		{"cgroup.kill", false, cfg.checkCgroup},
		{"sandbox", false, cfg.checkSandbox},
		{"open files", false, checkOpenFiles},
		{"port 8765", false, checkPort},
		{"ANTHROPIC_API_KEY", false, cfg.newAPIKeyCheck("ANTHROPIC_API_KEY")},
		{"OPENAI_API_KEY", false, cfg.newAPIKeyCheck("OPENAI_API_KEY")},
		{"emacs", false, newProgramCheck("install emacs-nox: notebooks in Emacs Lisp need it", "emacs")},
		{"chromium", false, newProgramCheck("install chromium: tests of the browser's page need it", "chromium", "chromium-browser", "google-chrome")},
		{"gcc", false, newProgramCheck("install gcc and libc6-dev: tests with the race detector need them", "gcc")},
	}
}

// checkTempFolder writes into the folder in which sandboxes are created, and reports its
// free space.
func checkTempFolder(context.Context) Finding {
	const do = "set TMPDIR to a folder that can be written"
	dir, err := os.MkdirTemp("", "assay-doctor-")
	if err != nil {
		return missingFinding(err, do)
	}
	err = os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600)
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return missingFinding(err, do)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(os.TempDir(), &disk); err != nil {
		return missingFinding(fmt.Errorf("statfs %s: %w", os.TempDir(), err), do)
	}
	free := disk.Bavail * uint64(max(disk.Bsize, 0))
	text := fmt.Sprintf("%s, %.1f GiB free", os.TempDir(), float64(free)/(1<<30))
	if free < minFreeBytes {
		return noteFinding("%s: little for many sandboxes", text)
	}
	return okFinding("%s", text)
}

// checkRunsFolder checks that run folders can be created in their default place.
func checkRunsFolder(context.Context) Finding {
	dir := "runs"
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		dir = "." // where it would be created
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return missingFinding(fmt.Errorf("%s is not writable: %w", dir, err), "name a folder with --out")
	}
	if dir == "." {
		return okFinding("runs can be created here")
	}
	return okFinding("runs is writable")
}

// checkCgroup starts a child in a cgroup, because some containers let a program create a
// cgroup but put no process into it.
func (cfg Config) checkCgroup(ctx context.Context) Finding {
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: cfg.CleanupHelper})
	if err != nil {
		return missingFinding(err, "see the other lines")
	}
	defer sup.Close()
	child, err := sup.Start(subprocess.Spec{Name: "probe", Argv: cfg.ChildCommand, Dir: sup.TempDir()})
	if err == nil {
		err = child.Stop(ctx)
	}
	switch {
	case err != nil:
		return missingFinding(err, "see the other lines")
	case child.Enforced()[subprocess.EnforcesCgroupKill]:
		return okFinding("everything that a cell starts ends with its kernel")
	default:
		return noteFinding("cgroup v2 is not usable here: a process that leaves its process group outlives its session, unless its sandbox has a PID namespace")
	}
}

// checkSandbox tries the parts of a sandbox, and reports which promises of the sandbox
// would not be kept.
func (cfg Config) checkSandbox(ctx context.Context) Finding {
	machine := sandbox.ProbeMachine(ctx, cfg.LauncherCommand)
	missing := sandbox.DescribeUnenforced(machine.Enforceable(sandbox.Rules{Network: sandbox.NetworkLoopback, MaxProcesses: 1, MaxMemoryBytes: 1}))
	parts := []string{fmt.Sprintf("Landlock %d", machine.LandlockVersion)}
	for name, have := range map[string]bool{
		"seccomp": machine.Seccomp, "mount and network namespaces": machine.MountNamespaces && machine.NetworkNamespaces, "a pids cgroup": machine.PidsCgroups, "a memory cgroup": machine.MemoryCgroups,
	} {
		if have {
			parts = append(parts, name)
		}
	}
	slices.Sort(parts)
	if len(missing) > 0 {
		return noteFinding("%s; %s", strings.Join(parts, ", "), strings.Join(missing, "; "))
	}
	return okFinding("%s", strings.Join(parts, ", "))
}

// checkOpenFiles reports this process's limit of open files.
func checkOpenFiles(context.Context) Finding {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return noteFinding("the limit cannot be read: %v", err)
	}
	if limit.Cur < minOpenFiles {
		return noteFinding("%d at most: few for many attempts at once; ulimit -n raises it", limit.Cur)
	}
	return okFinding("%d at most", limit.Cur)
}

// checkPort checks that assay serve could listen at its default address.
func checkPort(ctx context.Context) Finding {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "localhost:8765")
	if err != nil {
		return noteFinding("%v: assay serve is running already, or needs another --addr", err)
	}
	_ = ln.Close()
	return okFinding("free")
}

// newAPIKeyCheck returns a check of whether an API key is set. It never reports its value.
func (cfg Config) newAPIKeyCheck(name string) func(context.Context) Finding {
	return func(context.Context) Finding {
		if environValue(cfg.Environ, name) == "" {
			return noteFinding("not set: only models of this provider need it")
		}
		return okFinding("set")
	}
}

// newProgramCheck returns a check for the first program of names that is on PATH. do says
// how to get one if none is.
func newProgramCheck(do string, names ...string) func(context.Context) Finding {
	return func(ctx context.Context) Finding {
		for _, name := range names {
			if path, err := exec.LookPath(name); err == nil {
				return checkVersion(ctx, path, do)
			}
		}
		return missingFinding(errors.New("not on PATH"), do)
	}
}

// checkVersion reports the first line of what the program at path prints for --version.
func checkVersion(ctx context.Context, path, do string) Finding {
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return missingFinding(fmt.Errorf("%s --version: %w", path, err), do)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return okFinding("%s at %s", printableLine(first), path)
}
