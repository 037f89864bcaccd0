package subprocess_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/subprocess"
)

// generous bounds waits that end at once unless something is broken.
const generous = 20 * time.Second

func supervisor(t *testing.T) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], "reap"}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, sup.Close())
		require.NoDirExists(t, sup.TempDir())
	})
	return sup
}

func spec(name string) subprocess.Spec {
	return subprocess.Spec{Name: "agent", Argv: []string{os.Args[0]}, Env: append(os.Environ(), role+"="+name)}
}

func start(t *testing.T, sup *subprocess.Supervisor, spec subprocess.Spec) *subprocess.Process {
	t.Helper()
	p, err := sup.Start(spec)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, p.Stop(context.Background()))
		requireGone(t, p.PID())
	})
	return p
}

// requireGone waits until no process of the group runs; one that is dead and
// not yet reaped by init does not count.
func requireGone(t *testing.T, group int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) || state(group) == "Z"
	}, generous, time.Millisecond, "process group %d", group)
}

// state is a process's one letter in /proc, empty when there is no process.
func state(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return after[:1]
}

func TestChildSpeaks(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	p := start(t, sup, spec("echo"))
	body, err := p.AwaitReady(t.Context(), generous)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"ready"}`, string(body))
	require.NoError(t, p.Write([]byte(`{"n":1}`)))
	body, err = p.Read()
	require.NoError(t, err)
	require.JSONEq(t, `{"n":1}`, string(body))
}

func TestChildThatCannotStart(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	_, err := sup.Start(subprocess.Spec{Name: "agent", Argv: []string{"/no/such/program"}})
	require.ErrorContains(t, err, "start agent:")
	require.ErrorContains(t, err, "/no/such/program: no such file or directory")
	_, err = sup.Start(subprocess.Spec{Name: "agent", Argv: []string{"assay-no-such-program"}})
	require.ErrorContains(t, err, "executable file not found in $PATH")
}

func TestAwaitReadyFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		within time.Duration
		want   []string
	}{
		"early exit":  {generous, []string{"agent exited with status 7", "no such module: frobnicate", "some\nlines"}},
		"mute":        {time.Second, []string{"agent did not say ready within 1s", "thinking about it"}},
		"garbage":     {generous, []string{"agent: channel broken on read", "over the limit"}},
		"query first": {generous, []string{`agent said "agent_status" before ready`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, supervisor(t), spec(name))
			_, err := p.AwaitReady(t.Context(), tc.within)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestAwaitReadyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := start(t, supervisor(t), spec("mute"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run was interrupted"))
	_, err := p.AwaitReady(ctx, generous)
	require.ErrorContains(t, err, "the run was interrupted")
}

func TestDeathIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		role, say string
		want      subprocess.Exit
		text      string
	}{
		"by a signal": {"killed", "", subprocess.Exit{Code: -1, Signal: "SIGKILL", LastOutput: "last words"}, "agent was killed by SIGKILL; it printed last: last words"},
		"by exiting":  {"echo", `"die"`, subprocess.Exit{Code: 3, LastOutput: "dying\n"}, "agent exited with status 3; it printed last: dying"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, supervisor(t), spec(tc.role))
			_, err := p.AwaitReady(t.Context(), generous)
			require.NoError(t, err)
			if tc.say != "" {
				require.NoError(t, p.Write([]byte(tc.say)))
			}
			_, err = p.Read()
			var died *subprocess.ExitError
			require.ErrorAs(t, err, &died)
			require.Equal(t, tc.want, died.Exit)
			require.EqualError(t, err, tc.text)
			<-p.Exited()
			require.Equal(t, tc.want, p.Exit())
		})
	}
}

// What the child has written before it answered is handed on before the answer
// is, as far as Drain is asked: nothing waits for the next tick.
func TestDrainHandsOnWhatWasWritten(t *testing.T) {
	t.Parallel()
	var printed strings.Builder
	s := spec("echo")
	s.Output = func(stream string, chunk []byte) { printed.WriteString(stream + ":" + string(chunk)) }
	p := start(t, supervisor(t), s)
	_, err := p.AwaitReady(t.Context(), generous)
	require.NoError(t, err)
	want := ""
	for range 50 { // quicker than one chunk per 10 ms
		require.NoError(t, p.Write([]byte(`"print"`)))
		_, err = p.Read()
		require.NoError(t, err)
		p.DrainOutput()
		want += "stdout:printed before the answer\n"
		require.Equal(t, want, printed.String())
	}
}

func TestOutputIsDrainedAndOnlyItsEndKept(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	s := spec("flood")
	s.Output = func(stream string, chunk []byte) {
		require.LessOrEqual(t, len(chunk), 64<<10)
		got[stream] += len(chunk)
	}
	p := start(t, supervisor(t), s)
	_, err := p.AwaitReady(t.Context(), generous)
	require.NoError(t, err, "16 MiB without a newline do not block it")
	p.DrainOutput()
	require.Equal(t, map[string]int{"stdout": 8 << 20, "stderr": 8 << 20}, got)
	require.Len(t, p.LastOutput(), 4<<10)
}

func TestStopIsFirmWithTheDeaf(t *testing.T) {
	t.Parallel()
	p := start(t, supervisor(t), spec("deaf"))
	_, err := p.AwaitReady(t.Context(), generous)
	require.NoError(t, err)
	require.NoError(t, p.Stop(t.Context()))
	require.Equal(t, "SIGKILL", p.Exit().Signal)
	require.NoError(t, p.Stop(t.Context()), "again")
}

func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, supervisor(t), spec("deaf"))
	_, err := p.AwaitReady(t.Context(), generous)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	require.NoError(t, p.Stop(ctx))
	require.Less(t, time.Since(began), subprocess.StopGrace, "no grace is given")
}

func TestStopLeavesNothingOfTheGroup(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stopped", "died"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			sup := supervisor(t)
			p := start(t, sup, spec("breeder"))
			_, err := p.AwaitReady(t.Context(), generous)
			require.NoError(t, err)
			p.DrainOutput()
			inside, outside := twoNumbers(t, p.LastOutput())
			if how == "died" {
				require.NoError(t, p.Write([]byte(`"die"`)))
				<-p.Exited()
			}
			require.NoError(t, p.Stop(t.Context()))
			requireDead(t, inside)
			if sup.Enforceable()["cgroup_kill"] {
				requireDead(t, outside)
			} else {
				require.NoError(t, syscall.Kill(outside, syscall.SIGKILL), "no cgroup here: the test cleans up")
			}
		})
	}
}

func requireDead(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Trim(state(pid), "ZX") == "" }, generous, time.Millisecond, "process %d", pid)
}

func twoNumbers(t *testing.T, text string) (a, b int) {
	t.Helper()
	fields := strings.Fields(text)
	require.GreaterOrEqual(t, len(fields), 2, "%q", text)
	a, err := strconv.Atoi(fields[0])
	require.NoError(t, err)
	b, err = strconv.Atoi(fields[1])
	require.NoError(t, err)
	return a, b
}

// A server that is killed with SIGKILL leaves nothing: no child, no grandchild,
// no folder, no cgroup.
func TestNothingSurvivesTheServer(t *testing.T) {
	t.Parallel()
	server := exec.CommandContext(t.Context(), os.Args[0])
	server.Env = append(os.Environ(), role+"=server")
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())

	var pids []int
	var dir, cgroups string
	for lines := bufio.NewScanner(out); dir == ""; {
		require.True(t, lines.Scan(), "the server says what it started")
		fields := strings.Fields(lines.Text())
		if fields[0] == "ready" {
			dir, cgroups = fields[1], fields[2]
			break
		}
		pid, err := strconv.Atoi(fields[0])
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	require.Len(t, pids, 3, "the child and its two")
	require.DirExists(t, dir)

	require.NoError(t, server.Process.Kill())
	_ = server.Wait()
	inside, outside, kernel := pids[0], pids[1], pids[2]
	requireDead(t, kernel)
	requireDead(t, inside)
	if cgroups == "true" {
		requireDead(t, outside)
	} else {
		require.NoError(t, syscall.Kill(outside, syscall.SIGKILL))
	}
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	}, generous, time.Millisecond)
}

func TestChildSeesTheEndOfItsSocket(t *testing.T) {
	t.Parallel()
	p := start(t, supervisor(t), spec("echo"))
	_, err := p.AwaitReady(t.Context(), generous)
	require.NoError(t, err)
	require.NoError(t, p.Close(protocol.CloseNormal, ""))
	<-p.Exited()
	require.Equal(t, subprocess.Exit{Code: 0}, p.Exit(), "nobody else holds its peer's end")
}

// Ten goroutines start and stop fifty children each; every stop ends within 5 s
// and leaves neither a process nor an fd.
func TestStartStopStress(t *testing.T) { //nolint:paralleltest // counts the process's file descriptors
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	sup := supervisor(t)
	before := openFDs(t)
	var all sync.WaitGroup
	for g := range 10 {
		all.Go(func() {
			for i := range rounds {
				round(t, sup, (g+i)%3)
			}
		})
	}
	all.Wait()
	require.Equal(t, before, openFDs(t))
}

// round starts an echo and stops it: before it is ready, when it is, or when it
// has died.
func round(t *testing.T, sup *subprocess.Supervisor, when int) {
	t.Helper()
	p, err := sup.Start(subprocess.Spec{Name: "agent", Argv: []string{"sh", "-c", shellEcho, "agent"}, Env: os.Environ()})
	if err != nil {
		t.Errorf("start: %v", err)
		return
	}
	if when > 0 {
		if _, err := p.AwaitReady(t.Context(), generous); err != nil {
			t.Errorf("ready: %v", err)
		}
	}
	if when > 1 {
		_ = p.Write([]byte("0")) // the shell reads a byte and exits
		<-p.Exited()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := p.Stop(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("stop: %v %v", err, ctx.Err())
	}
	if s := state(p.PID()); s != "" && s != "Z" {
		t.Errorf("process %d is still there: %s", p.PID(), s)
	}
}

// shellEcho says ready on fd 3, then waits for a byte: a child that starts in a
// millisecond, which the test binary with its race detector does not.
const shellEcho = `printf '\020\0\0\0\0\0\0\0{"type":"ready"}' >&3; exec head -c1 <&3 >/dev/null`

func openFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// Cgroups that do not go have one deadline together: the helper of a killed
// server must not outlive it by that of each.
func TestCgroupsThatStayHaveOneDeadline(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"1", "2", "3", "4"} { // a folder that is not empty stays, as a busy cgroup does
		require.NoError(t, os.MkdirAll(filepath.Join(root, name, "busy"), 0o700))
	}
	began := time.Now()
	require.ErrorContains(t, subprocess.RemoveCgroupTree(root), "remove a cgroup")
	require.Less(t, time.Since(began), 4*time.Second, "the five together, not two seconds each")
}

func TestReapRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"group 1\n", "group -5\n", "group x\n", "hello\n"} {
		require.ErrorContains(t, subprocess.RunCleanupHelper(strings.NewReader(in)), "bad line", in)
	}
	require.NoError(t, subprocess.RunCleanupHelper(io.LimitReader(nil, 0)))
}

// Whoever else holds a child's pipes does not hold up its end.
func TestPipesHeldByAnother(t *testing.T) {
	t.Parallel()
	p := start(t, supervisor(t), spec("echo"))
	_, err := p.AwaitReady(t.Context(), generous)
	require.NoError(t, err)
	held, err := os.OpenFile("/proc/"+strconv.Itoa(p.PID())+"/fd/1", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer held.Close()
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(context.Background()) }()
	select {
	case err := <-stopped:
		require.NoError(t, err)
	case <-time.After(generous):
		require.Fail(t, "it does not end")
	}
}
