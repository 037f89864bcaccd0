package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/kernel"
	"assay/server"
	"assay/testcases"
)

// peer is the command of a program in testdata/peers, made for the protocol
// that ours extends; its doc has the ways in which it can behave.
func peer(t *testing.T, name, ways string) []string {
	t.Helper()
	python, err := exec.LookPath("python3")
	require.NoError(t, err)
	script, err := filepath.Abs(filepath.Join("testdata", "peers", name))
	require.NoError(t, err)
	require.FileExists(t, script)
	return []string{python, "-B", script, ways}
}

func foreignKernel(t *testing.T, ways string) kernel.Config {
	t.Helper()
	return kernel.Config{Command: peer(t, "kernel.py", ways)}
}

// six is a case that needs a 42.
const six = `{"id":"six","task":"How much is 6 times 7?","grader":{"type":"exact","config":{"ground_truth":42}}}`

// headless begins an attempt at [six] in which the server holds the notebook.
// Without a command the test is the agent.
func (h *house) headless(t *testing.T, k kernel.Config, command []string, limits runs.Limits) *trial {
	t.Helper()
	return h.attempt(t, attempt.Config{Kernel: k, LimitOverrides: limits}, command, func(runs.Attempt) {})
}

// held begins one that waits for a console to hold the notebook, which is told
// of the verdict.
func (h *house) held(t *testing.T, k kernel.Config, command []string) *trial {
	t.Helper()
	attached := make(chan struct{})
	show := h.web.PublishAttempts(server.DefaultSessionID)
	t.Cleanup(show.Close)
	tr := h.attempt(t, attempt.Config{
		Kernel: k, AwaitConsole: true, SessionID: server.DefaultSessionID, SharedConsoles: h.shared, OnTrace: show.OnTrace,
		OnSession: func(live *session.Session) {
			show.OnSession(live)
			close(attached)
		},
	}, command, show.AttemptEnded)
	select {
	case <-attached:
	case result := <-tr.result:
		require.Fail(t, "the attempt did not start", "%+v", result)
	}
	return tr
}

// attempt begins an attempt at [six] and calls tell with its result.
func (h *house) attempt(t *testing.T, cfg attempt.Config, command []string, tell func(runs.Attempt)) *trial {
	t.Helper()
	path := filepath.Join(t.TempDir(), "case.json")
	require.NoError(t, os.WriteFile(path, []byte(six), 0o600))
	cases, err := testcases.Load([]string{path}, testcases.Options{})
	require.NoError(t, err)
	tr := &trial{house: h, dir: t.TempDir(), result: make(chan runs.Attempt, 1)}
	if command == nil {
		tr.agent = newPuppet(t, h.sup.TempDir())
		command = tr.agent.command
	}
	cfg.Supervisor, cfg.Environ, cfg.WorkdirRoot = h.sup, os.Environ(), h.sup.TempDir()
	cfg.AgentConfig = func(string) (agent.Config, error) { return agent.Config{Command: command}, nil }
	ctx, cancel := context.WithCancel(t.Context())
	var trying sync.WaitGroup
	trying.Go(func() {
		result := attempt.Run(ctx, cfg, attempt.Job{Case: cases[0], Epoch: 1, Try: 1, Dir: tr.dir, RelDir: "attempts/1"})
		tell(result)
		tr.result <- result
	})
	t.Cleanup(func() {
		cancel()
		trying.Wait()
	})
	return tr
}

// runs has the agent make a cell at a place and run it, and returns its id.
func (a *puppet) runs(t *testing.T, position int, source string) string {
	t.Helper()
	made := a.do(t, "create_cell", params{"position": position, "cell_type": "code", "source": source, "auto_run": true})
	require.Equal(t, "success", made.Status, made)
	return made.CellID
}

// shown is a cell as get_context shows it.
type shown struct {
	Status  string            `json:"status"`
	Outputs []json.RawMessage `json:"outputs"`
}

func (a *puppet) context(t *testing.T) []shown {
	t.Helper()
	var answer struct {
		Context struct {
			Cells []shown `json:"cells"`
		} `json:"context"`
	}
	require.NoError(t, json.Unmarshal(a.do(t, "get_context", nil).body, &answer))
	return answer.Context.Cells
}

// A kernel that says a bare ready, shows no outputs, has no has_exception and
// says when it is idle does for a whole attempt, in plain frames and in gzip,
// whether or not it answers the summaries.
func TestForeignKernelDoesForAnAttempt(t *testing.T) {
	t.Parallel()
	for _, ways := range []string{"summaries", "summaries,gzip", "gzip"} {
		t.Run(ways, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, server.Config{})
			tr := h.headless(t, foreignKernel(t, ways), nil, runs.Limits{})
			tr.agent.await(t, "the task", ofType("agent_query"))
			require.Equal(t, "42\n", tr.agent.result(t, tr.agent.runs(t, 0, "print(6 * 7)")).Logs)
			failed := tr.agent.result(t, tr.agent.runs(t, 1, "print('so far')\n1 / 0"))
			require.Contains(t, failed.Exception, "ZeroDivisionError")
			require.Equal(t, "so far\n", failed.Logs)
			require.Len(t, failed.CellOutputs, 2, "its text, and the exception")

			cells := tr.agent.context(t)
			require.Len(t, cells, 2)
			require.Equal(t, "ran", cells[0].Status)
			require.Equal(t, "error", cells[1].Status)
			require.Contains(t, string(cells[1].Outputs[1]), `"output_type":"error","ename":"ZeroDivisionError"`)

			tr.agent.submit("42")
			ended := tr.end(t)
			require.Equal(t, runs.OutcomeCompleted, ended.Outcome, ended.Detail)
			require.True(t, *ended.Passed)
			require.Equal(t, 2, ended.Usage.CellsRun)
			tr.collected(t, strings.Contains(ways, "summaries"))
		})
	}
}

// collected requires that the attempt has the notebook, and the summaries or an
// error for each.
func (tr *trial) collected(t *testing.T, summaries bool) {
	t.Helper()
	require.FileExists(t, filepath.Join(tr.dir, "notebook.ipynb"))
	state := tr.state(t)
	require.NotEmpty(t, state.Context)
	if summaries {
		require.Empty(t, state.Errors)
		require.NotEmpty(t, state.Globals)
		return
	}
	require.Contains(t, state.Errors["globals"], "5s")
	require.Contains(t, state.Errors["reactivity"], "5s")
}

// Of a kernel that sends no cell_result, its idle start_cell ends the runs that
// had started.
func TestForeignKernelWithoutResults(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	tr := h.headless(t, foreignKernel(t, "summaries,noresult"), nil, runs.Limits{})
	tr.agent.await(t, "the task", ofType("agent_query"))
	tr.agent.runs(t, 0, "print(6 * 7)")
	tr.agent.await(t, "the end of the run", idleAfter(1))
	cells := tr.agent.context(t)
	require.Equal(t, "ran", cells[0].Status)
	require.Len(t, cells[0].Outputs, 1)
	require.Contains(t, string(cells[0].Outputs[0]), "42")
	tr.agent.submit("42")
	ended := tr.end(t)
	require.Equal(t, runs.OutcomeCompleted, ended.Outcome, ended.Detail)
	require.Equal(t, 1, ended.Usage.CellsRun)
}

// A run that has not started may still be on its way to the kernel: it is open,
// and no submission completes, until the kernel says that it has started.
func TestForeignKernelThatStartsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	tr := h.headless(t, foreignKernel(t, "summaries,unstarted"), nil, runs.Limits{WallS: 3})
	tr.agent.await(t, "the task", ofType("agent_query"))
	tr.agent.runs(t, 0, "print(6 * 7)")
	tr.agent.await(t, "an idle kernel", idleAfter(1))
	require.Equal(t, "running", tr.agent.context(t)[0].Status)
	tr.agent.submit("42")
	ended := tr.end(t)
	require.Equal(t, runs.OutcomeLimit, ended.Outcome, ended.Detail)
	require.Contains(t, ended.Detail, "wall")
	require.True(t, *ended.Passed, "what was submitted counts")
}

// idleAfter matches what the agent is told when the kernel is idle after so many
// runs.
func idleAfter(sequencer int) func(frame) bool {
	return func(f frame) bool {
		var told protocol.StartCell
		return f.Type == protocol.TypeKernelMessage && json.Unmarshal(f.Message, &told) == nil &&
			told.Type == protocol.TypeStartCell && told.CellID == nil && told.RunSequencer == sequencer
	}
}

// The kernel insists on each of the six keys that it knows, so that the other
// tests show that ours sends them all.
func TestForeignKernelInsistsOnItsInit(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	whole := map[string]any{}
	text, err := protocol.Marshal(protocol.NewKernelInit(1))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &whole))
	keys := []string{"widget_states", "cell_output_selections", "plot_data_selections", "viewer_cell_data", "plot_configs", "session_snapshot_mode"}
	require.Len(t, whole, len(keys)+2, "they, type and kernel_pid")
	for _, key := range keys {
		for name, value := range map[string]any{"missing": nil, "of another type": "x"} {
			t.Run(key+" "+name, func(t *testing.T) {
				t.Parallel()
				init := map[string]any{key: value}
				for other, value := range whole {
					if other != key {
						init[other] = value
					}
				}
				require.Equal(t, 3, h.exit(t, init).Code)
			})
		}
	}
}

// exit tells the kernel an init and returns how it exits.
func (h *house) exit(t *testing.T, init map[string]any) subprocess.Exit {
	t.Helper()
	if init["widget_states"] == nil {
		delete(init, "widget_states") // absent, where the others are null
	}
	proc, err := h.sup.Start(subprocess.Spec{Name: "kernel", Argv: peer(t, "kernel.py", ""), Dir: t.TempDir(), Env: os.Environ()})
	require.NoError(t, err)
	defer func() { require.NoError(t, proc.Stop(context.Background())) }()
	_, err = proc.AwaitReady(t.Context(), generous)
	require.NoError(t, err)
	body, err := protocol.Marshal(init)
	require.NoError(t, err)
	require.NoError(t, proc.Write(body))
	select {
	case <-proc.Exited():
	case <-time.After(generous):
		require.Fail(t, "it takes the init", "%s", body)
	}
	return proc.Exit()
}

// A kernel that ignores SIGTERM and the end of its socket, and a process that
// its cell has started and that ignores SIGTERM too, are gone when the session
// has ended, and that is soon.
func TestForeignKernelThatIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Kernel: foreignKernel(t, "stubborn")})
	newHolder(t, s.url)
	cell := s.agent.runs(t, 0, `import subprocess, sys
code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); signal.pause()"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.read(1)
print(child.pid)`)
	started, err := strconv.Atoi(strings.TrimSpace(s.agent.result(t, cell).Logs))
	require.NoError(t, err)
	pids := []int{s.live.KernelPID(), started}
	for _, pid := range pids {
		require.True(t, alive(pid), pid)
	}
	began := time.Now()
	require.NoError(t, s.live.End(t.Context(), "the test is over"))
	require.Less(t, time.Since(began), subprocess.StopGrace+2*time.Second)
	require.GreaterOrEqual(t, time.Since(began), subprocess.StopGrace, "they had their time")
	for _, pid := range pids {
		require.False(t, alive(pid), pid)
	}
}

// alive tells whether a process runs; one that nobody has reaped does not.
func alive(pid int) bool {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(bytes.TrimSpace(args)) > 0
}

// A kernel dies in the middle of a run: consoles are told, what waits for it and
// what is asked later fails at once, and the notebook is there.
func TestForeignKernelThatDiesInARun(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Kernel: foreignKernel(t, "")})
	console := newHolder(t, s.url)
	waiting := s.agent.ask("get_global_info", params{"key": "x"}) // it never answers this
	s.agent.runs(t, 0, "import os, signal\nprint('last words')\nos.kill(os.getpid(), signal.SIGKILL)")
	began := time.Now()
	failed := s.agent.await(t, "the error", answerTo(waiting))
	require.Equal(t, "error", failed.Status)
	require.Contains(t, failed.Error, "the kernel has ended: ")
	require.Contains(t, failed.Error, "killed")
	news := console.run.await(t, "the news", ofType("managed_process_exit")).fields(t)
	require.Equal(t, "kernel", news["name"])
	require.Equal(t, "SIGKILL", news["signal"])
	later := s.agent.do(t, "request_globals_summary", nil)
	require.Equal(t, "error", later.Status)
	require.Contains(t, later.Error, "the kernel has ended: ")
	require.Equal(t, "success", s.agent.do(t, "get_context", nil).Status)
	require.Less(t, time.Since(began), 5*time.Second, "far from any deadline")
	require.NotEmpty(t, s.trace.all(entry(trace.HopSession, protocol.TypeManagedProcessExit)))
}

// In an attempt that is its end, and its agent's code the cause.
func TestForeignKernelThatDiesInAnAttempt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	tr := h.headless(t, foreignKernel(t, "gzip"), nil, runs.Limits{})
	tr.agent.await(t, "the task", ofType("agent_query"))
	// Nothing is promised of the answer: the attempt ends with the kernel.
	tr.agent.ask("create_cell", params{"position": 0, "cell_type": "code", "source": "import os\nos._exit(7)", "auto_run": true})
	ended := tr.end(t)
	require.Equal(t, runs.OutcomeKernelExit, ended.Outcome, ended.Detail)
	require.Contains(t, ended.Detail, "while it ran the agent's code")
	require.Contains(t, ended.Detail, "7")
	require.NotNil(t, ended.Passed)
	require.False(t, *ended.Passed)
}
