package grading_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, answer, outcome, failure string }{
		{`{"ground_truth": {"a": 1, "b": [true, null]}}`, `{"b": [1, null], "a": 1.0}`, "pass", ""},
		{`{"ground_truth": "B"}`, `"B"`, "pass", ""},
		{`{"ground_truth": "B"}`, `"b"`, "fail", `the answer: expected 'B', found 'b'`},
		{`{"ground_truth": 5}`, `"5"`, "fail", `the answer: expected 5, found '5'`},
		{`{"ground_truth": 3, "answer_field": "n"}`, `{"n": 3}`, "pass", ""},
		{`{"ground_truth": 3, "answer_field": "a.n"}`, `{"a": {"n": 3}}`, "pass", ""},
		{`{"ground_truth": 3, "answer_field": "n"}`, `{"m": 3}`, "fail", `n: missing from the answer, expected 3`},
		{`{"ground_truth": null, "answer_field": "n"}`, `{"n": null}`, "pass", ""},
		{`{"ground_truth": null, "answer_field": "n"}`, `{}`, "fail", `n: missing from the answer, expected None`},
		{`{"ground_truth": 3, "answer_field": "n"}`, `[3]`, "type_error", ""},
		{`{"ground_truth": {"a": [1, {"b": "x"}]}}`, `{"a": [1, {"b": "y"}]}`, "fail", `the answer.a[1].b: expected 'x', found 'y'`},
		{`{"ground_truth": [1, 2, 3]}`, `[1, 2]`, "fail", `the answer: expected 3 items, found 2`},
		{`{"ground_truth": [1, 2]}`, `[2, 1]`, "fail", `the answer[0]: expected 1, found 2`},
		{`{"ground_truth": {"a": 1}}`, `{"a": 1, "b": 2}`, "fail", `the answer: key 'b' is not expected`},
		{`{"ground_truth": {"a": 1}}`, `{"b": 1}`, "fail", `the answer: key 'a' is missing, expected 1`},
		{`{"ground_truth": 0.3}`, `0.30000000000000004`, "fail", `the answer: expected 0.3, found 0.30000000000000004`},
		{`{"ground_truth": 12345678901234567890}`, `12345678901234567891`, "fail", `the answer: expected 12345678901234567890, found 12345678901234567891`},
		{`{"ground_truth": NaN}`, `NaN`, "fail", `the answer: expected nan, found nan`},
		{`{}`, `5`, "value_error", ""},
		{`{"ground_truth": 1, "answer_field": 2}`, `5`, "value_error", ""},
	} {
		got := gradeConfigAndAnswerJSON(t, "exact", c.config, c.answer)
		require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), "%s %s: %s", c.config, c.answer, got.Reasoning)
		if c.failure != "" {
			require.Contains(t, got.Reasoning, "\nFailures:\n- "+c.failure)
		}
	}
}
