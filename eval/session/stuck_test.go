package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/kernel"
)

// PK-7: what swallows every interrupt is told to stop, told again after a
// second, and after five the kernel is replaced; each is said.
func TestPK7ARunThatSwallowsInterruptsCostsTheKernel(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	s := start(t, sup, session.Config{Kernel: python(t, sup), Agent: agent.Config{Command: playing("runs queries")}, IsEvaluation: true})
	query := func(source string) { require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: source})) }
	query("kept = 1")
	s.await(t, "the first cell", entry(trace.KernelToServer, protocol.TypeCellResult))
	query("import time\ndef deaf():\n    while True:\n        try:\n            while True:\n                print('on', flush=True)\n                time.sleep(0.01)\n        except KeyboardInterrupt: pass\ndeaf()")
	cell := s.await(t, "the cell", startsCell).CellID
	says := func(text string) func(e *trace.Entry) bool {
		return func(e *trace.Entry) bool {
			body, err := protocol.JSON(e.Body)
			return err == nil && e.Hop == trace.KernelToServer && e.Type == protocol.TypeKernelStdio && strings.Contains(string(body), text)
		}
	}
	s.await(t, "the loop", says("on"))
	old := s.KernelPID()
	told := time.Now()
	require.NoError(t, s.Router().ToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell}))
	s.await(t, "the second interrupt", says("it has not stopped for 1s, and is interrupted again"))
	require.GreaterOrEqual(t, time.Since(told), kernel.RepeatStopDelay)
	s.await(t, "the end", says("it has not stopped for 5s: its kernel is killed"))
	require.GreaterOrEqual(t, time.Since(told), kernel.StuckTimeout)
	failed := s.await(t, "the run's end for the agent", func(e *trace.Entry) bool {
		return e.Hop == trace.ServerToAgent && e.Type == protocol.TypeKernelMessage && strings.Contains(string(e.Body), protocol.TypeCellResult)
	})
	require.Contains(t, string(failed.Body), "has not stopped for 5s, and cannot be interrupted; another takes its place, without any of its variables")
	s.await(t, "another kernel", entry(trace.KernelToServer, protocol.TypeReady))
	query("print('kept' in globals())")
	s.await(t, "the next cell", says("False"))
	require.NotEqual(t, old, s.KernelPID())
}

// What ends in time, or is not on, costs nothing.
func TestPK7ARunThatStopsLeavesTheKernel(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	s := start(t, sup, session.Config{Kernel: python(t, sup), Agent: agent.Config{Command: playing("runs queries")}})
	require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: "import time\ntry:\n    print('on', flush=True)\n    while True: pass\nfinally:\n    time.sleep(2)"}))
	cell := s.await(t, "the cell", startsCell).CellID
	s.await(t, "the loop", entry(trace.KernelToServer, protocol.TypeKernelStdio))
	for range 3 {
		require.NoError(t, s.Router().ToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell}))
	}
	require.NoError(t, s.Router().ToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: "another"}))
	result := s.await(t, "its result", entry(trace.KernelToServer, protocol.TypeCellResult))
	require.Equal(t, protocol.StatusInterrupted, result.Status)
	require.True(t, s.IsKernelAlive())
}

// startsCell is the start of a run; without a cell, all is idle.
func startsCell(e *trace.Entry) bool {
	return e.Hop == trace.KernelToServer && e.Type == protocol.TypeStartCell && e.CellID != ""
}
