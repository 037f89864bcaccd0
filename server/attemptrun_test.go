package server_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/trace"
	"assay/kernel"
	"assay/server"
	"assay/testcases"
)

// attemptRun is an attempt in progress.
type attemptRun struct {
	*serverHarness
	agent  *fakeAgent // nil if the attempt has another agent
	dir    string     // the attempt's folder
	result chan runs.Attempt
}

// attemptOptions says how startAttempt makes an attempt.
type attemptOptions struct {
	kernel       kernel.Config // zero: the Python kernel
	agentCommand []string      // nil: a fakeAgent
	limits       runs.Limits   // zero: those of the case
	dataDir      string        // in which addresses with latch:// are found
	withConsole  bool          // publish the attempt, and wait for a console to hold the notebook; else the server holds it
}

// startAttempt starts an attempt at a case, a JSON object. With a console, it returns
// when the session has started.
func (h *serverHarness) startAttempt(t *testing.T, caseText string, o attemptOptions) *attemptRun {
	t.Helper()
	path := filepath.Join(t.TempDir(), "case.json")
	require.NoError(t, os.WriteFile(path, []byte(caseText), 0o600))
	cases, err := testcases.Load([]string{path}, testcases.Options{Data: map[string]string{"latch://": o.dataDir}})
	require.NoError(t, err)
	run := &attemptRun{serverHarness: h, dir: t.TempDir(), result: make(chan runs.Attempt, 1)}
	if o.agentCommand == nil {
		run.agent = newFakeAgent(t, h.Supervisor.TempDir())
		o.agentCommand = run.agent.command
	}
	if o.kernel.Command == nil {
		o.kernel = h.pythonKernelConfig(t)
	}
	cfg := attempt.Config{
		Supervisor: h.Supervisor, Kernel: o.kernel, LimitOverrides: o.limits, Environ: os.Environ(), WorkdirRoot: h.Supervisor.TempDir(),
		AgentConfig: func(string) (agent.Config, error) { return agent.Config{Command: o.agentCommand}, nil },
	}
	started, publishResult := make(chan struct{}), func(runs.Attempt) {}
	if o.withConsole {
		publisher := h.Server.PublishAttempts(server.DefaultSessionID)
		t.Cleanup(publisher.Close)
		cfg.AwaitConsole, cfg.SessionID, cfg.SharedConsoles = true, server.DefaultSessionID, h.sharedConsoles
		cfg.OnTrace, cfg.OnSession = publisher.OnTrace, func(live *session.Session) {
			publisher.OnSession(live)
			close(started)
		}
		publishResult = publisher.AttemptEnded
	} else {
		close(started)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		result := attempt.Run(ctx, cfg, attempt.Job{Case: cases[0], Epoch: 1, Try: 1, Dir: run.dir, RelDir: "attempts/1"})
		publishResult(result)
		run.result <- result
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	select {
	case <-started:
	case result := <-run.result:
		require.Fail(t, "the attempt did not start", "%+v", result)
	}
	return run
}

// awaitResult waits for the end of the attempt.
func (r *attemptRun) awaitResult(t *testing.T) runs.Attempt {
	t.Helper()
	select {
	case result := <-r.result:
		return result
	case <-time.After(generousTimeout):
		require.Fail(t, "the attempt does not end")
		return runs.Attempt{}
	}
}

// records reads the attempt's trace.
func (r *attemptRun) records(t *testing.T) (records []trace.Record) {
	t.Helper()
	file, err := os.Open(filepath.Join(r.dir, "trace.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	_, err = trace.ReadRecords(file, func(record trace.Record) error {
		records = append(records, record)
		return nil
	})
	require.NoError(t, err)
	return records
}

// seqOf returns the number of the first trace entry with this hop and message type
// whose message contains text.
func (r *attemptRun) seqOf(t *testing.T, hop trace.Hop, messageType, text string) int64 {
	t.Helper()
	for _, record := range r.records(t) {
		if record.Hop == hop && record.Type == messageType && strings.Contains(string(record.Message), text) {
			return record.Seq
		}
	}
	require.Fail(t, "not in the trace", "%s %s %s", hop, messageType, text)
	return 0
}

// collectedState reads what the attempt has collected at its end.
func (r *attemptRun) collectedState(t *testing.T) (state session.CollectedState) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "state.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &state))
	return state
}
