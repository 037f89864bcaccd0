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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/kernel"
	"assay/server"
)

// originalProtocolCommand returns the command of a program in testdata/peers: an agent or kernel for
// the original protocol, which ours extends. The program's documentation lists its
// modes.
func originalProtocolCommand(t *testing.T, name, modes string) []string {
	t.Helper()
	python, err := exec.LookPath("python3")
	require.NoError(t, err)
	script, err := filepath.Abs(filepath.Join("testdata", "peers", name))
	require.NoError(t, err)
	require.FileExists(t, script)
	return []string{python, "-B", script, modes}
}

// originalProtocolKernelConfig returns the kernel for the original protocol.
func originalProtocolKernelConfig(t *testing.T, modes string) kernel.Config {
	t.Helper()
	return kernel.Config{Command: originalProtocolCommand(t, "kernel.py", modes)}
}

// sixTimesSevenCase is a case whose answer is 42.
const sixTimesSevenCase = `{"id":"six","task":"How much is 6 times 7?","grader":{"type":"exact","config":{"ground_truth":42}}}`

// An attempt completes with a kernel for the original protocol, with and without gzip,
// and whether or not the kernel answers requests for summaries.
func TestOriginalProtocolKernelCompletesAnAttempt(t *testing.T) {
	t.Parallel()
	for _, modes := range []string{"summaries", "summaries,gzip", "gzip"} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			h := newServerHarness(t, server.Config{})
			tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{kernel: originalProtocolKernelConfig(t, modes)})
			tr.agent.awaitItem(t, "the task", isMessageOfType("agent_query"))
			require.Equal(t, "42\n", tr.agent.awaitResult(t, tr.agent.runNewCell(t, 0, "print(6 * 7)")).Logs)
			failed := tr.agent.awaitResult(t, tr.agent.runNewCell(t, 1, "print('so far')\n1 / 0"))
			require.Contains(t, failed.Exception, "ZeroDivisionError")
			require.Equal(t, "so far\n", failed.Logs)
			require.Len(t, failed.CellOutputs, 2, "the text and the exception")

			cells := tr.agent.listCells(t)
			require.Len(t, cells, 2)
			require.Equal(t, "ran", cells[0].Status)
			require.Equal(t, "error", cells[1].Status)
			require.Contains(t, string(cells[1].Outputs[1]), `"output_type":"error","ename":"ZeroDivisionError"`)

			tr.agent.submitAnswer("42")
			ended := tr.awaitResult(t)
			require.Equal(t, runs.OutcomeCompleted, ended.Outcome, ended.Detail)
			require.True(t, *ended.Passed)
			require.Equal(t, 2, ended.Usage.CellsRun)
			tr.requireCollectedState(t, strings.Contains(modes, "summaries"))
		})
	}
}

// A kernel whose frames lack status and run_sequencer completes an attempt with the right results, what it
// sends unasked reaches consoles, and a stopped cell does not cost its state.
func TestOriginalProtocolKernelWithTerseFrames(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{kernel: originalProtocolKernelConfig(t, "terse,summaries")})
	tr.agent.awaitItem(t, "the task", isMessageOfType("agent_query"))
	require.Equal(t, "ok", tr.agent.awaitResult(t, tr.agent.runNewCell(t, 0, "x = 41")).Status)
	failed := tr.agent.awaitResult(t, tr.agent.runNewCell(t, 1, "1 / 0"))
	require.Equal(t, "error", failed.Status)
	require.True(t, failed.HasException)
	require.Equal(t, 2, failed.RunSequencer)

	endless := tr.agent.runNewCell(t, 2, "print('begun')\nwhile True: pass")
	tr.agent.requestActionOK(t, "stop_cell", params{"cell_id": endless})
	require.Equal(t, "interrupted", tr.agent.awaitResult(t, endless).Status)
	require.Equal(t, "42\n", tr.agent.awaitResult(t, tr.agent.runNewCell(t, 3, "print(x + 1)")).Logs)

	tr.agent.submitAnswer("42")
	ended := tr.awaitResult(t)
	require.Equal(t, runs.OutcomeCompleted, ended.Outcome, ended.Detail)
	require.True(t, *ended.Passed)
	for _, r := range tr.records(t) {
		require.NotEqual(t, trace.NoteOrphaned, r.Note, r.Type)
	}
}

// requireCollectedState requires that the attempt has collected the notebook, and the
// summaries or an error for each.
func (r *attemptRun) requireCollectedState(t *testing.T, summaries bool) {
	t.Helper()
	require.FileExists(t, filepath.Join(r.dir, "notebook.ipynb"))
	state := r.collectedState(t)
	require.NotEmpty(t, state.Context)
	if summaries {
		require.Empty(t, state.Errors)
		require.NotEmpty(t, state.Globals)
		return
	}
	require.Contains(t, state.Errors["globals"], "5s")
	require.Contains(t, state.Errors["reactivity"], "5s")
}

// If a kernel sends no cell_result, its idle start_cell ends the runs that it has
// started.
func TestOriginalProtocolKernelWithoutResults(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{kernel: originalProtocolKernelConfig(t, "summaries,noresult")})
	tr.agent.awaitItem(t, "the task", isMessageOfType("agent_query"))
	tr.agent.runNewCell(t, 0, "print(6 * 7)")
	tr.agent.awaitItem(t, "the end of the run", isIdleAfter(1))
	cells := tr.agent.listCells(t)
	require.Equal(t, "ran", cells[0].Status)
	require.Len(t, cells[0].Outputs, 1)
	require.Contains(t, string(cells[0].Outputs[0]), "42")
	tr.agent.submitAnswer("42")
	ended := tr.awaitResult(t)
	require.Equal(t, runs.OutcomeCompleted, ended.Outcome, ended.Detail)
	require.Equal(t, 1, ended.Usage.CellsRun)
}

// A run whose start the kernel has not reported stays open, as its run_cell may still be
// on its way: until then a submission does not complete the attempt.
func TestOriginalProtocolKernelThatReportsNoStart(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{kernel: originalProtocolKernelConfig(t, "summaries,unstarted"), limits: runs.Limits{WallTimeoutS: 3}})
	tr.agent.awaitItem(t, "the task", isMessageOfType("agent_query"))
	tr.agent.runNewCell(t, 0, "print(6 * 7)")
	tr.agent.awaitItem(t, "an idle kernel", isIdleAfter(1))
	require.Equal(t, "running", tr.agent.listCells(t)[0].Status)
	tr.agent.submitAnswer("42")
	ended := tr.awaitResult(t)
	require.Equal(t, runs.OutcomeLimit, ended.Outcome, ended.Detail)
	require.Contains(t, ended.Detail, "wall")
	require.True(t, *ended.Passed, "the submitted answer is graded")
}

// isIdleAfter matches the message to the agent that the kernel is idle after this many
// runs.
func isIdleAfter(sequencer int) func(frame) bool {
	return func(f frame) bool {
		var m protocol.StartCell
		return f.Type == protocol.TypeKernelMessage && json.Unmarshal(f.Message, &m) == nil &&
			m.Type == protocol.TypeStartCell && m.CellID == nil && m.RunSequencer == sequencer
	}
}

// The kernel exits if one of the six fields of init is missing or wrong: so the other
// tests show that the server sends them all.
func TestOriginalProtocolKernelChecksInit(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	complete := map[string]any{}
	text, err := protocol.Marshal(protocol.NewKernelInit(1))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &complete))
	keys := []string{"widget_states", "cell_output_selections", "plot_data_selections", "viewer_cell_data", "plot_configs", "session_snapshot_mode"}
	require.Len(t, complete, len(keys)+2, "these, type and kernel_pid")
	for _, key := range keys {
		for name, value := range map[string]any{"missing": nil, "of another type": "x"} {
			t.Run(key+" "+name, func(t *testing.T) {
				t.Parallel()
				init := map[string]any{key: value}
				for other, value := range complete {
					if other != key {
						init[other] = value
					}
				}
				require.Equal(t, 3, h.kernelExitAfterInit(t, init).Code)
			})
		}
	}
}

// kernelExitAfterInit starts the kernel, sends it this init and waits until it exits.
func (h *serverHarness) kernelExitAfterInit(t *testing.T, init map[string]any) subprocess.ExitState {
	t.Helper()
	if init["widget_states"] == nil {
		delete(init, "widget_states") // this one absent, the others null
	}
	proc, err := h.Supervisor.Start(subprocess.Spec{Name: "kernel", Argv: originalProtocolCommand(t, "kernel.py", ""), Dir: t.TempDir(), Env: os.Environ()})
	require.NoError(t, err)
	defer func() { require.NoError(t, proc.Stop(context.Background())) }()
	_, err = proc.AwaitReady(t.Context(), generousTimeout)
	require.NoError(t, err)
	body, err := protocol.Marshal(init)
	require.NoError(t, err)
	require.NoError(t, proc.Write(body))
	select {
	case <-proc.Exited():
	case <-time.After(generousTimeout):
		require.Fail(t, "the kernel accepts the init", "%s", body)
	}
	return proc.ExitState()
}

// The end of a session kills a kernel that ignores SIGTERM and the end of its socket, and
// a process of its cell that ignores SIGTERM too, soon after subprocess.StopGrace.
func TestOriginalProtocolKernelThatIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Kernel: originalProtocolKernelConfig(t, "ignore_sigterm")})
	newFakeHolder(t, s.URL)
	cell := s.agent.runNewCell(t, 0, `import subprocess, sys
code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); signal.pause()"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.read(1)
print(child.pid)`)
	started, err := strconv.Atoi(strings.TrimSpace(s.agent.awaitResult(t, cell).Logs))
	require.NoError(t, err)
	pids := []int{s.session.KernelPID(), started}
	for _, pid := range pids {
		require.True(t, isProcessRunning(pid), pid)
	}
	began := time.Now()
	require.NoError(t, s.session.End(t.Context(), "the test is over"))
	require.Less(t, time.Since(began), subprocess.StopGrace+2*time.Second)
	require.GreaterOrEqual(t, time.Since(began), subprocess.StopGrace, "the kernel gets its grace period")
	for _, pid := range pids {
		require.False(t, isProcessRunning(pid), pid)
	}
}

// isProcessRunning reports whether a process runs. A zombie does not.
func isProcessRunning(pid int) bool {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(bytes.TrimSpace(args)) > 0
}

// When a kernel dies during a run, consoles receive managed_process_exit, actions that wait for it and later
// ones fail at once, and the notebook remains.
func TestOriginalProtocolKernelThatDiesInARun(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Kernel: originalProtocolKernelConfig(t, "")})
	console := newFakeHolder(t, s.URL)
	waiting := s.agent.sendAction("get_global_info", params{"key": "x"}) // the kernel does not answer this
	s.agent.runNewCell(t, 0, "import os, signal\nprint('last words')\nos.kill(os.getpid(), signal.SIGKILL)")
	began := time.Now()
	failed := s.agent.awaitItem(t, "the error", isAnswerTo(waiting))
	require.Equal(t, "error", failed.Status)
	require.Contains(t, failed.Error, "the kernel has ended: ")
	require.Contains(t, failed.Error, "killed")
	exit := console.run.awaitItem(t, "the exit of the kernel", isMessageOfType("managed_process_exit")).fields(t)
	require.Equal(t, "kernel", exit["name"])
	require.Equal(t, "SIGKILL", exit["signal"])
	later := s.agent.requestAction(t, "request_globals_summary", nil)
	require.Equal(t, "error", later.Status)
	require.Contains(t, later.Error, "the kernel has ended: ")
	require.Equal(t, "success", s.agent.requestAction(t, "get_context", nil).Status)
	require.Less(t, time.Since(began), 5*time.Second, "less than any timeout")
	require.NotEmpty(t, s.entries.itemsMatching(isEntryOfHopAndType(trace.HopSession, protocol.TypeManagedProcessExit)))
}

// When a kernel dies in an attempt, the attempt ends with the outcome kernel_exit, whose
// detail names the agent's code as the cause.
func TestOriginalProtocolKernelThatDiesInAnAttempt(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	tr := h.startAttempt(t, sixTimesSevenCase, attemptOptions{kernel: originalProtocolKernelConfig(t, "gzip")})
	tr.agent.awaitItem(t, "the task", isMessageOfType("agent_query"))
	// The answer may not come: the attempt ends with the kernel.
	tr.agent.sendAction("create_cell", params{"position": 0, "cell_type": "code", "source": "import os\nos._exit(7)", "auto_run": true})
	ended := tr.awaitResult(t)
	require.Equal(t, runs.OutcomeKernelExit, ended.Outcome, ended.Detail)
	require.Contains(t, ended.Detail, "while it ran the agent's code")
	require.Contains(t, ended.Detail, "7")
	require.NotNil(t, ended.Passed)
	require.False(t, *ended.Passed)
}
