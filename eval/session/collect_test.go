package session_test

import (
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// stateInEntry returns the session's state in a trace entry of type state.
func stateInEntry(t *testing.T, e *trace.Entry) session.State {
	t.Helper()
	var state struct {
		State session.State `json:"state"`
	}
	require.NoError(t, json.Unmarshal(e.Body, &state))
	return state.State
}

// Collecting the state interrupts a running cell; the state is complete, and further actions of
// the agent are refused.
func TestCollectStateInterruptsCells(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: pythonKernelConfig(t, sup), Agent: agent.Config{Command: childCommand("runs queries")}})
	const source = "found = 41\nprint('it is set')\nwhile True: pass"
	require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: source}))
	require.Equal(t, session.StateWorking, s.State())
	s.awaitEntry(t, "the cell", entryMatcher(trace.KernelToServer, protocol.TypeKernelStdio))
	state := s.CollectState(t.Context())
	require.Equal(t, session.StateCollecting, s.State())
	require.Empty(t, state.Errors)
	var overview struct {
		Cells []struct {
			Source string `json:"source"`
		} `json:"cells"`
	}
	require.NoError(t, json.Unmarshal(state.Context, &overview))
	require.Len(t, overview.Cells, 1)
	require.Equal(t, source, overview.Cells[0].Source)
	require.Contains(t, string(state.Globals), `"found"`)
	require.Contains(t, string(state.Reactivity), `"cell_reactivity"`)
	result := s.awaitEntry(t, "the end of the cell", entryMatcher(trace.KernelToServer, protocol.TypeCellResult))
	require.Equal(t, "interrupted", result.Status)

	require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: "1"}))
	refused := s.awaitEntry(t, "a refusal", entryMatcher(trace.ServerToAgent, protocol.TypeActionResponse))
	require.Contains(t, string(refused.Body), "session is ending")
}

// If kernel and console never answer, each part of the collected state has an error after
// CollectTimeout.
func TestCollectStateTimesOutPerPart(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{AwaitConsole: true})
	began := time.Now()
	state := s.CollectState(t.Context())
	require.WithinRange(t, time.Now(), began.Add(session.CollectTimeout), began.Add(session.CollectTimeout+2*time.Second))
	require.Equal(t, map[string]string{
		"context":    "get_context: not collected within 5s",
		"globals":    "request_globals_summary: not collected within 5s",
		"reactivity": "request_reactivity_summary: not collected within 5s",
	}, state.Errors)
	require.Nil(t, state.Context)
	require.Nil(t, state.Globals)
	require.Nil(t, state.Reactivity)
}

// If the kernel is dead, the context is still collected, and the errors of the other parts say
// how the kernel died.
func TestCollectStateOfDeadKernel(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: pythonKernelConfig(t, sup)})
	_, err := s.Execute(t.Context(), "1", testTimeout)
	require.NoError(t, err)
	require.True(t, s.IsKernelAlive())
	require.NoError(t, syscall.Kill(s.KernelPID(), syscall.SIGKILL))
	s.awaitEntry(t, "its end", entryMatcher(trace.HopSession, router.EntryTypePeerEnded))
	require.False(t, s.IsKernelAlive())
	state := s.CollectState(t.Context())
	require.JSONEq(t, `{"cell_count":0,"notebook_name":"notebook","cells":[]}`, string(state.Context))
	require.Equal(t, map[string]string{
		"globals":    "request_globals_summary: the kernel has ended: kernel was killed by SIGKILL",
		"reactivity": "request_reactivity_summary: the kernel has ended: kernel was killed by SIGKILL",
	}, state.Errors)
	require.EqualError(t, s.KernelError(), "kernel was killed by SIGKILL")
}
