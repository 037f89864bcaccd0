package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/kernel"
	"assay/router"
)

// Twenty sessions that run at once and end in different ways leave no file, process or file
// descriptor behind.
func TestStartStopStress(t *testing.T) { //nolint:paralleltest // counts the process's file descriptors
	sup := newSupervisor(t)
	pythonKernel := pythonKernelConfig(t, sup)
	before := countOpenFiles(t)
	ways := []func(ctx context.Context, sup *subprocess.Supervisor, s *harness, cfg session.Config) error{
		startAndEndReadySession, startAndEndWorkingSession, cancelWhilePreparingWorkdir, cancelWhileAwaitingAgent, failToStartAgent,
	}
	var all sync.WaitGroup
	for i := range 20 {
		s, cfg := newHarness(t, session.Config{})
		if i < len(ways) {
			cfg.Kernel = pythonKernel
		}
		all.Go(func() {
			if err := ways[i%len(ways)](t.Context(), sup, s, cfg); err != nil {
				t.Errorf("session %d: %v", i, err)
			}
			if left := findLeftovers(s.workdirRoot); left != nil {
				t.Errorf("session %d: left: %v", i, left)
			}
		})
	}
	all.Wait()
	require.Equal(t, before, countOpenFiles(t))
}

// startAndEndReadySession starts a session and ends it as soon as it is ready.
func startAndEndReadySession(ctx context.Context, sup *subprocess.Supervisor, _ *harness, cfg session.Config) error {
	live, err := session.Start(ctx, sup, cfg)
	if err != nil {
		return err
	}
	return live.End(ctx, "enough")
}

// startAndEndWorkingSession starts a session and ends it while a cell runs.
func startAndEndWorkingSession(ctx context.Context, sup *subprocess.Supervisor, s *harness, cfg session.Config) error {
	cfg.Agent.Command = childCommand("runs queries")
	live, err := session.Start(ctx, sup, cfg)
	if err != nil {
		return err
	}
	err = live.SendQuery(protocol.AgentQuery{Query: "while True: pass"})
	if err == nil {
		_, err = s.waitForMatchingEntry(ctx, entryMatcher(trace.ServerToKernel, protocol.TypeRunCell))
	}
	return errors.Join(err, live.End(ctx, "enough"))
}

// cancelWhilePreparingWorkdir cancels the start of a session while its working folder is being
// prepared.
func cancelWhilePreparingWorkdir(ctx context.Context, sup *subprocess.Supervisor, _ *harness, cfg session.Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	cfg.PrepareWorkdir = func(string) error { cancel(errCancelledByTest); return nil }
	_, err := session.Start(ctx, sup, cfg)
	return checkWraps(err, errCancelledByTest)
}

// cancelWhileAwaitingAgent cancels the start of a session after init was sent to the agent,
// which has not answered.
func cancelWhileAwaitingAgent(ctx context.Context, sup *subprocess.Supervisor, s *harness, cfg session.Config) error {
	cfg.Agent.Command = shellChildCommand(`{"type":"ready"}`)
	ctx, cancel := context.WithCancelCause(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		_, _ = s.waitForMatchingEntry(ctx, entryMatcher(trace.ServerToAgent, protocol.TypeInit))
		cancel(errCancelledByTest)
	})
	_, err := session.Start(ctx, sup, cfg)
	return checkWraps(err, errCancelledByTest)
}

// failToStartAgent starts a session whose agent exits at once, which must make the start fail.
func failToStartAgent(ctx context.Context, sup *subprocess.Supervisor, _ *harness, cfg session.Config) error {
	cfg.Agent.Command = []string{"false"}
	_, err := session.Start(ctx, sup, cfg)
	var failed *session.StartError
	if errors.As(err, &failed) && failed.Component == "agent" {
		return nil
	}
	return fmt.Errorf("want an error of the agent's, found %v", err)
}

// checkWraps returns an error unless err wraps the error want.
func checkWraps(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("want %q, found %w", want, err)
}

// errCancelledByTest is the cause with which tests cancel the contexts of sessions.
var errCancelledByTest = errors.New("enough")

// countOpenFiles returns how many file descriptors the test process has open.
func countOpenFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// The error of a failed start of a session names the component and the reason, and nothing of
// the session is left.
func TestStartErrorsNameComponentAndReason(t *testing.T) {
	t.Parallel()
	broken := errors.New("the data is not there")
	newline := shellChildCommand(`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`)
	newline[2] = strings.Replace(newline[2], "; printf", "; echo >&3; printf", 1)
	for name, tc := range map[string]struct {
		cfg  session.Config
		what string
		want []string
	}{
		"no such kernel":  {session.Config{Kernel: kernel.Config{Command: []string{"/no/such/kernel"}}}, "kernel", []string{"start kernel: ", "no such file"}},
		"no such agent":   {session.Config{Agent: agent.Config{Command: []string{"/no/such/agent"}}}, "agent", []string{"start agent: ", "no such file"}},
		"kernel exits":    {session.Config{Kernel: kernel.Config{Command: childCommand("early exit")}}, "kernel", []string{"kernel exited with status 7", "no such module: frobnicate"}},
		"agent exits":     {session.Config{Agent: agent.Config{Command: childCommand("early exit")}}, "agent", []string{"agent exited with status 7", "no such module: frobnicate"}},
		"silent kernel":   {session.Config{Kernel: kernel.Config{Command: shellChildCommand(), ReadyTimeout: time.Second}}, "kernel", []string{"kernel did not say ready within 1s"}},
		"silent agent":    {session.Config{Agent: agent.Config{Command: shellChildCommand(), ReadyTimeout: time.Second}}, "agent", []string{"agent did not say ready within 1s"}},
		"exits at init":   {session.Config{Agent: agent.Config{Command: childCommand("exit at init")}}, "agent", []string{"agent exited with status 8", "I do not like this session"}},
		"newline between": {session.Config{Agent: agent.Config{Command: newline, ReadyTimeout: time.Second}}, "agent", []string{"agent_status ready within 1s: it has sent 41 of 10250 bytes of a frame", "a newline seems to follow the frame before"}},
		"silent at init":  {session.Config{Agent: agent.Config{Command: shellChildCommand(`{"type":"ready"}`, `{"type":"agent_status","status":"thinking"}`), ReadyTimeout: time.Second}}, "agent", []string{"agent did not answer init with agent_status ready within 1s"}},
		"fails at init":   {session.Config{Agent: agent.Config{Command: shellChildCommand(`{"type":"ready"}`, `{"type":"agent_error","error":"no key","fatal":true}`), ReadyTimeout: time.Minute}}, "agent", []string{"the agent failed when it was initialized: no key"}},
		"prepare fails":   {session.Config{PrepareWorkdir: func(string) error { return broken }}, "workdir", []string{"the data is not there"}},
		"no workdir root": {session.Config{WorkdirRoot: "/no/such/folder"}, "workdir", []string{"make the working folder: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cfg := newHarness(t, tc.cfg)
			live, err := session.Start(t.Context(), newSupervisor(t), cfg)
			require.Nil(t, live)
			var failed *session.StartError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, tc.what, failed.Component)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
			requireNoLeftovers(t, s.workdirRoot)
			ended := s.awaitEntry(t, "the end", func(e *trace.Entry) bool {
				return e.Type == "state" && stateInEntry(t, e) == session.StateEnded
			})
			require.Contains(t, string(ended.Body), "it could not start: ")
		})
	}
}

// A session may be ended twice at the same time and again later; afterwards all its methods
// fail.
func TestEndIsIdempotent(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{})
	require.Equal(t, session.StateReady, s.State())
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := s.End(context.Background(), "enough"); err != nil {
				t.Errorf("end: %v", err)
			}
		})
	}
	both.Wait()
	require.NoError(t, s.End(t.Context(), "again"))
	requireNoLeftovers(t, s.workdirRoot)
	require.Error(t, s.SendQuery(protocol.AgentQuery{Query: "go on"}))
	require.Equal(t, session.StateEnded, s.State())
	require.False(t, s.IsKernelAlive())
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.ConsoleIdentity{ConnID: 1, Name: "1"})
	require.ErrorIs(t, err, router.ErrClosed, "although nobody else holds the document")
	_, err = s.AttachView(ours, session.ConsoleIdentity{ConnID: 1})
	require.ErrorIs(t, err, router.ErrClosed)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// Folders in the working folder that a cell has made read-only are removed at the end of the
// session.
func TestReadOnlyWorkdirIsRemoved(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: pythonKernelConfig(t, sup)})
	done, err := s.Execute(t.Context(), `
import os, pathlib
deep = pathlib.Path("a/b/c")
deep.mkdir(parents=True)
(deep / "file").write_text("x")
os.symlink("/etc", "a/link")
for folder in deep, deep.parent, deep.parent.parent, ".":
    os.chmod(folder, 0o500)
`, testTimeout)
	require.NoError(t, err)
	require.Equal(t, "ok", done.Status, done.Exception)
	info, err := os.Stat(filepath.Join(s.Workdir(), "a"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o500), info.Mode().Perm())
	withoutFileCapabilities(t, func() { require.NoError(t, s.End(t.Context(), "enough")) })
	requireNoLeftovers(t, s.workdirRoot)
	require.DirExists(t, "/etc")
}

// When a session ends, a console gets the exits of kernel and agent before its own connection
// is closed.
func TestEndReportsExitsToConsoles(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{})
	ours, theirs := protocol.Pipe()
	_, err := s.Router().AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
	})
	require.NoError(t, err)
	exitCount := make(chan int, 1)
	go func() {
		exits := 0
		for body, err := theirs.Read(); err == nil; body, err = theirs.Read() {
			if env, err := protocol.NewEnvelopeDecoder().Decode(body); err == nil && env.Type == protocol.TypeManagedProcessExit {
				exits++
			}
		}
		exitCount <- exits
	}()
	require.NoError(t, s.End(t.Context(), "over"))
	require.Equal(t, 2, <-exitCount)
}

func TestSessionExecute(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: pythonKernelConfig(t, sup)})
	done, err := s.Execute(t.Context(), "print('said'); x = 6\nx * 7", testTimeout)
	require.NoError(t, err)
	require.Equal(t, "ok", done.Status)
	require.Equal(t, "said\n", done.Stdout)
	require.Equal(t, "42", *done.Result)

	nothing, err := s.Execute(t.Context(), "", testTimeout)
	require.NoError(t, err, "empty code")
	require.Equal(t, "ok", nothing.Status)

	failed, err := s.Execute(t.Context(), "1 / 0", testTimeout)
	require.NoError(t, err, "code that raises is no error of Execute")
	require.Equal(t, "error", failed.Status)
	require.Equal(t, "ZeroDivisionError", failed.EName)

	_, err = s.Execute(t.Context(), "while True: pass", 200*time.Millisecond)
	require.EqualError(t, err, "execute_code: execute_code did not end within 200ms and was interrupted")
	again, err := s.Execute(t.Context(), "x", testTimeout)
	require.NoError(t, err)
	require.Equal(t, "6", *again.Result, "the kernel still has its variables")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCancelledByTest)
	_, err = s.Execute(ctx, "x", testTimeout)
	require.ErrorIs(t, err, errCancelledByTest)
}

// A kernel gets no keys of models and little else of the server's environment; an agent gets
// all of it but the server's own settings. Both start in the working folder.
func TestChildEnvironments(t *testing.T) {
	t.Parallel()
	var printed lockedBuffer
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{
		Kernel: pythonKernelConfig(t, sup), ChildOutput: &printed,
		Agent:   agent.Config{Command: childCommand("shows environment"), PassVariables: []string{"ASSAY_PASSED"}},
		Environ: append(os.Environ(), "ANTHROPIC_API_KEY=key", "OPENAI_API_KEY=key", "ASSAY_PASSED=yes", "ASSAY_KEPT=no", "LC_TIME=C", "LATCH_SANDBOX_ROOT=/elsewhere"),
	})
	done, err := s.Execute(t.Context(), "import os, json; print(json.dumps({**os.environ, 'folder': os.getcwd()}))", testTimeout)
	require.NoError(t, err)
	var kernelEnviron map[string]string
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &kernelEnviron))
	for name := range kernelEnviron {
		require.NotRegexp(t, "KEY|TOKEN|SECRET|^ASSAY_[^S]", name)
	}
	workdir := s.Workdir()
	require.Equal(t, workdir, kernelEnviron["folder"])
	require.Equal(t, workdir, kernelEnviron["LATCH_SANDBOX_ROOT"])
	require.Equal(t, "s", kernelEnviron["ASSAY_SESSION"])
	require.Equal(t, "C", kernelEnviron["LC_TIME"])
	for name, folder := range map[string]string{"HOME": "home", "TMPDIR": "tmp", "MPLCONFIGDIR": "mpl"} {
		require.Equal(t, filepath.Join(workdir, ".assay", folder), kernelEnviron[name])
		require.DirExists(t, kernelEnviron[name])
	}

	require.NoError(t, s.End(t.Context(), "enough"))
	agentOutput := printed.lines()
	for _, want := range []string{
		"folder=" + workdir, "LATCH_SANDBOX_ROOT=" + workdir, "ASSAY_SESSION=s", "ASSAY_PASSED=yes", "AGENT_DEBUG=1", "ANTHROPIC_API_KEY=key",
	} {
		require.Contains(t, agentOutput, "agent: "+want)
	}
	assayVariables := slices.DeleteFunc(agentOutput, func(line string) bool { return !strings.HasPrefix(line, "agent: ASSAY_") })
	require.ElementsMatch(t, []string{"agent: ASSAY_SESSION=s", "agent: ASSAY_PASSED=yes"}, assayVariables)
}
