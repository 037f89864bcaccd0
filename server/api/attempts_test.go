package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/server/api"
)

// attemptPage is a response of …/attempts, with the lines decoded.
type attemptPage struct {
	Attempts []map[string]any
	api.PageEnd
}

// numbers returns the line numbers of the attempts.
func (p attemptPage) numbers() (numbers []int) {
	for _, item := range p.Attempts {
		n, _ := item["n"].(float64)
		numbers = append(numbers, int(n))
	}
	return numbers
}

func TestAttemptPages(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	for n := 1; n <= 7; n++ {
		recordAttempt(t, folder, s.createAttempt(t, folder, n, nil), n, runs.OutcomeCompleted, nil)
	}
	attempts := filepath.Join(s.dir, "r", "attempts.jsonl")
	var page attemptPage
	s.getJSON(t, "/api/runs/r/attempts?limit=3", &page)
	require.Equal(t, []int{1, 2, 3}, page.numbers())
	require.Equal(t, "0001-case-1-e1-t1", page.Attempts[0]["name"])
	require.Equal(t, "case-1", page.Attempts[0]["case_id"])
	require.EqualValues(t, 3, *page.Next)

	recordAttempt(t, folder, s.createAttempt(t, folder, 8, nil), 8, runs.OutcomeLimit, nil) // an attempt that ends between two pages
	appendToFile(t, attempts, `{"type":"attempt","outcome":"limit","case_id":"cut`)
	page = attemptPage{}
	s.getJSON(t, "/api/runs/r/attempts?limit=5&after=3", &page)
	require.Equal(t, []int{4, 5, 6, 7, 8}, page.numbers())
	require.Nil(t, page.Next, "a line without a newline is not there yet")
	require.EqualValues(t, 8, page.LastLine)

	appendToFile(t, attempts, `"}`+"\n")
	page = attemptPage{}
	s.getJSON(t, "/api/runs/r/attempts?after=8", &page)
	require.Equal(t, []int{9}, page.numbers())
	require.Equal(t, "cut", page.Attempts[0]["case_id"])
	require.NotContains(t, page.Attempts[0], "name")
	page = attemptPage{}
	s.getJSON(t, "/api/runs/r/attempts?after=99", &page)
	require.Empty(t, page.Attempts)
	require.EqualValues(t, 99, page.LastLine)
}

// appendToFile appends text to an existing file.
func appendToFile(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

func TestAttemptFilters(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	yes, no := true, false
	for n, a := range []struct {
		outcome runs.Outcome
		passed  *bool
	}{{runs.OutcomeCompleted, &yes}, {runs.OutcomeCompleted, &no}, {runs.OutcomeAgentExit, nil}, {runs.OutcomeLimit, &no}} {
		recordAttempt(t, folder, s.createAttempt(t, folder, n+1, nil), n+1, a.outcome, a.passed)
	}
	require.NoError(t, folder.AppendLine(runs.SkippedCase{Type: runs.TypeSkipped, CaseID: "case-9"}))
	require.NoError(t, folder.AppendLine(map[string]any{"type": runs.TypeSummary, "passed": 1}))
	for query, want := range map[string][]int{
		"":                               {1, 2, 3, 4, 5, 6},
		"outcome=completed":              {1, 2},
		"passed=true":                    {1},
		"passed=false":                   {2, 4},
		"passed=null":                    {3},
		"case=case-":                     {1, 2, 3, 4, 5},
		"case=9":                         {5},
		"case=4&passed=false":            {4},
		"outcome=completed&passed=false": {2},
		"outcome=cancelled":              nil,
	} {
		var page attemptPage
		s.getJSON(t, "/api/runs/r/attempts?"+query, &page)
		require.Equal(t, want, page.numbers(), query)
		require.EqualValues(t, 6, page.LastLine, query)
	}
}

func TestGetAttempt(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	name := s.createAttempt(t, folder, 1, map[string]string{"trace.jsonl": traceText(t), "stderr.txt": ""})
	var running map[string]any
	s.getJSON(t, "/api/runs/r/attempts/"+name, &running)
	require.Equal(t, "running", running["state"])
	require.Equal(t, "attempt", running["type"])
	require.Equal(t, "case-1", running["slug"])
	require.NotEmpty(t, running["started"])
	require.Equal(t, []any{"attempts/" + name + "/stderr.txt", "attempts/" + name + "/trace.jsonl"}, running["files"])

	recordAttempt(t, folder, name, 1, runs.OutcomeCompleted, nil)
	var ended map[string]any
	s.getJSON(t, "/api/runs/r/attempts/"+name, &ended)
	require.NotContains(t, ended, "state")
	require.InDelta(t, 1, ended["n"], 0)
	require.Equal(t, name, ended["name"])
	require.Equal(t, "completed", ended["outcome"])
}

// White space and escapes in a line are sent as they are in the file.
func TestAttemptLinesAreSentVerbatim(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	appendToFile(t, filepath.Join(folder.Dir, "attempts.jsonl"), "{\"type\":\"x\"}\n{ \"type\" : \"x\" }\n{\"type\":\"x\",\"a\": \"<\\ud800>\", \"trace\": \"x/\\\"/trace.jsonl\"}\r\n")
	answer := s.request(t, http.MethodGet, "/api/runs/r/attempts")
	require.Equal(t, "{\"attempts\":[\n{\"n\":1,\"type\":\"x\"},\n{\"n\":2, \"type\" : \"x\" },\n"+
		`{"n":3,"name":"\"","type":"x","a": "<\ud800>", "trace": "x/\"/trace.jsonl"}`+"\r\n],\"next\":null,\"last\":3}\n", answer.Body.String())
	require.True(t, json.Valid(answer.Body.Bytes()))
}

// Damaged and foreign lines are left out and counted; the lines after them are
// still sent.
func TestDamagedAttemptLinesAreLeftOut(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	const attempt = `{"type":"attempt","outcome":"completed","passed":true}` + "\n"
	file := filepath.Join(folder.Dir, "attempts.jsonl")
	appendToFile(t, file, attempt+"{\"a\":\n"+attempt+"[4]\n\x00\xff\n{}\n\n{\"foreign\":1}\n"+attempt+"{\"type\":\"att")
	type summary struct {
		LeftOut *runs.UnreadableLines `json:"left_out"`
	}
	get := func(query string, numbers ...int) *runs.UnreadableLines {
		var page attemptPage
		s.getJSON(t, "/api/runs/r/attempts?"+query, &page)
		require.Equal(t, numbers, page.numbers(), query)
		if page.Next == nil {
			require.EqualValues(t, 9, page.LastLine)
		}
		return page.DamagedLines
	}
	require.Equal(t, &runs.UnreadableLines{Count: 6, First: 2}, get("brief=true", 1, 3, 9))
	require.Nil(t, get("limit=1", 1))
	require.Equal(t, &runs.UnreadableLines{Count: 1, First: 2}, get("limit=1&after=1", 3))
	require.Equal(t, &runs.UnreadableLines{Count: 5, First: 4}, get("after=3&passed=true", 9))
	for i, want := range []runs.UnreadableLines{{Count: 6, First: 2}, {Count: 7, First: 2}} {
		if i == 1 { // after Close, the incomplete last line counts as damaged too
			require.NoError(t, folder.Close())
		}
		var run struct{ Summary summary }
		s.getJSON(t, "/api/runs/r", &run)
		require.Equal(t, &want, run.Summary.LeftOut)
		var list struct{ Runs []struct{ Summary summary } }
		s.getJSON(t, "/api/runs", &list)
		require.Equal(t, &want, list.Runs[0].Summary.LeftOut)
	}
}

// With brief=true an attempt has only some of its fields, and 10,000 attempts fit
// into one page.
func TestBriefAttempts(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	folder := s.createRun(t, "r", 1)
	yes, score := true, 0.5
	require.NoError(t, folder.AppendLine(runs.Attempt{
		Type: runs.TypeAttempt, Run: "r", CaseID: "a", Tags: []string{"x", "y"}, Epoch: 2, Try: 1, Outcome: runs.OutcomeCompleted, Detail: "<&",
		Passed: &yes, Score: &score, Graders: []json.RawMessage{json.RawMessage(`{"passed":true}`)}, Answer: json.RawMessage(`{"passed":false}`),
		Summary: "long", Trace: "attempts/0001-a-e2-t1/trace.jsonl", Files: []string{"f"}, Enforced: map[string]bool{"read": true},
	}))
	require.NoError(t, folder.AppendLine(runs.SkippedCase{Type: runs.TypeSkipped, CaseID: "b", Reason: "why"}))
	require.NoError(t, folder.AppendLine(map[string]any{"type": runs.TypeSummary, "pass_rate": map[string]any{"strict": 1}}))
	var page attemptPage
	s.getJSON(t, "/api/runs/r/attempts?brief=true&limit=10000", &page)
	require.Len(t, page.Attempts, 3)
	names := []string{}
	for name := range page.Attempts[0] {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{
		"n", "name", "type", "case_id", "tags", "epoch", "try", "outcome", "outcome_detail", "passed", "score",
		"started", "ended", "duration_ms", "phases", "usage", "tamper", "interventions",
	}, names)
	require.Equal(t, []any{1.0, "0001-a-e2-t1", "<&", true, []any{"x", "y"}}, []any{
		page.Attempts[0]["n"], page.Attempts[0]["name"], page.Attempts[0]["outcome_detail"], page.Attempts[0]["passed"], page.Attempts[0]["tags"],
	})
	require.Equal(t, map[string]any{"n": 2.0, "type": "skipped", "case_id": "b", "reason": "why"}, page.Attempts[1])
	require.Equal(t, map[string]any{"strict": 1.0}, page.Attempts[2]["pass_rate"])
	require.Contains(t, s.request(t, http.MethodGet, "/api/runs/r/attempts?brief=false").Body.String(), `"summary":"long"`)
	for _, query := range []string{"limit=10000", "brief=yes", "brief=true&limit=10001"} {
		requireProblem(t, s.request(t, http.MethodGet, "/api/runs/r/attempts?"+query), http.StatusBadRequest, "bad_parameter")
	}

	many := s.createRun(t, "many", 2)
	line := strings.Repeat(`{"type":"attempt","case_id":"c","outcome":"completed","passed":true,"graders":[{"reasoning":"`+strings.Repeat("x", 500)+`"}],"trace":"attempts/a/trace.jsonl"}`+"\n", 10_000)
	file, err := os.OpenFile(filepath.Join(many.Dir, "attempts.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = file.WriteString(line)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	s.getJSON(t, "/api/runs/many/attempts?brief=true&limit=10000", &page)
	require.Len(t, page.Attempts, 10_000)
	require.Nil(t, page.Next)
}
