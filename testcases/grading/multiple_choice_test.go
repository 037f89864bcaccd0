package grading_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading/pyvalue"
)

// A multiple choice passes or fails as in the rows, where given is the expected metric
// agent_answer, "" if there must be no metrics.
func TestMultipleChoice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, answer, outcome, given string }{
		{`{"correct_answer": "B"}`, `{"answer": "B"}`, "pass", `"B"`},
		{`{"correct_answer": "B"}`, `{"answer": " b\n"}`, "pass", `"B"`},
		{`{"correct_answer": " b "}`, `{"answer": "\u00a0B\u2003"}`, "pass", `"B"`},
		{`{"correct_answer": "B"}`, `{"answer": "B\u200b"}`, "fail", "\"B\u200b\""},
		{`{"correct_answer": "B"}`, `{"answer": "B)"}`, "fail", `"B)"`},
		{`{"correct_answer": "B"}`, `{"answer": "(B)"}`, "fail", `"(B)"`},
		{`{"correct_answer": "B"}`, `{"answer": "B. text"}`, "fail", `"B. TEXT"`},
		{`{"correct_answer": "B"}`, `{"answer": "Ｂ"}`, "fail", `"Ｂ"`},
		{`{"correct_answer": "B"}`, `{"answer": "В"}`, "fail", `"В"`}, // Cyrillic
		{`{"correct_answer": "B"}`, `{"answer": ["B"]}`, "fail", `"['B']"`},
		{`{"correct_answer": "['b']"}`, `{"answer": ["B"]}`, "pass", `"['B']"`},
		{`{"correct_answer": "true"}`, `{"answer": true}`, "pass", `"TRUE"`},
		{`{"correct_answer": "none"}`, `{"answer": null}`, "pass", `"NONE"`},
		{`{"correct_answer": "1"}`, `{"answer": 1}`, "pass", `"1"`},
		{`{"correct_answer": "1"}`, `{"answer": 1.0}`, "fail", `"1.0"`},
		{`{"correct_answer": "1e+16"}`, `{"answer": 1e16}`, "pass", `"1E+16"`},
		{`{"correct_answer": "STRASSE"}`, `{"answer": "straße"}`, "pass", `"STRASSE"`},
		{`{"correct_answer": "ﬁn"}`, `{"answer": "FIN"}`, "pass", `"FIN"`},
		{`{"correct_answer": "é"}`, `{"answer": "e\u0301"}`, "fail", "\"E\u0301\""}, // no Unicode normalisation
		{`{"correct_answers": ["A", "d "]}`, `{"answer": "D"}`, "pass", `"D"`},
		{`{"correct_answers": ["A"], "correct_answer": "B"}`, `{"answer": "B"}`, "fail", `"B"`},
		{`{"correct_answers": []}`, `{"answer": ""}`, "fail", `""`},
		{`{"correct_answers": "BC"}`, `{"answer": "c"}`, "pass", `"C"`},
		{`{"correct_answers": "BC"}`, `{"answer": "BC"}`, "fail", `"BC"`},
		{`{"correct_answers": {"A": 1, "B": 2}}`, `{"answer": "b"}`, "pass", `"B"`},
		{`{"correct_answers": null}`, `{"other": "B"}`, "type_error", ""},
		{`{"correct_answers": 5}`, `{"answer": "5"}`, "type_error", ""},
		{`{"correct_answers": ["A", null]}`, `{"other": "A"}`, "type_error", ""},
		{`{"correct_answers": ["A", 1]}`, `{"answer": "A"}`, "type_error", ""},
		{`{"correct_answer": null}`, `{"answer": "A"}`, "type_error", ""},
		{`{"correct_answer": 1}`, `{"answer": 1}`, "type_error", ""},
		{`{}`, `{"answer": "  "}`, "pass", `""`},
		{`{}`, `{"answer": "A"}`, "fail", `"A"`},
		{`{"correct_answer": "B"}`, `{"choice": "B"}`, "fail", ""},
		{`{"correct_answer": "B"}`, `{"Answer": "B"}`, "fail", ""},
		{`{"correct_answer": "B"}`, `"B"`, "fail", ""},
		{`{"correct_answer": "B"}`, `"the answer is B"`, "type_error", ""},
		{`{"correct_answer": "B"}`, `["B"]`, "fail", ""},
		{`{"correct_answer": "B"}`, `["answer"]`, "type_error", ""},
		{`{"correct_answer": "B"}`, `5`, "type_error", ""},
		{`{"correct_answer": "B"}`, `true`, "type_error", ""},
	} {
		got := gradeConfigAndAnswerJSON(t, "multiple_choice", c.config, c.answer)
		require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), "%s %s", c.config, c.answer)
		given := ""
		if v := got.Metrics.Get("agent_answer"); v != nil {
			given = `"` + pyvalue.Str(v) + `"`
		}
		require.Equal(t, c.given, given, "%s %s", c.config, c.answer)
		require.InDelta(t, map[bool]float64{true: 1, false: 0}[got.Passed], got.Score, 0)
	}
}

func TestMultipleChoiceReasoning(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "multiple_choice", `{"correct_answers": ["a", "d"]}`, `{"answer": "b"}`)
	require.Equal(t, "Multiple choice: FAIL\n\nx answered 'b'\n\nFailures:\n- expected 'A' or 'D', found 'B'", got.Reasoning)
	got = gradeConfigAndAnswerJSON(t, "multiple_choice", `{"correct_answer": "a"}`, `{"choice": "b"}`)
	require.Equal(t, "Multiple choice: FAIL\n\nFailures:\n- the answer has no field \"answer\"; it is {'choice': 'b'}", got.Reasoning)
}
