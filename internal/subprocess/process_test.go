package subprocess_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// testWaitTimeout is the longest time that a test waits for something that takes
// milliseconds unless it is broken.
const testWaitTimeout = 20 * time.Second

// newSupervisor returns a supervisor that is closed when the test ends.
func newSupervisor(t *testing.T) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, sup.Close())
		require.NoDirExists(t, sup.TempDir())
	})
	return sup
}

// specForRole returns a Spec that runs the test binary in this role of playRole.
func specForRole(role string) subprocess.Spec {
	return subprocess.Spec{Name: "agent", Argv: []string{os.Args[0]}, Env: append(os.Environ(), roleEnvVar+"="+role)}
}

// startProcess starts a subprocess. When the test ends, it stops the subprocess and
// requires that no process of its group is left.
func startProcess(t *testing.T, sup *subprocess.Supervisor, spec subprocess.Spec) *subprocess.Process {
	t.Helper()
	p, err := sup.Start(spec)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, p.Stop(context.Background()))
		requireGroupGone(t, p.PID())
	})
	return p
}

// requireGroupGone waits until no process of the process group runs, and fails the test
// after testWaitTimeout. A zombie that init has not reaped yet does not count.
func requireGroupGone(t *testing.T, group int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) || processState(group) == "Z"
	}, testWaitTimeout, time.Millisecond, "process group %d", group)
}

// processState returns the state letter of a process in /proc, such as "Z" for a
// zombie, or "" if there is no such process.
func processState(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return after[:1]
}

// When memory runs out, Linux kills a subprocess rather than the server.
func TestProcessIsPreferredByTheOOMKiller(t *testing.T) {
	t.Parallel()
	for _, runsUntrustedCode := range []bool{false, true} {
		spec := specForRole("echo")
		spec.RunsUntrustedCode = runsUntrustedCode
		p := startProcess(t, newSupervisor(t), spec)
		_, err := p.AwaitReady(t.Context(), testWaitTimeout)
		require.NoError(t, err)
		text, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/oom_score_adj")
		require.NoError(t, err)
		require.Equal(t, map[bool]string{false: "500", true: "850"}[runsUntrustedCode], strings.TrimSpace(string(text)))
	}
}

// Code in one subprocess cannot move processes into the process group of another, which is in another
// session.
func TestProcessLeadsSession(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisor(t), specForRole("echo"))
	session, err := unix.Getsid(p.PID())
	require.NoError(t, err)
	require.Equal(t, p.PID(), session)
}

func TestProcessAnswersMessages(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	p := startProcess(t, sup, specForRole("echo"))
	body, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"ready"}`, string(body))
	require.NoError(t, p.Write([]byte(`{"n":1}`)))
	body, err = p.Read()
	require.NoError(t, err)
	require.JSONEq(t, `{"n":1}`, string(body))
}

func TestStartFailsForMissingProgram(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	_, err := sup.Start(subprocess.Spec{Name: "agent", Argv: []string{"/no/such/program"}})
	require.ErrorContains(t, err, "start agent:")
	require.ErrorContains(t, err, "/no/such/program: no such file or directory")
	_, err = sup.Start(subprocess.Spec{Name: "agent", Argv: []string{"assay-no-such-program"}})
	require.ErrorContains(t, err, "executable file not found in $PATH")
}

func TestAwaitReadyErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timeout time.Duration
		want    []string
	}{
		"early exit":          {testWaitTimeout, []string{"agent exited with status 7", "no such module: frobnicate", "some\nlines"}},
		"says nothing":        {time.Second, []string{"agent did not say ready within 1s", "thinking about it"}},
		"writes garbage":      {testWaitTimeout, []string{"agent: channel broken on read", "over the limit"}},
		"other message first": {testWaitTimeout, []string{`agent said "agent_status" before ready`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, newSupervisor(t), specForRole(name))
			_, err := p.AwaitReady(t.Context(), tc.timeout)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestAwaitReadyEndsWithContext(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisor(t), specForRole("says nothing"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the run was interrupted"))
	_, err := p.AwaitReady(ctx, testWaitTimeout)
	require.ErrorContains(t, err, "the run was interrupted")
}

func TestReadReturnsExitError(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		role, say string
		want      subprocess.ExitState
		text      string
	}{
		"by a signal": {"killed", "", subprocess.ExitState{Code: -1, Signal: "SIGKILL", LastOutput: "last words"}, "agent was killed by SIGKILL; it printed last: last words"},
		"by exiting":  {"echo", `"die"`, subprocess.ExitState{Code: 3, LastOutput: "dying\n"}, "agent exited with status 3; it printed last: dying"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, newSupervisor(t), specForRole(tc.role))
			_, err := p.AwaitReady(t.Context(), testWaitTimeout)
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
			require.Equal(t, tc.want, p.ExitState())
		})
	}
}

// The error of a program that an exception has ended begins with the exception's own line.
func TestExitErrorNamesTheException(t *testing.T) {
	t.Parallel()
	const traceback = "Traceback (most recent call last):\n  File \"a.py\", line 3, in work\n    int('x')\n    ^^^^^^^^\n"
	for name, tc := range map[string]struct{ output, want string }{
		"Python":              {"starting\n" + traceback + "ValueError: invalid literal\nbye\n", ": ValueError: invalid literal; it printed last: starting"},
		"Python, chained":     {traceback + "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n" + traceback + "RuntimeError: late\n", ": RuntimeError: late; it"},
		"Python, of a module": {traceback + "my.errors.Refused: no\n  with a second line\n", ": my.errors.Refused: no; it"},
		"Python, syntax":      {"  File \"a.py\", line 1\n    def\n       ^\nSyntaxError: invalid syntax\n", ": SyntaxError: invalid syntax; it"},
		"Python, cut":         {"    int('x')\nValueError: whose traceback is cut\n", "; it printed last: int('x')"},
		"JavaScript":          {"file:///a.mjs:3\n    throw new TypeError('no')\n\nTypeError: no\n    at work (file:///a.mjs:3:9)\n    at main\n\nNode.js v20\n", ": TypeError: no; it"},
		"Go":                  {"panic: runtime error: index out of range\n\ngoroutine 1 [running]:\n", ": panic: runtime error: index out of range; it"},
		"no exception":        {"out of luck\n", "; it printed last: out of luck"},
		"Assay's error":       {"09:00:00.000 WARN odd\nassay: no such model\n", ": no such model"},
		"Assay's, with lines": {traceback + "ValueError: no\nassay: python3 exited with status 1; it printed last:\n" + traceback + "ValueError: no\n", ": ValueError: no; python3 exited with status 1; it printed last:\nTraceback"},
		"silent":              {"", ""},
	} {
		err := &subprocess.ExitError{Name: "agent", Exit: subprocess.ExitState{Code: 1, LastOutput: tc.output}}
		require.True(t, strings.HasPrefix(err.Error(), "agent exited with status 1"+tc.want), "%s: %v", name, err)
		killed := &subprocess.ExitError{Name: "agent", Exit: subprocess.ExitState{Code: -1, Signal: "SIGKILL", LastOutput: tc.output}}
		require.False(t, strings.HasPrefix(killed.Error(), "agent was killed by SIGKILL:"), "%s: what it printed before is not the cause", name)
	}
}

// A frame that is cut by a wrong length is named when no ready message has come in time.
func TestAwaitReadyNamesACutFrame(t *testing.T) {
	t.Parallel()
	sent := make(chan struct{})
	spec := specForRole("wrong length")
	spec.Output = func(string, []byte) { close(sent) }
	p := startProcess(t, newSupervisor(t), spec)
	<-sent
	_, err := p.AwaitReady(t.Context(), 50*time.Millisecond)
	require.ErrorContains(t, err, "agent did not say ready within 50ms: it has sent 16 of 24 bytes of a frame: connection closed (all of its JSON has come")
}

// What Spec.WrapSocket returns carries all frames.
func TestWrapSocket(t *testing.T) {
	t.Parallel()
	var wire countingSocket
	spec := specForRole("echo")
	spec.WrapSocket = func(socket io.ReadWriteCloser) io.ReadWriteCloser {
		wire.ReadWriteCloser = socket
		return &wire
	}
	p := startProcess(t, newSupervisor(t), spec)
	ready, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	require.NoError(t, p.Write([]byte(`{"n":1}`)))
	_, err = p.Read()
	require.NoError(t, err)
	require.Equal(t, [2]int{2*8 + len(ready) + len(`{"n":1}`), 8 + len(`{"n":1}`)}, [2]int{wire.read, wire.written})
}

// countingSocket counts the bytes that are read from and written to a socket.
type countingSocket struct {
	io.ReadWriteCloser
	read, written int
}

func (s *countingSocket) Read(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(p)
	s.read += n
	return n, err
}

func (s *countingSocket) Write(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Write(p)
	s.written += n
	return n, err
}

// Writing to a process that has ended returns an ExitError, as Read does.
func TestWriteReturnsExitError(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisor(t), specForRole("ignores SIGTERM"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(p.PID(), syscall.SIGKILL))
	for err == nil { // until the socket is closed
		err = p.Write([]byte(`{"type":"ping"}`))
	}
	var died *subprocess.ExitError
	require.ErrorAs(t, err, &died)
	require.Equal(t, "SIGKILL", died.Exit.Signal)
}

func TestStopKillsWhatIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisor(t), specForRole("ignores SIGTERM"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	require.NoError(t, p.Stop(t.Context()))
	require.Equal(t, "SIGKILL", p.ExitState().Signal)
	require.NoError(t, p.Stop(t.Context()), "again")
}

func TestStopWithEndedContextGivesNoGrace(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisor(t), specForRole("ignores SIGTERM"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	require.NoError(t, p.Stop(ctx))
	require.Less(t, time.Since(began), subprocess.StopGrace, "no grace is given")
}

func TestStopKillsGroupAndCgroup(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stopped", "died"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			sup := newSupervisor(t)
			p := startProcess(t, sup, specForRole("leaves processes"))
			_, err := p.AwaitReady(t.Context(), testWaitTimeout)
			require.NoError(t, err)
			p.DrainOutput()
			inside, outside := parseTwoNumbers(t, p.LastOutput())
			if how == "died" {
				require.NoError(t, p.Write([]byte(`"die"`)))
				<-p.Exited()
			}
			require.NoError(t, p.Stop(t.Context()))
			requireProcessEnded(t, inside)
			if sup.Enforceable()["cgroup_kill"] {
				requireProcessEnded(t, outside)
			} else {
				require.NoError(t, syscall.Kill(outside, syscall.SIGKILL), "no cgroup here: the test cleans up")
			}
		})
	}
}

// requireProcessEnded waits until the process has ended, and fails the test after
// testWaitTimeout.
func requireProcessEnded(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Trim(processState(pid), "ZX") == "" }, testWaitTimeout, time.Millisecond, "process %d", pid)
}

// parseTwoNumbers parses the first two words of text as integers. A malformed text
// fails the test.
func parseTwoNumbers(t *testing.T, text string) (a, b int) {
	t.Helper()
	fields := strings.Fields(text)
	require.GreaterOrEqual(t, len(fields), 2, "%q", text)
	a, err := strconv.Atoi(fields[0])
	require.NoError(t, err)
	b, err = strconv.Atoi(fields[1])
	require.NoError(t, err)
	return a, b
}

func TestProcessExitsWhenItsSocketCloses(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisor(t), specForRole("echo"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	require.NoError(t, p.Close(protocol.CloseNormal, ""))
	<-p.Exited()
	require.Equal(t, subprocess.ExitState{Code: 0}, p.ExitState(), "no other process holds the server's end")
}

// Ten goroutines start and stop fifty subprocesses each. Every stop returns within 5 s,
// and no process and no descriptor is left.
func TestStartStopStress(t *testing.T) { //nolint:paralleltest // counts the process's file descriptors
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	sup := newSupervisor(t)
	before := countOpenFDs(t)
	var all sync.WaitGroup
	for g := range 10 {
		all.Go(func() {
			for i := range rounds {
				startAndStop(t, sup, (g+i)%3)
			}
		})
	}
	all.Wait()
	require.Equal(t, before, countOpenFDs(t))
}

// startAndStop runs readyScript as a subprocess and stops it: before it is ready (when
// is 0), once it is ready (1), or after it has exited (2).
func startAndStop(t *testing.T, sup *subprocess.Supervisor, when int) {
	t.Helper()
	p, err := sup.Start(subprocess.Spec{Name: "agent", Argv: []string{"sh", "-c", readyScript, "agent"}, Env: os.Environ()})
	if err != nil {
		t.Errorf("start: %v", err)
		return
	}
	if when > 0 {
		if _, err := p.AwaitReady(t.Context(), testWaitTimeout); err != nil {
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
	if s := processState(p.PID()); s != "" && s != "Z" {
		t.Errorf("process %d is still there: %s", p.PID(), s)
	}
}

// readyScript is a shell script that sends a ready message on descriptor 3 and exits when
// it has read a byte there. It starts in a millisecond; the test binary with its race
// detector takes much longer.
const readyScript = `printf '\020\0\0\0\0\0\0\0{"type":"ready"}' >&3; exec head -c1 <&3 >/dev/null`

// countOpenFDs returns how many file descriptors this process has open.
func countOpenFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}
