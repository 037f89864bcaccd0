package rescore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/rescore"
	"assay/eval/runs"
	"assay/internal/model"
	"assay/testcases"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// attemptFixture describes an attempt of a stored run that a test creates.
type attemptFixture struct {
	caseID  string
	outcome runs.Outcome
	answer  string // JSON; empty: no answer
	summary string
	passed  *bool
	score   float64
	graders []string          // results
	files   map[string]string // content of the files in its folder, by name
}

// createRun writes the folder of a finished run with these attempts, and returns its path.
func createRun(t *testing.T, attempts ...attemptFixture) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	folder, err := runs.Create(dir, runs.Info{}, nil)
	require.NoError(t, err)
	for i, a := range attempts {
		dir, rel, err := folder.MakeAttemptDir(i+1, a.caseID, 1, 1)
		require.NoError(t, err)
		for name, text := range a.files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		line := runs.Attempt{
			Type: "attempt", Run: "run", CaseID: a.caseID, Epoch: 1, Try: 1, Outcome: a.outcome, Summary: a.summary,
			Passed: a.passed, Trace: filepath.Join(rel, "trace.jsonl"),
		}
		if a.passed != nil {
			line.Score = &a.score
		}
		if a.answer != "" {
			line.Answer = json.RawMessage(a.answer)
		}
		for _, result := range a.graders {
			line.Graders = append(line.Graders, json.RawMessage(result))
		}
		require.NoError(t, folder.AppendLine(line))
	}
	require.NoError(t, folder.AppendLine(map[string]any{"type": "summary", "passed": 3}))
	require.NoError(t, folder.Close())
	return dir
}

// regradeStoredRun calls RegradeRun on a run with the cases in a JSON text. It checks the file
// that RegradeRun writes, and returns the regraded attempts by case id, and the summary.
func regradeStoredRun(t *testing.T, dir, cases string, cfg rescore.RegradeConfig) (map[string]rescore.RegradedAttempt, rescore.Summary) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cases.json")
	require.NoError(t, os.WriteFile(file, []byte(cases), 0o600))
	loaded, err := testcases.Load([]string{file}, testcases.Options{})
	require.NoError(t, err)
	run := openRun(t, dir)
	loaded, err = rescore.CasesWithAttempts(t.Context(), run, loaded)
	require.NoError(t, err)
	reported := map[string]rescore.RegradedAttempt{}
	cfg.OnRegraded = func(r rescore.RegradedAttempt) { reported[r.CaseID] = r }
	summary, err := rescore.RegradeRun(t.Context(), run, dir, loaded, cfg)
	require.NoError(t, err)

	text, err := os.ReadFile(filepath.Join(dir, summary.VerdictsFile))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, summary.Attempts+1)
	for _, line := range lines[:summary.Attempts] {
		var written rescore.RegradedAttempt
		require.NoError(t, json.Unmarshal([]byte(line), &written))
		require.Equal(t, marshalJSON(t, reported[written.CaseID]), marshalJSON(t, written))
	}
	require.JSONEq(t, marshalJSON(t, summary), lines[summary.Attempts])
	return reported, summary
}

// openRun opens the stored run in the folder dir and closes it when the test ends.
func openRun(t *testing.T, dir string) *runs.Run {
	t.Helper()
	run, err := runs.NewStore(filepath.Dir(dir)).Open(filepath.Base(dir))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, run.Close()) })
	return run
}

// marshalJSON returns v encoded as JSON text, and fails the test if v has no JSON.
func marshalJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// caseJSON returns the JSON of a test case with this id and further members.
func caseJSON(id, fields string) string { return fmt.Sprintf(`{"id":%q,"task":"t",%s}`, id, fields) }

// exactGraderJSON returns the JSON member of a test case that gives it one grader of type exact
// for the answer truth, a JSON text.
func exactGraderJSON(truth string) string {
	return fmt.Sprintf(`"grader":{"type":"exact","config":{"ground_truth":%s}}`, truth)
}

func TestRegradeRun(t *testing.T) {
	t.Parallel()
	answered := func(id, answer string, passed bool) attemptFixture {
		score := 0.0
		if passed {
			score = 1
		}
		return attemptFixture{caseID: id, outcome: runs.OutcomeCompleted, answer: answer, passed: &passed, score: score}
	}
	stopped := answered("stopped", `42`, false)
	stopped.outcome = runs.OutcomeStopped
	limit := answered("limit", `42`, false)
	limit.outcome = runs.OutcomeLimit
	dir := createRun(t,
		answered("same", `42`, true),
		answered("worse", `42`, true),
		answered("better", `{"x":{"$float":"NaN"},"y":1.0}`, false),
		answered("ungraded now", `1`, true),
		answered("gone", `1`, true),
		attemptFixture{caseID: "graded now", outcome: runs.OutcomeCompleted, answer: `1`},
		attemptFixture{caseID: "broken", outcome: runs.OutcomeAgentExit, answer: `42`},
		stopped, limit,
		attemptFixture{caseID: "nothing", outcome: runs.OutcomeCompleted, summary: "<EVAL_ANSWER>{oops</EVAL_ANSWER>", passed: new(false)},
	)
	before, err := os.ReadFile(filepath.Join(dir, "attempts.jsonl"))
	require.NoError(t, err)
	cases := "[" + strings.Join([]string{
		caseJSON("same", exactGraderJSON("42")), caseJSON("worse", exactGraderJSON("43")),
		caseJSON("better", `"grader":{"type":"numeric_tolerance","config":{"ground_truth":{"y":1}}}`),
		caseJSON("ungraded now", `"tags":[]`), caseJSON("graded now", exactGraderJSON("1")), caseJSON("broken", exactGraderJSON("42")),
		caseJSON("stopped", exactGraderJSON("42")), caseJSON("limit", exactGraderJSON("42")), caseJSON("nothing", exactGraderJSON("42")), caseJSON("not tried", exactGraderJSON("42")),
	}, ",") + "]"
	got, summary := regradeStoredRun(t, dir, cases, rescore.RegradeConfig{})

	require.Equal(t, rescore.VerdictCounts{Passed: 4, Failed: 3, Ungraded: 1, Infrastructure: 1}, summary.VerdictCounts)
	require.Equal(t, rescore.VerdictCounts{Passed: 4, Failed: 4, Ungraded: 1, Infrastructure: 1}, summary.OldCounts)
	require.Equal(t, []int{10, 1, 5, 0}, []int{summary.Attempts, summary.NotRegraded, summary.ChangedVerdicts, summary.KeptResults})
	require.Equal(t, 9, summary.GradedCount())

	for id, want := range map[string]struct {
		changed bool
		reason  string
	}{
		"same": {false, ""}, "worse": {true, ""}, "better": {true, ""}, "stopped": {false, ""}, "limit": {true, ""}, "graded now": {true, ""}, "nothing": {false, ""},
		"ungraded now": {true, "the case has no graders now"}, "gone": {false, "the case is not among those given"},
		"broken": {false, "an attempt that ended as agent_exit is not graded"},
	} {
		require.Equal(t, want.changed, got[id].IsChanged, id)
		require.Equal(t, want.reason, got[id].Reason, id)
		if want.reason != "" {
			require.Nil(t, got[id].New.Passed, id)
			require.Nil(t, got[id].New.Score, id)
		}
	}
	require.Contains(t, string(got["worse"].New.Graders[0]), "expected 43, found 42")
	require.Contains(t, string(got["stopped"].New.Graders[0]), "the attempt ended as stopped_without_answer")
	require.Contains(t, string(got["nothing"].New.Graders[0]), "what is between the <EVAL_ANSWER> tags is not JSON")

	after, err := os.ReadFile(filepath.Join(dir, "attempts.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	_, second := regradeStoredRun(t, dir, cases, rescore.RegradeConfig{})
	require.NotEqual(t, summary.VerdictsFile, second.VerdictsFile)
	require.FileExists(t, filepath.Join(dir, summary.VerdictsFile))
}

// A grader that needs the kernel keeps the old result of the same grader, whatever its position
// was. If such a grader is new or its config has changed, the attempt gets no new verdict.
func TestRegradeRunKeepsResultsOfLiveGraders(t *testing.T) {
	t.Parallel()
	spec := func(code string) string {
		return fmt.Sprintf(`{"type":"kernel_check","config":{"code":%q}}`, code)
	}
	result := func(code string, rest string) string {
		config := pyvalue.NewObject("code", pyvalue.String(code))
		return fmt.Sprintf(`{"type":"kernel_check","spec":%q,%s}`, grading.Spec{Type: "kernel_check", Config: config}.Digest(), rest)
	}
	half := `"passed":false,"score":0.5,"reasoning":"half","metrics":{"probes":2},"error":null`
	graders := []string{result("one", half), result("two", `"passed":true,"score":1,"reasoning":"whole","metrics":{},"error":null`)}
	a := attemptFixture{outcome: runs.OutcomeCompleted, answer: "1", passed: new(false), score: 0.75, graders: graders}
	same, other, fewer := a, a, a
	same.caseID, other.caseID, fewer.caseID = "same", "other", "fewer"
	dir := createRun(t, same, other, fewer)
	exact := `{"type":"exact","config":{"ground_truth":1}}`
	got, summary := regradeStoredRun(t, dir, "["+
		caseJSON("same", `"graders":[`+spec("two")+`,`+exact+`,`+spec("one")+`]`)+","+
		caseJSON("other", `"graders":[`+spec("one")+`,`+spec("changed")+`]`)+","+
		caseJSON("fewer", `"grader":`+spec("two"))+"]", rescore.RegradeConfig{})
	require.Equal(t, 4, summary.KeptResults)
	require.InDelta(t, 2.5/3, *got["same"].New.Score, 1e-12)
	require.False(t, *got["same"].New.Passed)
	require.Equal(t, result("one", half+`,"kept":true`), string(got["same"].New.Graders[2]))
	require.Nil(t, got["other"].New.Passed)
	require.Contains(t, got["other"].Reason, "kernel_check has no earlier result, and what it reads is gone: ")
	require.Equal(t, 1, summary.NotRegraded)
	require.True(t, *got["fewer"].New.Passed, "the kept result is that of the same grader, not of the first")
}

// When a run is graded again, the notebook is read from notebook.ipynb, and the status of its
// cells from state.json.
func TestRegradeRunReadsStoredNotebook(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"notebook.ipynb": `{"cells":[
			{"cell_type":"markdown","source":["# T\n","x"]},
			{"cell_type":"code","source":"import json","execution_count":1,"outputs":[{"output_type":"stream","name":"stdout","text":["a\n","b\n"]},{"output_type":"execute_result","data":{"text/plain":["42"]}}]},
			{"cell_type":"code","source":"boom()","execution_count":2,"outputs":[{"output_type":"error","ename":"E","traceback":["Traceback","E: no"]}]},
			{"cell_type":"code","source":"dies()","execution_count":3,"outputs":[{"output_type":"display_data","data":{"image/png":"xx","text/plain":7}}]}
		],"metadata":{"language_info":{"name":"python"}}}`,
		"state.json": `{"context":{"cells":[{"status":"idle"},{"status":"ran"},{"status":"error"},{"status":"error"}]}}`,
	}
	dir := createRun(t,
		attemptFixture{caseID: "a", outcome: runs.OutcomeCompleted, files: files},
		attemptFixture{caseID: "b", outcome: runs.OutcomeCompleted},
	)
	entries := `"graders":[{"type":"notebook_check","config":{"min_cells":3,"must_use":["json"]}},{"type":"notebook_check","config":{"no_errors":true}}]`
	got, _ := regradeStoredRun(t, dir, "["+caseJSON("a", entries)+","+caseJSON("b", entries)+"]", rescore.RegradeConfig{})
	require.Contains(t, string(got["a"].New.Graders[0]), `"passed":true`)
	require.Contains(t, string(got["a"].New.Graders[1]), `"errors":[3,4]`)
	require.Contains(t, string(got["b"].New.Graders[0]), `"error":{"kind":"notebook",`)
}

// When a run is graded again, a command grader gets the same record as when the attempt ended,
// except for the working folder.
func TestRegradeRunGivesCommandGradersTheRecord(t *testing.T) {
	t.Parallel()
	program := `import json, os, sys
line = json.load(sys.stdin)
there = os.path.exists(os.path.join(line["folder"], "notes.txt"))
print(json.dumps({"passed": there and os.environ["COLOUR"] == "blue", "reasoning": json.dumps([line["answer"], line["task"], line["passed"], line["graders"]])}))
`
	config, err := json.Marshal(map[string]any{"argv": []string{"python3", "-c", program}})
	require.NoError(t, err)
	attempt := attemptFixture{caseID: "a", outcome: runs.OutcomeCompleted, answer: "[1.0]", passed: new(false), graders: []string{`{}`}, files: map[string]string{"notes.txt": ""}}
	stopped := attempt
	stopped.caseID, stopped.outcome = "b", runs.OutcomeStopped
	entry := `"grader":{"type":"command","config":` + string(config) + `}`
	cfg := rescore.RegradeConfig{Environ: append(os.Environ(), "COLOUR=blue")}
	got, summary := regradeStoredRun(t, createRun(t, attempt, stopped), "["+caseJSON("a", entry)+","+caseJSON("b", entry)+"]", cfg)
	require.Equal(t, 2, summary.Passed, string(got["a"].New.Graders[0]))
	require.Contains(t, string(got["a"].New.Graders[0]), `"reasoning":"[[1.0], \"t\", null, null]"`)
	require.Contains(t, string(got["b"].New.Graders[0]), `"reasoning":"[null, \"t\", null, null]"`)
}

// fakeJudge is a model client, used by graders, that always gives the score 0.9. It counts its
// calls.
type fakeJudge struct{ calls *int }

func (j fakeJudge) Complete(context.Context, model.Request, func(model.Delta)) (*model.Response, error) {
	*j.calls++
	text := `{"score":0.9,"passed":true,"reasoning":"good","successes":[],"failures":[]}`
	return &model.Response{Content: []model.Block{{Type: "text", Text: text}}, StopReason: model.StopEndTurn}, nil
}

// When a run is graded again, a grader's call of a model that is in the recording is replayed;
// another call is made and recorded.
func TestRegradeRunReplaysJudges(t *testing.T) {
	t.Parallel()
	cases := "[" + caseJSON("a", `"grader":{"type":"llm_judge","config":{"prompt":"Is it good?","model":"anthropic/judge"}}`) + "]"
	attempt := attemptFixture{caseID: "a", outcome: runs.OutcomeCompleted, answer: "1", files: map[string]string{
		"conversation.jsonl": `{"type":"user","content":"hello"}` + "\n",
	}}
	asked := 0
	cfg := rescore.RegradeConfig{OpenJudge: func(string) (model.Client, error) { return fakeJudge{&asked}, nil }}
	dir := createRun(t, attempt)
	got, summary := regradeStoredRun(t, dir, cases, cfg)
	require.Equal(t, 1, asked)
	require.Equal(t, 1, summary.Passed, string(got["a"].New.Graders[0]))
	calls, err := os.ReadFile(strings.TrimSuffix(filepath.Join(dir, summary.VerdictsFile), ".jsonl") + "-judge.jsonl")
	require.NoError(t, err)
	require.Contains(t, string(calls), "hello")

	// The call is in the recording: no model is opened.
	attempt.files["judge.jsonl"] = string(calls)
	dir = createRun(t, attempt)
	_, summary = regradeStoredRun(t, dir, cases, rescore.RegradeConfig{})
	require.Equal(t, 1, summary.Passed)
	_, err = os.Stat(strings.TrimSuffix(filepath.Join(dir, summary.VerdictsFile), ".jsonl") + "-judge.jsonl")
	require.ErrorIs(t, err, os.ErrNotExist)

	// Another answer leads to another call.
	attempt.answer = "2"
	_, summary = regradeStoredRun(t, createRun(t, attempt), cases, cfg)
	require.Equal(t, 2, asked)
	require.Equal(t, 1, summary.Passed)
	got, _ = regradeStoredRun(t, createRun(t, attempt), cases, rescore.RegradeConfig{})
	require.Contains(t, string(got["a"].New.Graders[0]), "no model is available for judges")
	failingJudge := rescore.RegradeConfig{OpenJudge: func(string) (model.Client, error) { return nil, errors.New("no key") }}
	got, _ = regradeStoredRun(t, createRun(t, attempt), cases, failingJudge)
	require.Contains(t, string(got["a"].New.Graders[0]), `"error":{"kind":"model",`)
}

func TestRegradeRunFails(t *testing.T) {
	t.Parallel()
	loaded := []testcases.Case{{ID: "a", Graders: []grading.Spec{{Type: "multiple_choice", Field: "grader"}}}}
	for name, attempt := range map[string]attemptFixture{
		"notebook.ipynb": {caseID: "a", outcome: runs.OutcomeCompleted, files: map[string]string{"notebook.ipynb": "{"}},
		"state.json":     {caseID: "a", outcome: runs.OutcomeCompleted, files: map[string]string{"notebook.ipynb": "{}", "state.json": "7"}},
		"judge.jsonl":    {caseID: "a", outcome: runs.OutcomeCompleted, files: map[string]string{"judge.jsonl": "what"}},
	} {
		dir := createRun(t, attempt)
		_, err := rescore.RegradeRun(t.Context(), openRun(t, dir), dir, loaded, rescore.RegradeConfig{})
		require.ErrorContains(t, err, "attempt 0001-a-e1-t1: "+name)
	}

	dir := createRun(t, attemptFixture{caseID: "a", outcome: runs.OutcomeCompleted})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	_, err := rescore.RegradeRun(ctx, openRun(t, dir), dir, loaded, rescore.RegradeConfig{})
	require.ErrorIs(t, err, cause)

	_, err = rescore.CasesWithAttempts(t.Context(), openRun(t, dir), []testcases.Case{{ID: "a"}, {ID: "a"}})
	require.ErrorContains(t, err, `id "a" is already taken`)
	chosen, err := rescore.CasesWithAttempts(t.Context(), openRun(t, dir), []testcases.Case{{ID: "a"}, {ID: "b"}, {ID: "b"}})
	require.NoError(t, err)
	require.Len(t, chosen, 1)
}

// Damaged lines of attempts.jsonl are left out and counted: what is no JSON, has no type, or is an attempt
// that cannot be read. The attempts after them are graded.
func TestRegradeRunCountsDamagedLines(t *testing.T) {
	t.Parallel()
	dir := createRun(t,
		attemptFixture{caseID: "a", outcome: runs.OutcomeCompleted, answer: "1"},
		attemptFixture{caseID: "b", outcome: runs.OutcomeCompleted, answer: "1"},
	)
	path := filepath.Join(dir, "attempts.jsonl")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	damaged := lines[0] + lines[1] + "\x00\x00\n" + `{"case_id":"c"}` + "\n" + lines[2][:40] + "\n" + `{"type":"attempt","epoch":"x"}` + "\n" + `{"type":"later"}` + "\n" + strings.Join(lines[2:], "")
	require.NoError(t, os.WriteFile(path, []byte(damaged), 0o600))
	exact := `"grader":{"type":"exact","config":{"ground_truth":1}}`
	got, summary := regradeStoredRun(t, dir, "["+caseJSON("a", exact)+","+caseJSON("b", exact)+"]", rescore.RegradeConfig{})
	require.Equal(t, 2, summary.Passed)
	require.True(t, *got["b"].New.Passed)
	require.Equal(t, &runs.UnreadableLines{Count: 4, First: 2}, summary.Unreadable)
}
