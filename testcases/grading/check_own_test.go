package grading_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// TestCheckOfOurOwn: a config that could grade nothing is refused before a run,
// and is an error if it is graded by all the same.
func TestCheckOfOurOwn(t *testing.T) {
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
		spec := grading.Spec{Type: c.kind, Config: pyvaluetest.Decode(t, c.config), Field: "graders[1]"}
		err := grading.Check(spec)
		if c.want == "" {
			require.NoError(t, err, c.config)
			continue
		}
		require.EqualError(t, err, "field graders[1].config: "+c.want)
		got := grading.Grade(t.Context(), spec, grading.Input{Answer: pyvalue.String("a")})
		require.Equal(t, &pyvalue.Error{Kind: "value_error", Text: c.want}, got.Error)
	}
}
