package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// passingCode is what the scripted agent executes for a case. It requires that variables and files
// of an earlier case are gone, leaves some itself, and submits 42.
const passingCode = `
assert not os.path.exists("mine"), os.listdir()
open("mine", "w").close()
assert "earlier" not in globals()
earlier = True
assert run_cell("print('x' in globals())\nx = 1")["logs"] == "False\n"
submit(42)
`

// Cases run one after another, each with a new kernel, agent and sandbox. Consoles stay connected
// and receive ready and notebook_state for each. POST /case starts further cases, but only
// from the folders that --case names.
func TestServe_CasesRunInSequence(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cases")
	require.NoError(t, os.Mkdir(dir, 0o700))
	outside := writeAgentCase(t, t.TempDir(), "outside", passingCode)
	for _, id := range []string{"a", "b"} {
		writeAgentCase(t, dir, id, passingCode)
	}
	other := writeAgentCase(t, t.TempDir(), "c", strings.Replace(passingCode, "42", "41", 1))
	broken := writeFile(t, filepath.Join(filepath.Dir(other), "broken.json"), `{"id": "x"`)
	s := startServe(t, serveConfig{args: []string{"--case", dir, "--case", other + "#c"}})
	c := s.connectView(t, "default")
	passed := []bool{true, true, false}
	for n, want := range passed {
		require.Equal(t, want, c.awaitVerdict(t, n+1).Passed)
	}

	_, listed := s.get(t, "/api/cases")
	var listing struct {
		Cases []struct{ Path, ID, Task string }
	}
	require.NoError(t, json.Unmarshal([]byte(listed), &listing))
	require.Len(t, listing.Cases, 3)
	require.Equal(t, []string{"a", "b", "c"}, []string{listing.Cases[0].ID, listing.Cases[1].ID, listing.Cases[2].ID})
	require.NotEmpty(t, listing.Cases[0].Task)

	for _, tc := range []struct {
		body, problem string
		status        int
	}{
		{`{"path": "` + outside + `"}`, outside + " is in no folder that --case has named", http.StatusBadRequest},
		{`{"path": "` + dir + `/../../` + filepath.Base(outside) + `"}`, "no such file", http.StatusBadRequest},
		{`{"path": "` + dir + `", "id": "z"}`, `has no case \"z\"`, http.StatusBadRequest},
		{`{"path": "` + broken + `"}`, "broken.json", http.StatusBadRequest},
		{`{"path": 7}`, `want {\"path\"`, http.StatusBadRequest},
		{`{`, `want {\"path\"`, http.StatusBadRequest},
		{``, `want {\"path\"`, http.StatusBadRequest},
		{`{"path": "` + strings.Repeat("x", 65<<10) + `"}`, "request body too large", http.StatusBadRequest},
	} {
		status, answer := s.request(t, http.MethodPost, "/api/sessions/default/case", tc.body)
		require.Equal(t, tc.status, status, answer)
		require.Contains(t, answer, tc.problem)
	}
	status, answer := s.request(t, http.MethodGet, "/api/sessions/default/case", "")
	require.Equal(t, http.StatusMethodNotAllowed, status, answer)
	status, answer = s.request(t, http.MethodPost, "/api/sessions/default/case", `{"path": "`+listing.Cases[1].Path+`", "id": "b"}`)
	require.Equal(t, http.StatusAccepted, status, answer)
	require.True(t, c.awaitVerdict(t, 4).Passed)

	ready := c.run.itemsMatching(hasType("ready"))
	require.Len(t, ready, 4, "one ready for each case")
	require.Len(t, c.agent.itemsMatching(hasType("notebook_state")), 4)
	pids := map[int]bool{}
	for _, r := range ready {
		pids[r.PID] = true
		require.Equal(t, c.ready.Connection, r.Connection)
	}
	require.Len(t, pids, 4, "one kernel for each case")
	var ids []string
	for _, a := range s.awaitAttempts(t, 4) {
		require.Equal(t, runs.OutcomeCompleted, a.Outcome, a.Detail)
		ids = append(ids, a.CaseID)
	}
	require.Equal(t, []string{"a", "b", "c", "b"}, ids)
	entries, err := os.ReadDir(filepath.Join(s.dir, "runs"))
	require.NoError(t, err)
	require.Len(t, entries, 3, "one run for each --case and each request")
	s.stop(t)
}

// evalResult is the message eval_result, the verdict on a case.
type evalResult struct {
	CaseID  string          `json:"case_id"`
	Outcome string          `json:"outcome"`
	Detail  string          `json:"outcome_detail"`
	Passed  bool            `json:"passed"`
	Graders json.RawMessage `json:"graders"`
}

// awaitVerdict waits for the nth eval_result, counted from 1.
func (c *console) awaitVerdict(t *testing.T, n int) (r evalResult) {
	t.Helper()
	m := c.agent.awaitNthItem(t, n, "the verdict", hasType("eval_result"))
	require.NoError(t, json.Unmarshal([]byte(m.body), &r))
	return r
}

// With --headless a case begins without a console. A console that connects later shows it.
func TestServe_Headless(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--headless", "--case", writeAgentCase(t, t.TempDir(), "alone", passingCode)}})
	require.Equal(t, runs.OutcomeCompleted, s.awaitAttempts(t, 1)[0].Outcome)
	c := s.connectView(t, "default")
	require.Equal(t, evalResult{CaseID: "alone", Outcome: "completed", Passed: true, Graders: c.awaitVerdict(t, 1).Graders}, c.awaitVerdict(t, 1))
	require.Equal(t, []string{"ran"}, cellStatuses(c.shownCells(t)))
	_, session := s.get(t, "/api/sessions/default")
	require.Contains(t, session, `"verdict":true`)
	require.Contains(t, session, `"attempt":null,"result":{"type":"eval_result","case_id":"alone"`)
	s.stop(t)
}

// A case whose setup fails has the outcome setup_error, a case whose requirements are missing is
// skipped, and the next case runs.
func TestServe_SetupErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "2.json"), `{"id": "2-no-data", "task": "t", "data_node": "`+dir+`/nowhere.csv"}`)
	writeFile(t, filepath.Join(dir, "3.json"), `{"id": "3-bad-setup", "task": "t", "setup": "1 / 0"}`)
	writeFile(t, filepath.Join(dir, "4.json"), `{"id": "4-skipped", "task": "t", "requires": ["python:no_such_module"]}`)
	writeFile(t, filepath.Join(dir, "5.json"), `{"id": "5-no-data", "task": "t", "data_node": "`+dir+`/nowhere.csv"}`)
	writeFile(t, filepath.Join(dir, "6.json"), `{"id": "6-no-data", "task": "t", "data_node": "`+dir+`/nowhere.csv"}`)
	writeAgentCase(t, dir, "1-good", passingCode)
	writeAgentCase(t, dir, "7-good", passingCode)
	s := startServe(t, serveConfig{args: []string{"--case", dir}})
	c := s.connect(t, consoleOptions{})
	for n, want := range []string{"1-good completed", "2-no-data setup_error", "3-bad-setup setup_error", "5-no-data setup_error", "6-no-data setup_error", "7-good completed"} {
		got := c.awaitVerdict(t, n+1)
		require.Equal(t, want, got.CaseID+" "+got.Outcome)
		require.Equal(t, strings.HasSuffix(want, "completed"), got.Passed)
	}
	require.Contains(t, c.awaitVerdict(t, 2).Detail, "nowhere.csv")
	require.Contains(t, c.awaitVerdict(t, 3).Detail, "ZeroDivisionError")
	s.stderr.awaitItem(t, "the skipped case", func(line string) bool { return strings.HasPrefix(line, "SKIP  4-skipped: ") })
	s.stop(t)
}

// If a requested case cannot start, the consoles receive the reason and stay connected for the next
// case.
func TestServe_ReportsCaseThatCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := writeAgentCase(t, dir, "good", passingCode)
	skipped := writeFile(t, filepath.Join(dir, "skipped.json"), `{"id": "skipped", "task": "t", "requires": ["python:no_such_module"]}`)
	s := startServe(t, serveConfig{args: []string{"--case", good}})
	c := s.connectView(t, "default")
	require.True(t, c.awaitVerdict(t, 1).Passed)
	attach := func(path string) {
		status, answer := s.request(t, http.MethodPost, "/api/sessions/default/case", `{"path": "`+path+`"}`)
		require.Equal(t, http.StatusAccepted, status, answer)
	}
	awaitReason := func(reason string) {
		c.run.awaitItem(t, "the reason", hasTypeAndText("error", reason))
		c.agent.awaitItem(t, "the reason", hasTypeAndText("agent_error", reason))
	}
	attach(skipped)
	awaitReason("skipped.json could not be tried: every case was skipped")

	folder := filepath.Join(s.dir, "runs")
	require.NoError(t, os.Rename(folder, folder+"-moved"))
	writeFile(t, folder, "a file")
	attach(good)
	awaitReason("good.json could not be tried: run folder: ")
	require.NoError(t, os.Remove(folder))
	require.NoError(t, os.Rename(folder+"-moved", folder))

	attach(good)
	require.True(t, c.awaitVerdict(t, 2).Passed)
	s.stop(t)
}
