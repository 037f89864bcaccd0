package main

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/internal/protocol"
)

// humanCase returns a case whose answer is {"total": 45}, with these fields in addition.
func humanCase(id string, fields jsonObject) jsonObject {
	c := jsonObject{
		"id": id, "task": "Sum the numbers from 0 to 9.", "files": jsonObject{"notes.txt": "whole numbers"},
		"grader": jsonObject{"type": "exact", "config": jsonObject{"ground_truth": jsonObject{"total": 45}}},
	}
	maps.Copy(c, fields)
	return c
}

// startHuman starts assay serve for a person called ada, with these cases.
func startHuman(t *testing.T, config serveConfig, cases ...jsonObject) *serveProcess {
	t.Helper()
	text, err := json.Marshal(cases)
	require.NoError(t, err)
	file := writeFile(t, filepath.Join(t.TempDir(), "cases.json"), string(text))
	config.args = append([]string{"--agent", "human", "--person", "ada", "--case", file}, config.args...)
	return startServe(t, config)
}

// connectPerson connects a view to the attempt that is about to start.
func (s *serveProcess) connectPerson(t *testing.T) *console {
	t.Helper()
	return s.connectView(t, "default")
}

// startAttempt starts the console's nth attempt, counted from 1, and waits until it has begun.
func (c *console) startAttempt(t *testing.T, n int) {
	t.Helper()
	c.agent.awaitNthItem(t, n, "the notebook", hasType("notebook_state"))
	isBeginning := hasTypeAndText("agent_status", protocol.AgentAwaitingUser)
	earlier := len(c.agent.itemsMatching(isBeginning))
	c.agent.send(jsonObject{"type": "attempt_start"})
	c.agent.awaitNthItem(t, earlier+1, "the beginning", isBeginning)
}

// submitAnswer sends the person's answer.
func (c *console) submitAnswer(answer string) {
	c.agent.send(jsonObject{"type": "agent_query", "query": answer, "request_id": uuid.NewString()})
}

// A person solves a case, loses the connection meanwhile, fails the next one and gives up the third.
func TestHuman_WorksOnCasesOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := startHuman(t, serveConfig{}, humanCase("solved", nil), humanCase("wrong", nil), humanCase("given-up", nil))
	c := s.connectPerson(t)
	_, config := s.get(t, "/api/config")
	require.Contains(t, config, `"person":"ada"`)
	_, session := s.get(t, "/api/sessions/default")
	require.Contains(t, session, `"files":["notes.txt"]`)
	require.Contains(t, session, `"limits":{"wall_s":600,"idle_s":0`, "a person may think")

	beforeStart := time.Now()
	c.startAttempt(t, 1)
	made := c.doAction(t, "create_cell", jsonObject{"cell_type": "code", "source": "total"})
	c.doAction(t, "edit_cell", jsonObject{"cell_id": made.CellID, "source": "total = sum(ran"})
	c.doAction(t, "edit_cell", jsonObject{"cell_id": made.CellID, "source": "total = sum(range"})
	c.run.send(jsonObject{"type": "run_cell", "cell_id": made.CellID, "code": "total = sum(range(10))\nprint(total)"})
	c.agent.awaitItem(t, "the end of the run", hasTypeAndCell("cell_result", made.CellID))
	c.disconnect()
	c = s.connectPerson(t)
	require.Equal(t, "total = sum(range(10))\nprint(total)", c.shownCells(t)[0].Source)
	c.submitAnswer(`{"total": 45}`)
	verdict := c.awaitVerdict(t, 1)
	require.True(t, verdict.Passed, verdict.Detail)

	c.startAttempt(t, 2)
	c.submitAnswer(`{'total': 45}`)
	c.agent.awaitItem(t, "what is wrong", hasTypeAndText("agent_error", "not submitted: the answer is not valid JSON"))
	c.submitAnswer(`{"total": 44}`)
	require.False(t, c.awaitVerdict(t, 2).Passed)

	c.startAttempt(t, 3)
	c.agent.send(jsonObject{"type": "agent_cancel"})
	require.EqualValues(t, runs.OutcomeStopped, c.awaitVerdict(t, 3).Outcome)
	c.disconnect()

	attempts := s.awaitAttempts(t, 3)
	for i, want := range []runs.Outcome{runs.OutcomeCompleted, runs.OutcomeCompleted, runs.OutcomeStopped} {
		require.Equal(t, want, attempts[i].Outcome)
		require.Equal(t, "ada", attempts[i].Person)
		require.Zero(t, attempts[i].Interventions)
		require.Zero(t, attempts[i].TamperSignals)
	}
	require.Equal(t, 3, attempts[0].Usage.Actions, "create, edit, run")
	require.True(t, attempts[0].Started.After(beforeStart), "the time before the start does not count")
	require.Equal(t, 1, attempts[0].Usage.CellsRun)
	require.JSONEq(t, `{"total": 45}`, string(attempts[0].Answer))
	require.Contains(t, attempts[2].Detail, "it has reported: the person gave up")
	run, err := os.ReadFile(filepath.Join(s.dir, "runs", attempts[0].Run, "run.json"))
	require.NoError(t, err)
	require.Contains(t, string(run), `"agent": "human"`)
	require.Contains(t, string(run), `"person": "ada"`)
	s.stop(t)
}

// Before the start and after the submission the notebook stands still.
func TestHuman_NotebookStandsStillBeforeAndAfter(t *testing.T) {
	t.Parallel()
	s := startHuman(t, serveConfig{}, humanCase("still", jsonObject{
		"graders": []any{jsonObject{"type": "kernel_check", "config": jsonObject{"code": "value == 1"}}}, "grader": nil,
	}))
	c := s.connectPerson(t)
	requireRefused := func(why string) {
		t.Helper()
		answer := c.doAction(t, "create_cell", jsonObject{"source": "value = 2", "auto_run": true})
		require.Contains(t, answer.Error, why)
		id := uuid.NewString()
		c.run.send(jsonObject{"type": "execute_code", "code": "value = 2", "agent_tx_id": id})
		c.run.awaitItem(t, "the refusal", func(m consoleMessage) bool {
			return m.Type == "error" && strings.Contains(m.body, why) && strings.Contains(m.body, id)
		})
		before := len(c.run.itemsMatching(hasTypeAndText("error", why)))
		c.run.send(jsonObject{"type": "run_cell", "cell_id": "x", "code": "value = 2"})
		c.run.awaitNthItem(t, before+1, "the refusal", hasTypeAndText("error", why))
	}
	requireRefused("the attempt has not started yet")
	c.submitAnswer("1")
	c.agent.awaitItem(t, "the refusal", hasTypeAndText("agent_error", "the attempt has not started yet"))
	require.Empty(t, c.shownCells(t))

	c.startAttempt(t, 1)
	c.runNewCell(t, 0, "value = 1\n"+sourceWaitingForFile("still running", "end"))
	c.agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "still running"))
	c.submitAnswer("1")
	c.agent.awaitItem(t, "the submission", hasTypeAndText("agent_status", protocol.AgentDone))
	requireRefused("the answer was submitted")
	folders, err := filepath.Glob(filepath.Join(s.dir, "boxes", "sandbox-*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	writeFile(t, filepath.Join(folders[0], "end"), "")
	require.True(t, c.awaitVerdict(t, 1).Passed)
	require.Len(t, c.shownCells(t), 1)
	attempt := s.awaitAttempts(t, 1)[0]
	require.Zero(t, attempt.TamperSignals)
	require.Equal(t, 1, attempt.Usage.Actions)
	s.stop(t)
}

// The limits hold for a person too, and the time begins with the start.
func TestHuman_Limits(t *testing.T) {
	t.Parallel()
	s := startHuman(t, serveConfig{args: []string{"--wall", "2s", "--actions", "2"}}, humanCase("late", nil), humanCase("busy", nil), humanCase("killed", nil))
	c := s.connectPerson(t)
	c.startAttempt(t, 1)
	verdict := c.awaitVerdict(t, 1)
	require.EqualValues(t, runs.OutcomeLimit, verdict.Outcome)
	require.Contains(t, verdict.Detail, "wall: configured 2s")
	require.Contains(t, verdict.Detail, "the person works")
	require.False(t, verdict.Passed)

	c.startAttempt(t, 2)
	for range 3 {
		c.agent.send(jsonObject{"type": "notebook_action", "action": "create_cell", "params": jsonObject{"source": "1"}, "tx_id": uuid.NewString()})
	}
	require.Contains(t, c.awaitVerdict(t, 2).Detail, "actions: configured 2, measured 3")

	c.startAttempt(t, 3)
	c.runNewCell(t, 0, "import os; os._exit(3)")
	verdict = c.awaitVerdict(t, 3)
	require.EqualValues(t, runs.OutcomeKernelExit, verdict.Outcome, "the person's code is the agent's")
	require.NotNil(t, s.awaitAttempts(t, 3)[2].Passed, "it was graded")
	require.False(t, verdict.Passed)
	s.stop(t)
}

// Without EVAL_SANDBOX=1 only the owner of the session may start and submit; the page cannot hold the notebook.
func TestHuman_OnlyTheOwnerWorks(t *testing.T) {
	t.Parallel()
	s := startHuman(t, serveConfig{token: testToken}, humanCase("owned", nil))
	owner := s.connectPerson(t)
	other := s.connectPerson(t)
	other.agent.send(jsonObject{"type": "attempt_start"})
	other.agent.awaitItem(t, "the refusal", hasTypeAndText("not_session_owner_error", "attempt_start: another console owns this session"))
	holder := s.connect(t, consoleOptions{role: "holder"})
	require.Contains(t, holder.agent.awaitClose(t).Reason, "the server holds this notebook")

	owner.startAttempt(t, 1)
	other.submitAnswer(`{"total": 45}`)
	other.agent.awaitItem(t, "the refusal", hasTypeAndText("not_session_owner_error", "agent_query"))
	owner.submitAnswer(`{"total": 45}`)
	require.True(t, owner.awaitVerdict(t, 1).Passed)
	require.True(t, other.awaitVerdict(t, 1).Passed, "everybody sees the verdict")

	// There is no session without a case.
	refused := s.dial(t, "/run?session=another", nil)
	refused.send(jsonObject{"token": s.token})
	require.Contains(t, refused.awaitClose(t).Reason, "--agent human works on cases, and this session has none")
	s.stop(t)
}

// With assay run --ui a person makes the attempts of a run, in one console.
func TestHuman_Run(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := json.Marshal([]jsonObject{humanCase("first", nil), humanCase("second", nil)})
	require.NoError(t, err)
	file := writeFile(t, filepath.Join(dir, "cases.json"), string(text))
	cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", "human", "--ui=127.0.0.1:0", "--out", filepath.Join(dir, "runs", "one"))
	cmd.Env = append(os.Environ(), "EVAL_SANDBOX=1", "USER=grace")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	s := &serveProcess{token: "local-dev-token"}
	for s.url == "" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		_, address, _ := strings.Cut(strings.TrimSpace(line), "grace works on the cases at ")
		s.url = strings.TrimSuffix(address, "/")
	}
	c := s.connectPerson(t)
	for n, answer := range []string{`{"total": 45}`, `{"total": 44}`} {
		c.startAttempt(t, n+1)
		c.runNewCell(t, 0, "sum(range(10))")
		c.submitAnswer(answer)
		require.Equal(t, n == 0, c.awaitVerdict(t, n+1).Passed)
	}
	for _, err := lines.ReadString('\n'); err == nil; _, err = lines.ReadString('\n') { //nolint:revive // reads to the end
	}
	require.Error(t, cmd.Wait())
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "one case was not passed")
	recorded, err := os.ReadFile(filepath.Join(dir, "runs", "one", "attempts.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(recorded), `"person":"grace"`))
	require.Equal(t, 2, strings.Count(string(recorded), `"interventions":0`))
	info, err := os.ReadFile(filepath.Join(dir, "runs", "one", "run.json"))
	require.NoError(t, err)
	require.Contains(t, string(info), `"jobs": 1`)
}
