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

// PK-7: what swallows every interrupt is told to stop, told again after a
// second, and after five the kernel is replaced; each is said.
func TestPK7KernelThatIgnoresInterruptsIsReplaced(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: pythonKernel(t, sup), Agent: agent.Config{Command: childCommand("runs queries")}, IsEvaluation: true})
	query := func(source string) { require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: source})) }
	query("kept = 1")
	s.await(t, "the first cell", isEntry(trace.KernelToServer, protocol.TypeCellResult))
	query("import time\ndef deaf():\n    while True:\n        try:\n            while True:\n                print('on', flush=True)\n                time.sleep(0.01)\n        except KeyboardInterrupt: pass\ndeaf()")
	cell := s.await(t, "the cell", isCellStart).CellID
	says := func(text string) func(e *trace.Entry) bool {
		return func(e *trace.Entry) bool {
			body, err := protocol.ToJSON(e.Body)
			return err == nil && e.Hop == trace.KernelToServer && e.Type == protocol.TypeKernelStdio && strings.Contains(string(body), text)
		}
	}
	s.await(t, "the loop", says("on"))
	old := s.KernelPID()
	told := time.Now()
	require.NoError(t, s.Router().SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell}))
	s.await(t, "the second interrupt", says("it has not stopped for 1s, and is interrupted again"))
	require.GreaterOrEqual(t, time.Since(told), kernel.RepeatStopDelay)
	s.await(t, "the end", says("it has not stopped for 5s: its kernel is killed"))
	require.GreaterOrEqual(t, time.Since(told), kernel.StuckTimeout)
	failed := s.await(t, "the run's end for the agent", func(e *trace.Entry) bool {
		return e.Hop == trace.ServerToAgent && e.Type == protocol.TypeKernelMessage && strings.Contains(string(e.Body), protocol.TypeCellResult)
	})
	require.Contains(t, string(failed.Body), "has not stopped for 5s, and cannot be interrupted; another takes its place, without any of its variables")
	s.await(t, "another kernel", isEntry(trace.KernelToServer, protocol.TypeReady))
	query("print('kept' in globals())")
	s.await(t, "the next cell", says("False"))
	require.NotEqual(t, old, s.KernelPID())
}

// What ends in time, or is not on, costs nothing.
func TestPK7KernelThatStopsIsKept(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: pythonKernel(t, sup), Agent: agent.Config{Command: childCommand("runs queries")}})
	require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: "import time\ntry:\n    print('on', flush=True)\n    while True: pass\nfinally:\n    time.sleep(2)"}))
	cell := s.await(t, "the cell", isCellStart).CellID
	s.await(t, "the loop", isEntry(trace.KernelToServer, protocol.TypeKernelStdio))
	for range 3 {
		require.NoError(t, s.Router().SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell}))
	}
	require.NoError(t, s.Router().SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: "another"}))
	result := s.await(t, "its result", isEntry(trace.KernelToServer, protocol.TypeCellResult))
	require.Equal(t, protocol.StatusInterrupted, result.Status)
	require.True(t, s.IsKernelAlive())
}

// isCellStart is the start of a run; without a cell, all is idle.
func isCellStart(e *trace.Entry) bool {
	return e.Hop == trace.KernelToServer && e.Type == protocol.TypeStartCell && e.CellID != ""
}

// A child that was killed is started anew: the kernel begins with nothing, and
// consoles are told; the agent is initialised again, and asks as the first did.
func TestRestartChild(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{Agent: contextAskingAgent()})
	s.await(t, "the answer", isAnswerTo("tx_1"))
	greetings := make(chan int, 10)
	ours, theirs := protocol.Pipe()
	_, err := s.Router().AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		greetings <- s.KernelPID()
		return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
	})
	require.NoError(t, err)
	first := <-greetings
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	s.await(t, "its end", isEntry(trace.HopSession, protocol.TypeManagedProcessExit))
	require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	require.NotEqual(t, first, <-greetings)
	require.True(t, s.IsKernelAlive())

	require.NoError(t, s.RestartChild(t.Context(), "agent"))
	s.await(t, "its init", isEntry(trace.ServerToAgent, protocol.TypeInit))
	s.await(t, "the answer", isAnswerTo("tx_1"))
	require.EqualError(t, s.RestartChild(t.Context(), "moon"), `name: want kernel or agent, not "moon"`)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// A kernel that does not come up again leaves a session without one, which can
// be started anew later, and which ends as any other.
func TestFailedRestartCanBeRepeated(t *testing.T) {
	t.Parallel()
	allowed := filepath.Join(t.TempDir(), "allowed")
	require.NoError(t, os.WriteFile(allowed, nil, 0o600))
	command := shellChild(`{"type":"ready"}`)
	command[2] = "test -e " + allowed + " || exit 7; " + command[2]
	s := startSession(t, newSupervisor(t), session.Config{Kernel: kernel.Config{Command: command}})
	require.NoError(t, os.Remove(allowed))
	require.ErrorContains(t, s.RestartChild(t.Context(), "kernel"), "status 7")
	require.False(t, s.IsKernelAlive())
	require.NoError(t, os.WriteFile(allowed, nil, 0o600))
	require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	require.True(t, s.IsKernelAlive())
}

// In an evaluation nothing is started anew.
func TestEvaluationRefusesRestart(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{IsEvaluation: true})
	pid := s.KernelPID()
	require.ErrorContains(t, s.RestartChild(t.Context(), "kernel"), "a case is attached")
	require.Equal(t, pid, s.KernelPID())
}

// A console is told of each kernel's end before it is greeted with the next.
func TestExitIsReportedBeforeNextReady(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{})
	ours, theirs := protocol.Pipe()
	_, err := s.Router().AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
	})
	require.NoError(t, err)
	const times = 30
	told := make(chan []string, 1)
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
		told <- types
	}()
	for range times {
		require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	}
	want := []string{protocol.TypeReady}
	for range times {
		want = append(want, protocol.TypeManagedProcessExit, protocol.TypeReady)
	}
	require.Equal(t, want, <-told)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// An agent that does not become ready the second time is not kept.
func TestRestartedAgentThatIsNotReadyIsStopped(t *testing.T) {
	t.Parallel()
	once := filepath.Join(t.TempDir(), "once")
	status := shellChild(`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`)
	silent := shellChild(`{"type":"ready"}`)
	command := []string{"sh", "-c", "if test -e " + once + "; then " + silent[2] + "; fi; touch " + once + "; " + status[2], "sh"}
	s := startSession(t, newSupervisor(t), session.Config{Agent: agent.Config{Command: command, ReadyTimeout: 2 * time.Second}})
	require.ErrorContains(t, s.RestartChild(t.Context(), "agent"), "did not answer init with agent_status ready within 2s")
	require.ErrorIs(t, s.SendQuery(protocol.AgentQuery{Query: "hello"}), router.ErrNotConnected)
}
