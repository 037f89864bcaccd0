package main

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
	// fewFiles is a limit of open files that a run with many attempts at once
	// can reach.
	fewFiles = 1024

	// littleSpace is in bytes: sandboxes and traces may need more.
	littleSpace = 1 << 30
)

// probes is everything that assay doctor looks for.
func (p *process) probes(python string) []probe {
	return []probe{
		{"python", true, func(ctx context.Context) finding { return p.lookForPython(ctx, python) }},
		{"temporary folder", true, lookAtTemp},
		{"runs folder", false, lookAtRuns},
		{"cgroup.kill", false, p.lookForCgroup},
		{"sandbox", false, p.lookForFence},
		{"open files", false, lookAtFiles},
		{"port 8765", false, lookAtPort},
		{"ANTHROPIC_API_KEY", false, p.lookForKey("ANTHROPIC_API_KEY")},
		{"OPENAI_API_KEY", false, p.lookForKey("OPENAI_API_KEY")},
		{"emacs", false, lookForProgram("install emacs-nox: notebooks in Emacs Lisp need it", "emacs")},
		{"chromium", false, lookForProgram("install chromium: tests of the browser's page need it", "chromium", "chromium-browser", "google-chrome")},
		{"gcc", false, lookForProgram("install gcc and libc6-dev: tests with the race detector need them", "gcc")},
	}
}

// lookAtTemp writes into the folder in which sandboxes are made.
func lookAtTemp(context.Context) finding {
	const do = "set TMPDIR to a folder that can be written"
	dir, err := os.MkdirTemp("", "assay-doctor-")
	if err != nil {
		return isMissing(err, do)
	}
	err = os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600)
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return isMissing(err, do)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(os.TempDir(), &disk); err != nil {
		return isMissing(fmt.Errorf("statfs %s: %w", os.TempDir(), err), do)
	}
	free := disk.Bavail * uint64(max(disk.Bsize, 0))
	text := fmt.Sprintf("%s, %.1f GiB free", os.TempDir(), float64(free)/(1<<30))
	if free < littleSpace {
		return isNote("%s: little for many sandboxes", text)
	}
	return isOK("%s", text)
}

// lookAtRuns asks whether run folders can be made where they are by default.
func lookAtRuns(context.Context) finding {
	dir := "runs"
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		dir = "." // in which it would be made
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return isMissing(fmt.Errorf("%s cannot be written: %w", dir, err), "name a folder with --out")
	}
	if dir == "." {
		return isOK("runs can be made here")
	}
	return isOK("runs can be written")
}

// lookForCgroup starts a child, because some containers let a cgroup be made and
// no process into it.
func (p *process) lookForCgroup(ctx context.Context) finding {
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{p.self, "reap"}})
	if err != nil {
		return isMissing(err, "see the other lines")
	}
	defer sup.Close()
	tried, err := sup.Start(subprocess.Spec{Name: "probe", Argv: []string{p.self, "version"}, Dir: sup.TempDir()})
	if err == nil {
		err = tried.Stop(ctx)
	}
	switch {
	case err != nil:
		return isMissing(err, "see the other lines")
	case tried.Enforced()[subprocess.EnforcesCgroupKill]:
		return isOK("everything that a cell starts ends with its kernel")
	default:
		return isNote("cgroup v2 cannot be used here: a process that leaves its group outlives its session")
	}
}

// lookForFence tries what a fence is made of, and says what it would not hold.
func (p *process) lookForFence(ctx context.Context) finding {
	machine := sandbox.ProbeMachine(ctx, []string{p.self, "fence"})
	missing := sandbox.DescribeUnenforced(machine.Enforceable(sandbox.Rules{Network: sandbox.NetworkLoopback, MaxProcesses: 1}))
	parts := []string{fmt.Sprintf("Landlock %d", machine.LandlockVersion)}
	for name, have := range map[string]bool{
		"seccomp": machine.Seccomp, "mounts and networks of its own": machine.MountNamespaces && machine.NetworkNamespaces, "a pids cgroup": machine.PidsCgroups,
	} {
		if have {
			parts = append(parts, name)
		}
	}
	slices.Sort(parts)
	if len(missing) > 0 {
		return isNote("%s; %s", strings.Join(parts, ", "), strings.Join(missing, "; "))
	}
	return isOK("%s", strings.Join(parts, ", "))
}

func lookAtFiles(context.Context) finding {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return isNote("their limit cannot be read: %v", err)
	}
	if limit.Cur < fewFiles {
		return isNote("%d at most: few for many attempts at once; ulimit -n raises it", limit.Cur)
	}
	return isOK("%d at most", limit.Cur)
}

// lookAtPort asks whether assay serve could listen where it does by default.
func lookAtPort(ctx context.Context) finding {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "localhost:8765")
	if err != nil {
		return isNote("%v: assay serve is there already, or needs another --addr", err)
	}
	_ = ln.Close()
	return isOK("free")
}

// lookForKey returns a look at whether a key is set, never at what it is.
func (p *process) lookForKey(name string) func(context.Context) finding {
	return func(context.Context) finding {
		if value, _ := p.getenv(name); value == "" {
			return isNote("not set: only models behind it need it")
		}
		return isOK("set")
	}
}

// lookForProgram returns a look for the first of some programs that is there. do
// is what to do when none is.
func lookForProgram(do string, names ...string) func(context.Context) finding {
	return func(ctx context.Context) finding {
		for _, name := range names {
			if path, err := lookPath(name); err == nil {
				return versionOf(ctx, path, do)
			}
		}
		return isMissing(errors.New("not on PATH"), do)
	}
}

// versionOf lets a program say its version.
func versionOf(ctx context.Context, path, do string) finding {
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return isMissing(fmt.Errorf("%s --version: %w", path, err), do)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return isOK("%s at %s", oneLine(printable(first)), path)
}
