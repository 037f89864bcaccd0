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

// plain is what an actor does for a case: it leaves a variable and a file, finds
// none of an earlier case, and answers.
const plain = `
assert not os.path.exists("mine"), os.listdir()
open("mine", "w").close()
assert "earlier" not in globals()
earlier = True
assert run("print('x' in globals())\nx = 1")["logs"] == "False\n"
submit(42)
`

// Cases are tried one after the other, each with a kernel, an agent and a
// sandbox of its own; consoles stay and are told anew each time. More can be
// asked for, from the same folders.
func TestServe_CasesInARow(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cases")
	require.NoError(t, os.Mkdir(dir, 0o700))
	outside := actorCase(t, t.TempDir(), "outside", plain)
	for _, id := range []string{"a", "b"} {
		actorCase(t, dir, id, plain)
	}
	other := actorCase(t, t.TempDir(), "c", strings.Replace(plain, "42", "41", 1))
	broken := write(t, filepath.Join(filepath.Dir(other), "broken.json"), `{"id": "x"`)
	s := open(t, plan{args: []string{"--case", dir, "--case", other + "#c"}})
	c := s.view(t, "default")
	passed := []bool{true, true, false}
	for n, want := range passed {
		require.Equal(t, want, c.verdict(t, n+1).Passed)
	}

	_, listed := s.get(t, "/api/cases")
	var may struct {
		Cases []struct{ Path, ID, Task string }
	}
	require.NoError(t, json.Unmarshal([]byte(listed), &may))
	require.Len(t, may.Cases, 3)
	require.Equal(t, []string{"a", "b", "c"}, []string{may.Cases[0].ID, may.Cases[1].ID, may.Cases[2].ID})
	require.NotEmpty(t, may.Cases[0].Task)

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
	status, answer = s.request(t, http.MethodPost, "/api/sessions/default/case", `{"path": "`+may.Cases[1].Path+`", "id": "b"}`)
	require.Equal(t, http.StatusAccepted, status, answer)
	require.True(t, c.verdict(t, 4).Passed)

	ready := c.run.all(ofType("ready"))
	require.Len(t, ready, 4, "a session each")
	require.Len(t, c.agent.all(ofType("notebook_state")), 4)
	pids := map[int]bool{}
	for _, r := range ready {
		pids[r.PID] = true
		require.Equal(t, c.ready.Connection, r.Connection)
	}
	require.Len(t, pids, 4, "a kernel each")
	var ids []string
	for _, a := range s.attempts(t, 4) {
		require.Equal(t, runs.OutcomeCompleted, a.Outcome, a.Detail)
		ids = append(ids, a.CaseID)
	}
	require.Equal(t, []string{"a", "b", "c", "b"}, ids)
	entries, err := os.ReadDir(filepath.Join(s.dir, "runs"))
	require.NoError(t, err)
	require.Len(t, entries, 3, "a run for each --case and each request")
	s.stop(t)
}

type result struct {
	CaseID  string          `json:"case_id"`
	Outcome string          `json:"outcome"`
	Detail  string          `json:"outcome_detail"`
	Passed  bool            `json:"passed"`
	Graders json.RawMessage `json:"graders"`
}

// verdict waits for the nth.
func (c *console) verdict(t *testing.T, n int) (r result) {
	t.Helper()
	m := c.agent.awaitNth(t, n, "the verdict", ofType("eval_result"))
	require.NoError(t, json.Unmarshal([]byte(m.body), &r))
	return r
}

// Without consoles a case begins by itself; who comes then shows it.
func TestServe_Headless(t *testing.T) {
	t.Parallel()
	s := open(t, plan{args: []string{"--headless", "--case", actorCase(t, t.TempDir(), "alone", plain)}})
	require.Equal(t, runs.OutcomeCompleted, s.attempts(t, 1)[0].Outcome)
	c := s.view(t, "default")
	require.Equal(t, result{CaseID: "alone", Outcome: "completed", Passed: true, Graders: c.verdict(t, 1).Graders}, c.verdict(t, 1))
	require.Equal(t, []string{"ran"}, statuses(c.shown(t)))
	_, session := s.get(t, "/api/sessions/default")
	require.Contains(t, session, `"verdict":true`)
	require.Contains(t, session, `"attempt":null,"result":{"type":"eval_result","case_id":"alone"`)
	s.stop(t)
}

// A case that cannot be tried has a verdict too, and the next one is tried.
func TestServe_SetupErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "2.json"), `{"id": "2-no-data", "task": "t", "data_node": "`+dir+`/nowhere.csv"}`)
	write(t, filepath.Join(dir, "3.json"), `{"id": "3-bad-setup", "task": "t", "setup": "1 / 0"}`)
	write(t, filepath.Join(dir, "4.json"), `{"id": "4-skipped", "task": "t", "requires": ["python:no_such_module"]}`)
	write(t, filepath.Join(dir, "5.json"), `{"id": "5-no-data", "task": "t", "data_node": "`+dir+`/nowhere.csv"}`)
	write(t, filepath.Join(dir, "6.json"), `{"id": "6-no-data", "task": "t", "data_node": "`+dir+`/nowhere.csv"}`)
	actorCase(t, dir, "1-good", plain)
	actorCase(t, dir, "7-good", plain)
	s := open(t, plan{args: []string{"--case", dir}})
	c := s.come(t, who{})
	for n, want := range []string{"1-good completed", "2-no-data setup_error", "3-bad-setup setup_error", "5-no-data setup_error", "6-no-data setup_error", "7-good completed"} {
		got := c.verdict(t, n+1)
		require.Equal(t, want, got.CaseID+" "+got.Outcome)
		require.Equal(t, strings.HasSuffix(want, "completed"), got.Passed)
	}
	require.Contains(t, c.verdict(t, 2).Detail, "nowhere.csv")
	require.Contains(t, c.verdict(t, 3).Detail, "ZeroDivisionError")
	s.said.await(t, "the fourth", func(line string) bool { return strings.HasPrefix(line, "SKIP  4-skipped: ") })
	s.stop(t)
}

// Consoles that wait are told why a case cannot be tried, and stay: the next one
// may be.
func TestServe_CasesThatCannotBeTried(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := actorCase(t, dir, "good", plain)
	skipped := write(t, filepath.Join(dir, "skipped.json"), `{"id": "skipped", "task": "t", "requires": ["python:no_such_module"]}`)
	s := open(t, plan{args: []string{"--case", good}})
	c := s.view(t, "default")
	require.True(t, c.verdict(t, 1).Passed)
	attach := func(path string) {
		status, answer := s.request(t, http.MethodPost, "/api/sessions/default/case", `{"path": "`+path+`"}`)
		require.Equal(t, http.StatusAccepted, status, answer)
	}
	told := func(reason string) {
		c.run.await(t, "why not", saying("error", reason))
		c.agent.await(t, "why not", saying("agent_error", reason))
	}
	attach(skipped)
	told("skipped.json could not be tried: every case was skipped")

	folder := filepath.Join(s.dir, "runs")
	require.NoError(t, os.Rename(folder, folder+"-away"))
	write(t, folder, "a file")
	attach(good)
	told("good.json could not be tried: run folder: ")
	require.NoError(t, os.Remove(folder))
	require.NoError(t, os.Rename(folder+"-away", folder))

	attach(good)
	require.True(t, c.verdict(t, 2).Passed)
	s.stop(t)
}
