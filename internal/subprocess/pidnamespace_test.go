package subprocess_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// lockEnvVar is the environment variable with the path of the file that the role "evades" locks.
const lockEnvVar = "ASSAY_SUBPROCESS_TEST_LOCK"

// evade is a Python program that locks a file and leaves a process that forks, ends and leaves its session all the
// time, so that no list of processes has the running one for long. The lock is held until all of them have ended.
const evade = `
import fcntl, os, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
if os.fork() == 0:
    while True:
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(0.001)
`

// specInPIDNamespace returns specForRole in a sandbox that is nothing but a PID namespace, and the path of a file for
// the role "evades".
func specInPIDNamespace(t *testing.T, role string) (spec subprocess.Spec, lock string) {
	t.Helper()
	plan := planWithPIDNamespace()
	cmd := exec.CommandContext(t.Context(), "")
	cmd.Args = nil
	probe, err := plan.Start(cmd, []string{os.Args[0], launcherArg})
	require.NoError(t, err)
	if err := cmd.Wait(); err != nil {
		t.Skip("no PID namespace can be made here")
	}
	require.NoError(t, probe.Remove())
	lock = filepath.Join(t.TempDir(), "lock")
	spec = specForRole(role)
	spec.Env = append(spec.Env, lockEnvVar+"="+lock)
	spec.Sandbox = plan
	return spec, lock
}

func planWithPIDNamespace() *sandbox.Plan {
	return &sandbox.Plan{Namespaces: unix.CLONE_NEWNS | unix.CLONE_NEWUSER, PIDNamespace: true}
}

// isLocked reports whether a process holds the lock of a file.
func isLocked(t *testing.T, path string) bool {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

// In a PID namespace, a process that changes its id and its session all the time ends with the others.
func TestStopKillsPIDNamespace(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stopped", "died", "killed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			spec, lock := specInPIDNamespace(t, "evades")
			p := startProcess(t, newSupervisorWithoutCgroups(t), spec)
			require.Equal(t, map[string]bool{"process_group": true, "cgroup_kill": false, "namespace_kill": true}, p.Enforced())
			_, err := p.AwaitReady(t.Context(), testWaitTimeout)
			require.NoError(t, err)
			require.True(t, isLocked(t, lock))
			switch how {
			case "died":
				require.NoError(t, p.Write([]byte(`"die"`)))
				<-p.Exited()
				require.Equal(t, 3, p.ExitState().Code)
			case "killed":
				p.Kill()
			}
			require.NoError(t, p.Stop(t.Context()))
			require.False(t, isLocked(t, lock))
			require.Error(t, syscall.Kill(p.PID(), 0), "it is reaped")
		})
	}
}

// It also ends when the server is killed, without the help of the cleanup helper.
func TestPIDNamespaceEndsWithServer(t *testing.T) {
	t.Parallel()
	_, lock := specInPIDNamespace(t, "evades")
	server := exec.CommandContext(t.Context(), os.Args[0])
	server.Env = append(os.Environ(), roleEnvVar+"=server with a PID namespace", lockEnvVar+"="+lock, "TMPDIR="+t.TempDir())
	server.Stderr = t.Output()
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	require.True(t, isLocked(t, lock))
	require.NoError(t, server.Process.Kill())
	require.Error(t, server.Wait())
	require.Eventually(t, func() bool { return !isLocked(t, lock) }, testWaitTimeout, time.Millisecond)
}

// playServerWithPIDNamespace is a server that starts the role "evades" in a PID namespace and waits to be killed.
func playServerWithPIDNamespace() int {
	if _, _, status := startEvading(); status != 0 {
		return status
	}
	fmt.Println("ready")
	select {}
}

// startEvading starts the role "evades" in a PID namespace, for a server with a cleanup helper that does nothing, and
// waits until it is ready. A status that is not 0 says which step has failed.
func startEvading() (sup *subprocess.Supervisor, p *subprocess.Process, status int) {
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{"cat"}, Launcher: []string{os.Args[0], launcherArg}})
	if err != nil {
		return nil, nil, 105
	}
	_ = os.WriteFile(filepath.Join(sup.CgroupDir(), "cgroup.max.descendants"), []byte("0"), 0) // as in newSupervisorWithoutCgroups
	spec := specForRole("evades")
	spec.Env = append(spec.Env, lockEnvVar+"="+os.Getenv(lockEnvVar))
	spec.Sandbox = planWithPIDNamespace()
	if p, err = sup.Start(spec); err != nil {
		return nil, nil, 106
	}
	if body, err := p.Read(); err != nil || string(body) != `{"type":"ready"}` {
		return nil, nil, 107
	}
	return sup, p, 0
}

// All processes of a PID namespace stand still at once, and go on.
func TestFreezeStopsPIDNamespace(t *testing.T) {
	t.Parallel()
	spec, lock := specInPIDNamespace(t, "evades")
	p := startProcess(t, newSupervisorWithoutCgroups(t), spec)
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	states := func() (evading string) {
		paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range paths {
			text, _ := os.ReadFile(path)
			if strings.HasSuffix(string(text), "\x00"+lock+"\x00") {
				var pid int
				_, _ = fmt.Sscanf(path, "/proc/%d/", &pid)
				evading += processState(pid)
			}
		}
		return evading
	}
	for range 2 {
		thaw := p.Freeze()
		isFrozen := func() bool { return processState(p.PID()) == "T" && strings.Trim(states(), "T") == "" }
		require.Eventually(t, isFrozen, testWaitTimeout, time.Millisecond)
		require.NotEmpty(t, states(), "one, or two if one has just started another")
		require.True(t, isFrozen())
		thaw()
		require.Eventually(t, func() bool { return processState(p.PID()) != "T" }, testWaitTimeout, time.Millisecond)
		require.NoError(t, p.Write([]byte(`"env"`)))
		_, err = p.Read()
		require.NoError(t, err)
	}
	p.Freeze()
	require.NoError(t, p.Stop(t.Context()), "it can be stopped")
	require.False(t, isLocked(t, lock))
}

// If the first process of a PID namespace is slow, signals stop the others. It may then obey late: a thaw still lets
// them continue, and the next freeze does not take a late answer for its own.
func TestFreezeWithSlowPIDNamespace(t *testing.T) {
	t.Parallel()
	spec, _ := specInPIDNamespace(t, "echo")
	p := startProcess(t, newSupervisorWithoutCgroups(t), spec)
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	first := firstProcessOf(t, p.PID())
	require.NoError(t, syscall.Kill(first, syscall.SIGSTOP))
	requireState := func(pid int, states string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(states, processState(pid)) }, testWaitTimeout, time.Millisecond)
	}
	requireState(first, "T")
	thaw := p.Freeze()
	requireState(p.PID(), "T")
	thaw()
	requireState(p.PID(), "SR")
	require.NoError(t, syscall.Kill(first, syscall.SIGCONT))
	requireState(first, "S") // it has obeyed, and waits for the next command
	for range 3 {
		requireState(p.PID(), "SR")
		require.NoError(t, p.Write([]byte(`"hello"`)))
		_, err = p.Read()
		require.NoError(t, err)
		thaw = p.Freeze()
		requireState(p.PID(), "T")
		thaw()
	}
}

// firstProcessOf returns the id of the first process of the PID namespace that a process is in.
func firstProcessOf(t *testing.T, pid int) int {
	t.Helper()
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	require.NoError(t, err)
	paths, err := filepath.Glob("/proc/[0-9]*/status")
	require.NoError(t, err)
	for _, path := range paths {
		text, _ := os.ReadFile(path) // fails if it has ended
		if link, _ := os.Readlink(filepath.Join(filepath.Dir(path), "ns", "pid")); link == space && strings.Contains(string(text), "\t1\nNSpgid:") {
			first, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			return first
		}
	}
	require.Fail(t, "the namespace has no first process")
	return 0
}

// Without a pidfd, as when file descriptors run out, a PID namespace can be killed, too, and leaves no process.
func TestPIDNamespaceWithoutPidfd(t *testing.T) {
	t.Parallel()
	_, lock := specInPIDNamespace(t, "evades")
	server := exec.CommandContext(t.Context(), os.Args[0])
	server.Env = append(os.Environ(), roleEnvVar+"=server with a PID namespace, without pidfd", lockEnvVar+"="+lock, "TMPDIR="+t.TempDir())
	out, err := server.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "killed <nil>\nstopped\nno child processes\n", string(out))
}

// playNamespaceWithoutPidfd is a server in which pidfd_open fails. It kills the role "evades" in a PID namespace, stops
// it, waits for any child that is left, and prints each step on stdout.
func playNamespaceWithoutPidfd() int {
	if err := makePidfdOpenFail(); err != nil {
		fmt.Println(err)
		return 1
	}
	sup, p, status := startEvading()
	if status != 0 {
		return status
	}
	p.Kill()
	file, err := os.Open(os.Getenv(lockEnvVar))
	if err != nil {
		return 108
	}
	unlocked := make(chan error, 1)
	go func() { unlocked <- unix.Flock(int(file.Fd()), unix.LOCK_EX) }()
	select {
	case err := <-unlocked:
		fmt.Println("killed", err)
	case <-time.After(testWaitTimeout):
	}
	if err := errors.Join(p.Stop(context.Background()), sup.Close()); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("stopped")
	_, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
	fmt.Println(err)
	return 0
}

// The end of a program in a PID namespace, and its signals, are as without one.
func TestExitInPIDNamespace(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{
		"early exit": "exited with status 7", "killed": "was killed by SIGKILL", "echo": "was killed by SIGTERM",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			spec, _ := specInPIDNamespace(t, role)
			p := startProcess(t, newSupervisorWithoutCgroups(t), spec)
			if role == "echo" {
				_, err := p.AwaitReady(t.Context(), testWaitTimeout)
				require.NoError(t, err)
				require.NoError(t, p.Signal(syscall.SIGTERM))
			}
			<-p.Exited()
			require.Equal(t, want, p.ExitState().String())
			require.NoError(t, p.Stop(t.Context()))
		})
	}
	noProgram := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(noProgram, []byte("\x7fELF"), 0o700))
	for path, want := range map[string]string{noProgram: "Linux refuses it", noProgram + "y": "no such file"} {
		spec, _ := specInPIDNamespace(t, "echo")
		spec.Argv = []string{path}
		p := startProcess(t, newSupervisorWithoutCgroups(t), spec)
		_, err := p.AwaitReady(t.Context(), testWaitTimeout)
		require.ErrorContains(t, err, "exited with status 126")
		require.ErrorContains(t, err, want)
		require.NoError(t, p.Stop(t.Context()))
	}
}
