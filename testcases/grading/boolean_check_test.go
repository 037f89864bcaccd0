package grading_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBooleanCheck(t *testing.T) {
	t.Parallel()
	const config = `{"ground_truth": {"ok": true}}`
	runGraderTestRows(t, "boolean_check", map[string]graderTestRow{
		"same":                          {config, `{"ok": true}`, "pass", `{"ok_actual": true, "ok_expected": true, "ok_pass": true}`},
		"both false":                    {`{"ground_truth": {"ok": false}}`, `{"ok": false}`, "pass", `{"ok_pass": true}`},
		"other":                         {config, `{"ok": false}`, "fail", `{"ok_actual": false, "ok_expected": true, "ok_pass": false}`},
		"missing":                       {config, `{"OK": true}`, "fail", ""},
		"null":                          {config, `{"ok": null}`, "fail", ""},
		"one is not a boolean":          {config, `{"ok": 1}`, "fail", ""},
		"text is not a boolean":         {config, `{"ok": "true"}`, "fail", ""},
		"the ground truth is none":      {`{"ground_truth": {"ok": 1}}`, `{"ok": true}`, "fail", ""},
		"the ground truth is null":      {`{"ground_truth": {"ok": null}}`, `{"ok": null}`, "fail", ""},
		"one field of two":              {`{"ground_truth": {"ok": true, "done": true}}`, `{"ok": true}`, "fail", `{"ok_pass": true}`},
		"a name with dots is no path":   {`{"ground_truth": {"a.b": true}}`, `{"a": {"b": true}}`, "fail", ""},
		"a name with dots":              {`{"ground_truth": {"a.b": true}}`, `{"a.b": true}`, "pass", `{"a.b_pass": true}`},
		"ground truth null":             {`{"ground_truth": null}`, `{"ok": true}`, "type_error", ""},
		"answer is a list":              {config, `["yes"]`, "fail", ""},
		"answer is a list with the key": {config, `["ok"]`, "type_error", ""},
		"answer is text with the key":   {config, `"all ok"`, "type_error", ""},
		"answer is a boolean":           {config, `true`, "type_error", ""},
	})
}

func TestBooleanCheckWithoutGroundTruth(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`{"ok": false}`, `[]`, `5`} {
		require.True(t, gradeConfigAndAnswerJSON(t, "boolean_check", `{"ground_truth": {}}`, answer).Passed)
	}
}

func TestBooleanCheckReasoning(t *testing.T) {
	t.Parallel()
	got := gradeConfigAndAnswerJSON(t, "boolean_check", `{"ground_truth": {"ok": true, "done": true, "sane": true, "gone": false, "odd": 1}}`, `{"ok": true, "done": false, "sane": "yes", "odd": true}`)
	require.Equal(t, `Boolean check: FAIL

+ ok: True, expected True
x done: False, expected True

Failures:
- done: found False, expected True
- sane: found 'yes', which is not a boolean, expected True
- gone: missing from the answer, expected False
- odd: the ground truth is not a boolean but 1`, got.Reasoning)
}
