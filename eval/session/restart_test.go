package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/kernel"
	"assay/router"
)

// PK-7: code in a cell that ignores interrupts is interrupted again after 1 s; after 5 s its
// kernel is killed and replaced. The kernel's output says each step.
func TestPK7KernelThatIgnoresInterruptsIsReplaced(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: pythonKernelConfig(t, sup), Agent: agent.Config{Command: childCommand("runs queries")}, IsEvaluation: true})
	query := func(source string) { require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: source})) }
	query("kept = 1")
	s.awaitEntry(t, "the first cell", entryMatcher(trace.KernelToServer, protocol.TypeCellResult))
	query("import time\ndef deaf():\n    while True:\n        try:\n            while True:\n                print('on', flush=True)\n                time.sleep(0.01)\n        except KeyboardInterrupt: pass\ndeaf()")
	cell := s.awaitEntry(t, "the cell", cellStartMatcher).CellID
	says := func(text string) func(e *trace.Entry) bool {
		return func(e *trace.Entry) bool {
			body, err := protocol.BodyToJSON(e.Body)
			return err == nil && e.Hop == trace.KernelToServer && e.Type == protocol.TypeKernelStdio && strings.Contains(string(body), text)
		}
	}
	s.awaitEntry(t, "the loop", says("on"))
	old := s.KernelPID()
	stopSent := time.Now()
	require.NoError(t, s.Router().SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell}))
	s.awaitEntry(t, "the second interrupt", says("the run has not stopped for 1s: it is interrupted again"))
	require.GreaterOrEqual(t, time.Since(stopSent), kernel.RepeatStopDelay)
	s.awaitEntry(t, "the end", says("the run has not stopped for 5s: its kernel is killed"))
	require.GreaterOrEqual(t, time.Since(stopSent), kernel.StuckTimeout)
	failed := s.awaitEntry(t, "the run's end for the agent", func(e *trace.Entry) bool {
		return e.Hop == trace.ServerToAgent && e.Type == protocol.TypeKernelMessage && strings.Contains(string(e.Body), protocol.TypeCellResult)
	})
	require.Contains(t, string(failed.Body), "has not stopped for 5s, and cannot be interrupted; another kernel takes its place, without its variables")
	s.awaitEntry(t, "another kernel", entryMatcher(trace.KernelToServer, protocol.TypeReady))
	query("print('kept' in globals())")
	s.awaitEntry(t, "the next cell", says("False"))
	require.NotEqual(t, old, s.KernelPID())
}

// PK-7: the kernel stays alive if its code stops in time, and if a cell is stopped that does
// not run.
func TestPK7KernelThatStopsIsKept(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: pythonKernelConfig(t, sup), Agent: agent.Config{Command: childCommand("runs queries")}})
	require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: "import time\ntry:\n    print('on', flush=True)\n    while True: pass\nfinally:\n    time.sleep(2)"}))
	cell := s.awaitEntry(t, "the cell", cellStartMatcher).CellID
	s.awaitEntry(t, "the loop", entryMatcher(trace.KernelToServer, protocol.TypeKernelStdio))
	for range 3 {
		require.NoError(t, s.Router().SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell}))
	}
	require.NoError(t, s.Router().SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: "another"}))
	result := s.awaitEntry(t, "its result", entryMatcher(trace.KernelToServer, protocol.TypeCellResult))
	require.Equal(t, protocol.StatusInterrupted, result.Status)
	require.True(t, s.IsKernelAlive())
}

// cellStartMatcher returns a function that reports whether a trace entry is the start of a cell,
// a start_cell with a cell id.
func cellStartMatcher(e *trace.Entry) bool {
	return e.Hop == trace.KernelToServer && e.Type == protocol.TypeStartCell && e.CellID != ""
}

// RestartChild replaces a killed kernel, after which consoles get a new hello. A restarted
// agent gets init again and sends the same action as the first one.
func TestRestartChild(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{Agent: contextAskingAgentConfig()})
	s.awaitEntry(t, "the answer", answerMatcher("tx_1"))
	helloPIDs := make(chan int, 10)
	ours, theirs := protocol.Pipe()
	_, err := s.Router().AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		helloPIDs <- s.KernelPID()
		return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
	})
	require.NoError(t, err)
	first := <-helloPIDs
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	s.awaitEntry(t, "its end", entryMatcher(trace.HopSession, protocol.TypeManagedProcessExit))
	require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	require.NotEqual(t, first, <-helloPIDs)
	require.True(t, s.IsKernelAlive())

	require.NoError(t, s.RestartChild(t.Context(), "agent"))
	s.awaitEntry(t, "its init", entryMatcher(trace.ServerToAgent, protocol.TypeInit))
	s.awaitEntry(t, "the answer", answerMatcher("tx_1"))
	require.EqualError(t, s.RestartChild(t.Context(), "moon"), `name: want kernel or agent, not "moon"`)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// After a failed restart of the kernel the session has no kernel; a later restart can succeed.
func TestFailedRestartCanBeRepeated(t *testing.T) {
	t.Parallel()
	allowed := filepath.Join(t.TempDir(), "allowed")
	require.NoError(t, os.WriteFile(allowed, nil, 0o600))
	command := shellChildCommand(`{"type":"ready"}`)
	command[2] = "test -e " + allowed + " || exit 7; " + command[2]
	s := startSession(t, newSupervisor(t), session.Config{Kernel: kernel.Config{Command: command}})
	require.NoError(t, os.Remove(allowed))
	require.ErrorContains(t, s.RestartChild(t.Context(), "kernel"), "status 7")
	require.False(t, s.IsKernelAlive())
	require.NoError(t, os.WriteFile(allowed, nil, 0o600))
	require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	require.True(t, s.IsKernelAlive())
}

// In an evaluation RestartChild fails and does not touch the kernel.
func TestEvaluationRefusesRestart(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{IsEvaluation: true})
	pid := s.KernelPID()
	require.ErrorContains(t, s.RestartChild(t.Context(), "kernel"), "a case is attached")
	require.Equal(t, pid, s.KernelPID())
}

// When the kernel is restarted, a console gets managed_process_exit of the old kernel before
// the hello of the new one.
func TestExitIsReportedBeforeNextReady(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{})
	ours, theirs := protocol.Pipe()
	_, err := s.Router().AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
	})
	require.NoError(t, err)
	const times = 30
	received := make(chan []string, 1)
	go func() {
		var types []string
		for len(types) < 1+2*times {
			body, err := theirs.Read()
			if err != nil {
				break
			}
			if env, err := protocol.NewEnvelopeDecoder().Decode(body); err == nil {
				types = append(types, env.Type)
			}
		}
		received <- types
	}()
	for range times {
		require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	}
	want := []string{protocol.TypeReady}
	for range times {
		want = append(want, protocol.TypeManagedProcessExit, protocol.TypeReady)
	}
	require.Equal(t, want, <-received)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// A restarted agent that does not say in time that it is ready is stopped.
func TestRestartedAgentThatIsNotReadyIsStopped(t *testing.T) {
	t.Parallel()
	once := filepath.Join(t.TempDir(), "once")
	status := shellChildCommand(`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`)
	silent := shellChildCommand(`{"type":"ready"}`)
	command := []string{"sh", "-c", "if test -e " + once + "; then " + silent[2] + "; fi; touch " + once + "; " + status[2], "sh"}
	s := startSession(t, newSupervisor(t), session.Config{Agent: agent.Config{Command: command, ReadyTimeout: 2 * time.Second}})
	require.ErrorContains(t, s.RestartChild(t.Context(), "agent"), "did not answer init with agent_status ready within 2s")
	require.ErrorIs(t, s.SendQuery(protocol.AgentQuery{Query: "hello"}), router.ErrNotConnected)
}
