package grading_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

func TestGraderTypeNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"adjusted_mutual_information", "boolean_check", "cell_typing", "command", "contains", "distribution_comparison", "exact", "jaccard_label_set", "kernel_check", "label_set_jaccard", "llm_judge",
		"marker_gene_precision_recall", "marker_gene_separation", "multiple_choice", "notebook_check", "numeric_range", "numeric_tolerance", "proportion_consistency", "regex", "spatial_adjacency", "spatial_adjacency_simple",
	}, grading.GraderTypeNames())
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for _, in := range []grading.Input{{}, {Answer: pyvalue.Null{}}, {NoAnswerReason: "the tags are empty"}} {
		for _, kind := range []string{"exact", "multiple_choice", "numeric_tolerance"} {
			got := grading.Grade(t.Context(), grading.Spec{Type: kind}, in)
			require.False(t, got.Passed)
			require.Zero(t, got.Score)
			require.Nil(t, got.Error)
			require.Equal(t, kind, got.Type)
			require.Contains(t, got.Reasoning, "there is no answer to grade: ")
			require.Contains(t, got.Reasoning, in.NoAnswerReason)
			require.Zero(t, got.Metrics.Len())
		}
	}
}

func TestResultJSONFormat(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "numeric_tolerance", `{"ground_truth": {"n": 1}}`, `{"n": null}`)
	require.JSONEq(t, `{"type":"numeric_tolerance","passed":false,"score":0,"error":null,"field_scores":{"n":0.0},
		"reasoning":"Numeric tolerance: FAIL\n\nFailures:\n- n: null is not a number, expected 1",
		"metrics":{"n_actual":null,"n_expected":1,"n_error":{"$float":"Infinity"},"n_pass":false}}`, pyvaluetest.MarshalToString(t, got))
	got = gradeConfigAndAnswerJSON(t, "multiple_choice", `{"correct_answer": 1}`, `{}`)
	require.JSONEq(t, `{"type":"multiple_choice","passed":false,"score":0,"metrics":{},
		"error":{"kind":"type_error","text":"correct answer: want a string, found integer"},
		"reasoning":"could not be graded: correct answer: want a string, found integer"}`, pyvaluetest.MarshalToString(t, got))
}

func TestGradeConfig(t *testing.T) {
	t.Parallel()
	in := grading.Input{Answer: pyvaluetest.MustDecode(t, `{"answer": ""}`)}
	got := grading.Grade(t.Context(), grading.Spec{Type: "multiple_choice"}, in)
	require.True(t, got.Passed, "a config that is not given is empty")
	got = grading.Grade(t.Context(), grading.Spec{Type: "multiple_choice", Config: pyvalue.Null{}}, in)
	require.Equal(t, "type_error", resultOutcomeWithErrorKind(got))
	got = grading.Grade(t.Context(), grading.Spec{Type: "Exact", Field: "graders[2]"}, in)
	require.Equal(t, "unknown_grader", resultOutcomeWithErrorKind(got))
	require.Equal(t, "Exact", got.Type)
	require.Contains(t, got.Reasoning, `field graders[2].type: unknown grader type "Exact"; known are `+strings.Join(grading.GraderTypeNames(), ", "))
}

func TestCheckSpec(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, config, want string }{
		{"numeric_tolerance", `{"tolerance": 50}`, ""}, // malformed, but the reference accepts it
		{"multiple_choice", `{}`, ""},
		{"exact", `{"ground_truth": null}`, ""},
		{"exact", `{}`, "field grader.config: ground_truth is missing"},
		{"exact", `[]`, "field grader.config: want an object, found list"},
		{"", `{}`, `field grader.type: unknown grader type ""; known are ` + strings.Join(grading.GraderTypeNames(), ", ")},
		{"kernel_check", `{}`, "field grader.config: want either code or probes"},
		{"kernel_check", `{"code": "1", "probes": []}`, "field grader.config: want either code or probes"},
		{"kernel_check", `{"code": 1}`, "field grader.config: code: want a string, found integer"},
		{"kernel_check", `{"probes": []}`, "field grader.config: probes: want a list of at least one, found []"},
		{"kernel_check", `{"probes": ["x"]}`, "field grader.config: probes[0]: want an object, found string"},
		{"kernel_check", `{"probes": [{"expr": "x"}]}`, "field grader.config: probes[0]: want a string expr and at least one of equals, approx, type, len, contains"},
		{"kernel_check", `{"probes": [{"expr": "x", "equal": 1}]}`, "field grader.config: probes[0]: equal: no such demand; known are equals, approx, type, len, contains"},
		{"kernel_check", `{"probes": [{"expr": "x", "len": 1.0}]}`, "field grader.config: probes[0]: len: want an integer, found 1.0"},
		{"kernel_check", `{"probes": [{"expr": "x", "type": 1}]}`, "field grader.config: probes[0]: type: want a string, found 1"},
		{"kernel_check", `{"probes": [{"expr": "x", "approx": 1}]}`, "field grader.config: probes[0]: approx: want {value, abs, rel}, all numbers and only the first needed, found 1"},
		{"kernel_check", `{"probes": [{"expr": "x", "approx": {"abs": 1}}]}`, "field grader.config: probes[0]: approx: want {value, abs, rel}, all numbers and only the first needed, found {'abs': 1}"},
		{"kernel_check", `{"probes": [{"expr": "x", "approx": {"value": 1, "tol": 2}}]}`, "field grader.config: probes[0]: approx: want {value, abs, rel}, all numbers and only the first needed, found {'value': 1, 'tol': 2}"},
		{"kernel_check", `{"probes": [{"expr": "x", "approx": {"value": true}}]}`, "field grader.config: probes[0]: approx: want {value, abs, rel}, all numbers and only the first needed, found {'value': True}"},
	} {
		err := grading.CheckSpec(grading.Spec{Type: c.kind, Config: pyvaluetest.MustDecode(t, c.config), Field: "grader"})
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
	}
}

func TestGradeAll(t *testing.T) {
	t.Parallel()
	numeric := grading.Spec{Type: "numeric_tolerance", Config: pyvaluetest.MustDecode(t, `{"ground_truth": {"n": 1, "m": 2}}`)}
	choice := grading.Spec{Type: "multiple_choice", Config: pyvaluetest.MustDecode(t, `{"correct_answer": "A"}`)}
	unknown := grading.Spec{Type: "no_such"}
	in := grading.Input{Answer: pyvaluetest.MustDecode(t, `{"n": 1, "m": 5, "answer": "A"}`)}

	results, passed, score := grading.GradeAll(t.Context(), []grading.Spec{numeric, choice}, in)
	require.Len(t, results, 2)
	require.False(t, passed)
	require.InDelta(t, 0.75, score, 0)

	_, passed, score = grading.GradeAll(t.Context(), []grading.Spec{choice, choice, choice}, in)
	require.True(t, passed)
	require.InDelta(t, 1, score, 1e-12)

	results, passed, score = grading.GradeAll(t.Context(), []grading.Spec{unknown, choice}, in)
	require.Equal(t, "unknown_grader", resultOutcomeWithErrorKind(results[0]))
	require.True(t, results[1].Passed, "one that cannot grade does not keep the others from it")
	require.False(t, passed)
	require.InDelta(t, 0.5, score, 0)

	results, passed, score = grading.GradeAll(t.Context(), nil, in)
	require.Empty(t, results)
	require.False(t, passed)
	require.Zero(t, score)
}

type panickingKernel struct{}

func (panickingKernel) Execute(context.Context, string) (grading.Execution, error) {
	panic("out of sockets")
}

func TestGradeRecovers(t *testing.T) {
	t.Parallel()
	spec := grading.Spec{Type: "kernel_check", Config: pyvaluetest.MustDecode(t, `{"code": "1"}`)}
	got := grading.Grade(t.Context(), spec, grading.Input{Kernel: panickingKernel{}})
	require.Equal(t, &pyvalue.Error{Kind: "panic", Text: "out of sockets"}, got.Error)
	require.False(t, got.Passed)
	require.NotNil(t, got.Metrics)
}

// Any config and any answer give a consistent verdict, and never a panic.
func TestGradeNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(grading.GraderTypeNames()).Draw(t, "type")
		config := pyvaluetest.ValueGenerator().Draw(t, "config")
		if rapid.IntRange(0, 3).Draw(t, "likely") > 0 {
			config = drawConfigWithCommonKeys(t)
		}
		spec := grading.Spec{Type: kind, Config: config}
		got := grading.Grade(t.Context(), spec, grading.Input{Answer: pyvaluetest.ValueGenerator().Draw(t, "answer")})
		if got.Error != nil {
			require.NotEqual(t, "panic", got.Error.Kind, got.Error.Text)
			require.False(t, got.Passed)
			require.Zero(t, got.Score)
		}
		require.True(t, 0 <= got.Score && got.Score <= 1)
		if got.FieldScores == nil {
			require.Equal(t, got.Passed, got.Score == 1)
		}
		require.NotEmpty(t, got.Reasoning)
	})
}

func drawConfigWithCommonKeys(t *rapid.T) pyvalue.Value {
	config := &pyvalue.Object{}
	for _, key := range []string{"ground_truth", "tolerances", "correct_answers"} {
		if rapid.Bool().Draw(t, key) {
			config.Set(key, pyvaluetest.ValueGenerator().Draw(t, key))
		}
	}
	if rapid.Bool().Draw(t, "fields") {
		config.Set("ground_truth", pyvalue.NewObject("n", pyvaluetest.ValueGenerator().Draw(t, "truth")))
		config.Set("tolerances", pyvalue.NewObject(pyvaluetest.DrawKey(t), pyvaluetest.ValueGenerator().Draw(t, "tolerance")))
	}
	return config
}

// Answers that would take a grader minutes, or all memory, are errors at once.
func TestGraderStepLimits(t *testing.T) {
	t.Parallel()
	many := func(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	const n = 10_000
	samples := many(`{"sample":"s","proportions":{}}`, n)
	typing := `{"chosen_cluster":"1","samples_chosen":%s,"samples_other":[{}],"cluster_medians":{}}`
	clusters := strings.Builder{}
	for i := range n {
		fmt.Fprintf(&clusters, `"%d":{},`, i)
	}
	for name, c := range map[string]struct{ kind, config, answer string }{
		"proportions": {"proportion_consistency", `{}`, `{"cell_types":` + many(`"T"`, n) + `,"samples":` + samples + `}`},
		"samples":     {"cell_typing", `{"markers":` + many(`"m"`, n) + `}`, fmt.Sprintf(typing, many(`{}`, n))},
		"clusters": {
			"cell_typing", `{"markers":` + many(`"m"`, n) + `}`,
			`{"chosen_cluster":"1","samples_chosen":[{}],"samples_other":[{}],"cluster_medians":{` + clusters.String() + `"z":{}}}`,
		},
		"members": {"contains", `{"values":` + many(`1`, n) + `}`, many(`0`, n)},
		"parts":   {"contains", `{"values":` + many(`"x"`, n) + `}`, `"` + strings.Repeat("y", 1<<20) + `"`},
		"pattern": {"regex", `{"pattern":"(a?){1000}b"}`, `"` + strings.Repeat("a", 1<<20) + `"`},
	} {
		got := gradeConfigAndAnswerJSON(t, c.kind, c.config, c.answer)
		require.Equal(t, "value_error", resultOutcomeWithErrorKind(got), name)
		require.Contains(t, got.Error.Text, "steps are more than a grader may take", name)
	}
}

// A malformed config of Assay's own grader types is rejected before a run, and is an
// error when it is used for grading.
func TestConfigCheckOfAssayGraders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, config, want string }{
		{"regex", `{"pattern": "a.*"}`, ""},
		{"regex", `{}`, "pattern: want a string, found nothing"},
		{"regex", `{"pattern": null}`, "pattern: want a string, found null"},
		{"regex", `{"pattern": "(?<=a)b"}`, "pattern: error parsing regexp: invalid named capture: `(?<=a)b`"},
		{"regex", `{"pattern": "(a)\\1"}`, "pattern: error parsing regexp: invalid escape sequence: `\\1`"},
		{"regex", `{"pattern": "a", "answer_field": 1}`, "answer_field: want a string, found integer"},
		{"contains", `{"values": [null], "mode": "any", "answer_field": "a"}`, ""},
		{"contains", `{}`, "values: want a list of at least one, found None"},
		{"contains", `{"values": []}`, "values: want a list of at least one, found []"},
		{"contains", `{"values": "abc"}`, "values: want a list of at least one, found 'abc'"},
		{"contains", `{"values": [1], "mode": "some"}`, "mode: want all or any, found 'some'"},
		{"contains", `{"values": [1], "mode": null}`, "mode: want all or any, found None"},
		{"contains", `{"values": [1], "mode": []}`, "mode: want all or any, found []"},
		{"contains", `{"values": [1], "answer_field": []}`, "answer_field: want a string, found list"},
		{"command", `{"argv": ["./grade.py", "-v"], "timeout_s": 0.5}`, ""},
		{"command", `{}`, "argv: want a list of strings, the program first, found None"},
		{"command", `{"argv": "ls -l"}`, "argv: want a list of strings, the program first, found 'ls -l'"},
		{"command", `{"argv": []}`, "argv: want a list of strings, the program first, found []"},
		{"command", `{"argv": ["a", 1]}`, "argv: want a list of strings, the program first, found ['a', 1]"},
		{"command", `{"argv": ["a", ""]}`, "argv: an argument is empty"},
		{"command", `{"argv": ["a", "b\u0000c"]}`, "argv: an argument has a zero byte"},
		{"command", `{"argv": ["a"], "timeout_s": 0}`, "timeout_s: want a number of seconds above 0 and up to 86400, found 0"},
		{"command", `{"argv": ["a"], "timeout_s": true}`, "timeout_s: want a number of seconds above 0 and up to 86400, found True"},
		{"command", `{"argv": ["a"], "timeout_s": NaN}`, "timeout_s: want a number of seconds above 0 and up to 86400, found nan"},
		{"command", `{"argv": ["a"], "timeout_s": 1e9}`, "timeout_s: want a number of seconds above 0 and up to 86400, found 1000000000.0"},
		{"command", `{"argv": ["a"], "timeout_s": "9"}`, "timeout_s: want a number of seconds above 0 and up to 86400, found '9'"},
		{"llm_judge", `{"prompt": "p", "model": "anthropic/claude-x"}`, ""},
		{"llm_judge", `{"prompt": "p", "model": "script:a.jsonl", "pass_score": 1}`, ""},
		{"llm_judge", `{"prompt": "p", "model": "replay:a.jsonl", "pass_score": 0.0}`, ""},
		{"llm_judge", `{"model": "script:a.jsonl"}`, "prompt: want the criteria to judge by, found None"},
		{"llm_judge", `{"prompt": " \n", "model": "script:a.jsonl"}`, `prompt: want the criteria to judge by, found ' \n'`},
		{"llm_judge", `{"prompt": "p"}`, "model: want a string, found nothing"},
		{"llm_judge", `{"prompt": "p", "model": "gpt-5"}`, `model: unknown model "gpt-5": known are anthropic/<id>, openai/<id>, script:FILE and replay:FILE`},
		{"llm_judge", `{"prompt": "p", "model": "script:a", "pass_score": 1.5}`, "pass_score: want a number from 0 to 1, found 1.5"},
		{"llm_judge", `{"prompt": "p", "model": "script:a", "pass_score": true}`, "pass_score: want a number from 0 to 1, found True"},
		{"llm_judge", `{"prompt": "p", "model": "script:a", "pass_score": null}`, "pass_score: want a number from 0 to 1, found None"},
		{"llm_judge", `{"prompt": "p", "model": "script:a", "pass_score": NaN}`, "pass_score: want a number from 0 to 1, found nan"},
	} {
		spec := grading.Spec{Type: c.kind, Config: pyvaluetest.MustDecode(t, c.config), Field: "graders[1]"}
		err := grading.CheckSpec(spec)
		if c.want == "" {
			require.NoError(t, err, c.config)
			continue
		}
		require.EqualError(t, err, "field graders[1].config: "+c.want)
		got := grading.Grade(t.Context(), spec, grading.Input{Answer: pyvalue.String("a")})
		require.Equal(t, &pyvalue.Error{Kind: "value_error", Text: c.want}, got.Error)
	}
}
