package grading_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading/pyvalue/pyvaluetest"
)

func TestContains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, answer, outcome, text string }{
		{`{"values": ["a", "c"]}`, `"abc"`, "pass", "+ 'a'\n+ 'c'"},
		{`{"values": ["a", "d", "e"]}`, `"abc"`, "fail", "- the answer: 2 of 3 values are missing: ['d', 'e']; found 'abc'"},
		{`{"values": ["a", "d"], "mode": "any"}`, `"abc"`, "pass", "+ 'a'\nx 'd'"},
		{`{"values": ["d", "e"], "mode": "any"}`, `"abc"`, "fail", "- the answer: none of ['d', 'e']; found 'abc'"},
		{`{"values": ["a", "d"], "mode": "all"}`, `["d", "a", "a"]`, "pass", ""},
		{`{"values": ["ab"]}`, `["abc"]`, "fail", ""},
		{`{"values": [1, true]}`, `[1.0]`, "pass", ""},
		{`{"values": [[1, {"a": 2}]]}`, `[[1, {"a": 2}]]`, "pass", ""},
		{`{"values": ["a"]}`, `{"a": 0}`, "pass", ""},
		{`{"values": ["b"], "answer_field": "x.y"}`, `{"x": {"y": {"a": "b"}}}`, "fail", ""},
		{`{"values": [5]}`, `"5"`, "fail", ""},
		{`{"values": [5, "5"], "mode": "any"}`, `"5"`, "pass", ""},
		{`{"values": [[]]}`, `{"a": 0}`, "fail", ""},
		{`{"values": ["5"]}`, `5`, "fail", "- the answer: want text, a list or an object, found 5"},
		{`{"values": ["5"], "answer_field": "n"}`, `{"m": "5"}`, "fail", "- n: missing from the answer, expected something that contains ['5']"},
		{`{"values": ["5"], "answer_field": "n"}`, `{"n": null}`, "fail", ""},
		{`{"values": ["5"], "answer_field": "n"}`, `"n5"`, "type_error", ""},
		{`{"values": ["A"]}`, `"a"`, "fail", ""},
	} {
		got := gradeConfigAndAnswerJSON(t, "contains", c.config, c.answer)
		require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), "%s %s: %s", c.config, c.answer, got.Reasoning)
		require.Contains(t, got.Reasoning, c.text)
	}
	require.JSONEq(t, `{"found": ["a"], "missing": ["d", 1.0]}`, pyvaluetest.MarshalToString(t, gradeConfigAndAnswerJSON(t, "contains", `{"values": ["a", "d", 1.0]}`, `"abc"`).Metrics))
}
