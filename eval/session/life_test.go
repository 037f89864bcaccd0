package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
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

func stateOf(t *testing.T, e *trace.Entry) session.State {
	t.Helper()
	var state struct {
		State session.State `json:"state"`
	}
	require.NoError(t, json.Unmarshal(e.Body, &state))
	return state.State
}

// A cell runs when the notebook is collected: it is interrupted, the state is
// there, and the agent is refused from then on.
func TestCollectInterrupts(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	s := start(t, sup, session.Config{Kernel: python(t, sup), Agent: agent.Config{Command: playing("runs queries")}})
	const source = "found = 41\nwhile True: pass"
	require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: source}))
	require.Equal(t, session.StateWorking, s.State())
	s.await(t, "the cell", entry(trace.KernelToServer, protocol.TypeStartCell))
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
	result := s.await(t, "the end of the cell", entry(trace.KernelToServer, protocol.TypeCellResult))
	require.Equal(t, "interrupted", result.Status)

	require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: "1"}))
	refused := s.await(t, "a refusal", entry(trace.ServerToAgent, protocol.TypeActionResponse))
	require.Contains(t, string(refused.Body), "session is ending")
}

// Kernel and console that never answer: each part says so, in its time.
func TestCollectFromNobody(t *testing.T) {
	t.Parallel()
	s := start(t, supervisor(t), session.Config{AwaitConsole: true})
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

// Of a dead kernel the notebook is left, and how it died.
func TestCollectFromDeadKernel(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	s := start(t, sup, session.Config{Kernel: python(t, sup)})
	_, err := s.Execute(t.Context(), "1", generous)
	require.NoError(t, err)
	require.True(t, s.IsKernelAlive())
	require.NoError(t, syscall.Kill(s.KernelPID(), syscall.SIGKILL))
	s.await(t, "its end", entry(trace.Session, router.TypePeerEnded))
	require.False(t, s.IsKernelAlive())
	state := s.CollectState(t.Context())
	require.JSONEq(t, `{"cell_count":0,"notebook_name":"notebook","cells":[]}`, string(state.Context))
	require.Equal(t, map[string]string{
		"globals":    "request_globals_summary: the kernel has ended: kernel was killed by SIGKILL",
		"reactivity": "request_reactivity_summary: the kernel has ended: kernel was killed by SIGKILL",
	}, state.Errors)
	require.EqualError(t, s.KernelError(), "kernel was killed by SIGKILL")
}

func TestExecute(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	s := start(t, sup, session.Config{Kernel: python(t, sup)})
	done, err := s.Execute(t.Context(), "print('said'); x = 6\nx * 7", generous)
	require.NoError(t, err)
	require.Equal(t, "ok", done.Status)
	require.Equal(t, "said\n", done.Stdout)
	require.Equal(t, "42", *done.Result)

	nothing, err := s.Execute(t.Context(), "", generous)
	require.NoError(t, err, "code may be empty")
	require.Equal(t, "ok", nothing.Status)

	failed, err := s.Execute(t.Context(), "1 / 0", generous)
	require.NoError(t, err, "the code failed, not its execution")
	require.Equal(t, "error", failed.Status)
	require.Equal(t, "ZeroDivisionError", failed.EName)

	_, err = s.Execute(t.Context(), "while True: pass", 200*time.Millisecond)
	require.EqualError(t, err, "execute_code: execute_code did not end within 200ms and was interrupted")
	again, err := s.Execute(t.Context(), "x", generous)
	require.NoError(t, err)
	require.Equal(t, "6", *again.Result, "it is the same kernel")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	_, err = s.Execute(ctx, "x", generous)
	require.ErrorIs(t, err, errEnough)
}

// Two children print at the same time, in pieces: every line is whole, and the
// last one is there although it did not end.
func TestPrintedLinesAreWhole(t *testing.T) {
	t.Parallel()
	var printed sheet
	s := start(t, supervisor(t), session.Config{
		Kernel: kernel.Config{Command: playing("talker")}, Agent: agent.Config{Command: playing("talker")}, ChildOutput: &printed,
	})
	s.await(t, "the first to be done", func(e *trace.Entry) bool { return e.Type == protocol.TypeError })
	s.await(t, "the second", func(e *trace.Entry) bool { return e.Type == protocol.TypeError })
	require.NoError(t, s.End(t.Context(), "enough"))
	var want []string
	for _, name := range []string{"kernel", "agent"} {
		for i := range lines {
			line := name + ": " + talked(i)
			want = append(want, line, line) // stdout and stderr
		}
		want = append(want, name+": the end")
	}
	slices.Sort(want)
	require.Equal(t, want, slices.Sorted(slices.Values(printed.lines())))
}

// A line that does not end is broken, and there is an end to what is kept.
func TestPrintedIsBounded(t *testing.T) {
	t.Parallel()
	var printed sheet
	flood := shell(`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`)
	flood[2] = "head -c 12000000 /dev/zero | tr '\\0' x; " + flood[2]
	s := start(t, supervisor(t), session.Config{Agent: agent.Config{Command: flood}, ChildOutput: &printed})
	require.NoError(t, s.End(t.Context(), "enough"))
	got := printed.lines()
	last := len(got) - 1
	require.Equal(t, "[more than 10 MiB were printed: the rest is left out]", got[last])
	size := 0
	for _, line := range got[:last] {
		require.Equal(t, "agent: ", strings.Trim(line, "x"))
		require.LessOrEqual(t, len(line), 256<<10)
		size += len(line)
	}
	require.Greater(t, size, 10<<20)
	require.Less(t, size, 11<<20)
}

// A kernel gets no key of a model and nothing else it has no need of; an agent
// gets what the server has, less the server's own settings. Both work in the
// sandbox.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	var printed sheet
	sup := supervisor(t)
	s := start(t, sup, session.Config{
		Kernel: python(t, sup), ChildOutput: &printed,
		Agent:   agent.Config{Command: playing("shows environment"), PassVariables: []string{"ASSAY_PASSED"}},
		Environ: append(os.Environ(), "ANTHROPIC_API_KEY=key", "OPENAI_API_KEY=key", "ASSAY_PASSED=yes", "ASSAY_KEPT=no", "LC_TIME=C", "LATCH_SANDBOX_ROOT=/elsewhere"),
	})
	done, err := s.Execute(t.Context(), "import os, json; print(json.dumps({**os.environ, 'folder': os.getcwd()}))", generous)
	require.NoError(t, err)
	var kernelHas map[string]string
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &kernelHas))
	for name := range kernelHas {
		require.NotRegexp(t, "KEY|TOKEN|SECRET|^ASSAY_[^S]", name)
	}
	sandbox := s.Workdir()
	require.Equal(t, sandbox, kernelHas["folder"])
	require.Equal(t, sandbox, kernelHas["LATCH_SANDBOX_ROOT"])
	require.Equal(t, "s", kernelHas["ASSAY_SESSION"])
	require.Equal(t, "C", kernelHas["LC_TIME"])
	for name, folder := range map[string]string{"HOME": "home", "TMPDIR": "tmp", "MPLCONFIGDIR": "mpl"} {
		require.Equal(t, filepath.Join(sandbox, ".assay", folder), kernelHas[name])
		require.DirExists(t, kernelHas[name])
	}

	require.NoError(t, s.End(t.Context(), "enough"))
	agentHas := printed.lines()
	for _, want := range []string{
		"folder=" + sandbox, "LATCH_SANDBOX_ROOT=" + sandbox, "ASSAY_SESSION=s", "ASSAY_PASSED=yes", "AGENT_DEBUG=1", "ANTHROPIC_API_KEY=key",
	} {
		require.Contains(t, agentHas, "agent: "+want)
	}
	own := slices.DeleteFunc(agentHas, func(line string) bool { return !strings.HasPrefix(line, "agent: ASSAY_") })
	require.ElementsMatch(t, []string{"agent: ASSAY_SESSION=s", "agent: ASSAY_PASSED=yes"}, own)
}

// The server holds the notebook of a session without consoles, from its start.
func TestNobodyElseHolds(t *testing.T) {
	t.Parallel()
	s := start(t, supervisor(t), session.Config{})
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.Console{ConnID: 1, Name: "1"})
	require.ErrorIs(t, err, session.ErrHeldByServer)
	require.NoError(t, errors.Join(ours.Close(protocol.CloseNormal, ""), theirs.Close(protocol.CloseNormal, "")))
}

// The wait for a console is given up with its context, and with its agent.
func TestWaitForAConsole(t *testing.T) {
	t.Parallel()
	s := start(t, supervisor(t), session.Config{AwaitConsole: true})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	require.ErrorIs(t, s.AwaitHolder(ctx), errEnough)
	require.NoError(t, s.StopAgent(t.Context()))
	require.Error(t, s.AwaitHolder(t.Context()))
	require.Equal(t, session.StateReady, s.State())
}
