package testcases_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/testcases"
)

// Each error of Load names the file, the position in it, the case and the field.
func TestLoadErrors(t *testing.T) { //nolint:paralleltest // loadErrorText changes the working directory
	for _, c := range []struct{ name, text, want string }{
		{"c.json", "{\"id\": \"a\",\n  \"task\": }", `c.json:2:11: expected a value, found '}'`},
		{"c.json", "\ufeff{}", "c.json:1:1: expected a value, found '\\ufeff'"},
		{"c.json", `{"id": "a", "task": "", "timeout": ` + strings.Repeat("1", 4301) + `}`, `c.json: value_error: an integer of 4301 digits, more than 4300`},
		{"c.json", `5`, `c.json: want a case, which is an object, found integer`},
		{"c.json", `[{"id": "a", "task": ""}, null]`, `c.json[1]: want a case, which is an object, found null`},
		{"c.jsonl", "{\"id\": \"a\", \"task\": \"\"}\n\n{\"id\" \"a\"}\n", `c.jsonl:3:7: expected ':', found '"'`},
		{"c.jsonl", "{\"id\": \"a\", \"task\": \"\"}\n{\"id\": \"b\", \"task\": 1}\n", `c.jsonl:2: case "b": field task: want a string, found integer`},
		{"c.yaml", "id: a\n task: b", `c.yaml: yaml: line 2: mapping values are not allowed in this context`},
		{"c.yaml", "id: a\nid: b\ntask: c", `c.yaml: yaml: unmarshal errors:` + "\n" + `  line 2: mapping key "id" already defined at line 1`},
		{"c.yaml", "id: 7\ntask: b", `c.yaml:1: case "": field id: want a string, found integer`},
		{"c.yaml", "- id: a\n  task: b\n- id: c\n  task: [d]\n", `c.yaml:3: case "c": field task: want a string, found list`},
		{"c.json", `{}`, "c.json: case \"\": field id: missing\nc.json: case \"\": field task: missing"},
		{"c.json", `{"id": null, "task": ""}`, `c.json: case "": field id: want a string, found null`},
		{"c.json", `[{"id": "a", "task": ""}, {"id": "b", "task": true}]`, `c.json[1]: case "b": field task: want a string, found boolean`},
		{"c.json", caseJSONWithField(`"notes": 5`), fieldErrorText(`notes: want a string, found integer`)},
		{"c.json", caseJSONWithField(`"data_node": 5`), fieldErrorText(`data_node: want a string or a list of strings, found integer`)},
		{"c.json", caseJSONWithField(`"data_node": ["a", 5]`), fieldErrorText(`data_node[1]: want a string, found integer`)},
		{"c.json", caseJSONWithField(`"data_node": "x.csv", "files": {"data/x.csv": ""}`), fieldErrorText(`files["data/x.csv"]: data_node[0] has that name in the sandbox`)},
		{"c.json", caseJSONWithField(`"data_node": "x.csv", "files": {"data": ""}`), fieldErrorText(`data_node[0]: files["data"] is a file where this needs a folder`)},
		{"c.json", caseJSONWithField(`"files": {"a": "", "a/b": ""}`), fieldErrorText(`files["a/b"]: files["a"] is a file where this needs a folder`)},
		{"c.json", caseJSONWithField(`"files": {"/etc/x": ""}`), fieldErrorText(`files["/etc/x"]: the name is not relative`)},
		{"c.json", caseJSONWithField(`"files": {"a/../b": ""}`), fieldErrorText(`files["a/../b"]: the name leaves the sandbox`)},
		{"c.json", caseJSONWithField(`"files": {"": ""}`), fieldErrorText(`files[""]: not the name of a file`)},
		{"c.json", caseJSONWithField(`"files": {"a//b": ""}`), fieldErrorText(`files["a//b"]: not the name of a file`)},
		{"c.json", caseJSONWithField(`"files": {"a/": ""}`), fieldErrorText(`files["a/"]: not the name of a file`)},
		{"c.json", caseJSONWithField(`"files": {".": ""}`), fieldErrorText(`files["."]: not the name of a file`)},
		{"c.json", caseJSONWithField(`"files": {"a\u0000": ""}`), fieldErrorText(`files["a\x00"]: not the name of a file`)},
		{"c.json", caseJSONWithField(`"files": {".assay/x": ""}`), fieldErrorText(`files[".assay/x"]: names in .assay are taken`)},
		{"c.json", caseJSONWithField(`"files": {"x": 5}`), fieldErrorText(`files["x"]: want a string, found integer`)},
		{"c.json", caseJSONWithField(`"files": ["x"]`), fieldErrorText(`files: want an object, found list`)},
		{"c.json", caseJSONWithField(`"grader": []`), fieldErrorText(`grader: want an object, found list`)},
		{"c.json", caseJSONWithField(`"metadata": []`), fieldErrorText(`metadata: want an object, found list`)},
		{"c.json", caseJSONWithField(`"timeout": 600.5`), fieldErrorText(`timeout: want a whole number of seconds, found 600.5`)},
		{"c.json", caseJSONWithField(`"timeout": Infinity`), fieldErrorText(`timeout: want a whole number of seconds, found inf`)},
		{"c.json", caseJSONWithField(`"timeout": 1e19`), fieldErrorText(`timeout: want a whole number of seconds, found 1e+19`)},
		{"c.json", caseJSONWithField(`"timeout": "600.5"`), fieldErrorText(`timeout: want a whole number of seconds, found 600.5`)},
		{"c.json", caseJSONWithField(`"timeout": "600."`), fieldErrorText(`timeout: want a whole number of seconds, found 600.`)},
		{"c.json", caseJSONWithField(`"timeout": "6__0"`), fieldErrorText(`timeout: want a whole number of seconds, found 6__0`)},
		{"c.json", caseJSONWithField(`"timeout": "_6"`), fieldErrorText(`timeout: want a whole number of seconds, found _6`)},
		{"c.json", caseJSONWithField(`"timeout": "+-6"`), fieldErrorText(`timeout: want a whole number of seconds, found +-6`)},
		{"c.json", caseJSONWithField(`"timeout": "6e2"`), fieldErrorText(`timeout: want a whole number of seconds, found 6e2`)},
		{"c.json", caseJSONWithField(`"timeout": "٦"`), fieldErrorText(`timeout: want a whole number of seconds, found ٦`)},
		{"c.json", caseJSONWithField(`"timeout": ""`), fieldErrorText(`timeout: want a whole number of seconds, found `)},
		{"c.json", caseJSONWithField(`"agent_timeout": "ten"`), fieldErrorText(`agent_timeout: want a whole number of seconds, found ten`)},
		{"c.json", caseJSONWithField(`"download_timeout": []`), fieldErrorText(`download_timeout: want a whole number of seconds, found []`)},
		{"c.json", caseJSONWithField(`"requires": ["numpy"]`), fieldErrorText(`requires[0]: want python:MODULE, command:NAME or kernel:NAME, found "numpy"`)},
		{"c.json", caseJSONWithField(`"requires": ["python:"]`), fieldErrorText(`requires[0]: want python:MODULE, command:NAME or kernel:NAME, found "python:"`)},
		{"c.json", caseJSONWithField(`"tags": ["a", 1]`), fieldErrorText(`tags[1]: want a string, found integer`)},
		{"c.json", caseJSONWithField(`"setup": []`), fieldErrorText(`setup: want a string, found list`)},
		{"c.json", caseJSONWithField(`"limits": {"wall": 5}`), fieldErrorText(`limits.wall: unknown; known are wall_s, idle_s, cell_s, turns, actions, tokens, cost_usd`)},
		{"c.json", caseJSONWithField(`"limits": {"wall_s": 0}`), fieldErrorText(`limits.wall_s: want a number above 0, found 0`)},
		{"c.json", caseJSONWithField(`"limits": {"idle_s": "5"}`), fieldErrorText(`limits.idle_s: want a number above 0, found 5`)},
		{"c.json", caseJSONWithField(`"limits": {"cell_s": Infinity}`), fieldErrorText(`limits.cell_s: want a number above 0, found inf`)},
		{"c.json", caseJSONWithField(`"limits": {"turns": 1.5}`), fieldErrorText(`limits.turns: want a whole number above 0, found 1.5`)},
		{"c.json", caseJSONWithField(`"limits": {"tokens": 1e30}`), fieldErrorText(`limits.tokens: want a whole number above 0, found 1e+30`)},
		{"c.json", caseJSONWithField(`"oracle": "print(1)"`), fieldErrorText(`oracle: want an object or a list, found string`)},
		{"c.json", caseJSONWithField(`"oracle": {}`), fieldErrorText(`oracle.cells: want either cells or turns`)},
		{"c.json", caseJSONWithField(`"oracle": {"cells": [], "turns": []}`), fieldErrorText(`oracle.cells: want either cells or turns`)},
		{"c.json", caseJSONWithField(`"oracle": {"turns": [], "answer": 1}`), fieldErrorText(`oracle.answer: turns submit the answer themselves`)},
		{"c.json", caseJSONWithField(`"oracle": {"cells": [], "anwser": 1}`), fieldErrorText(`oracle.anwser: unknown; known are cells, turns, answer`)},
		{"c.json", caseJSONWithField(`"oracle": ["a", {}]`), fieldErrorText(`oracle.cells[1]: want a string, found object`)},
		{"c.json", caseJSONWithField(`"oracle": [{}, "a"]`), fieldErrorText(`oracle.turns[1]: want an object, found string`)},
	} {
		require.Equal(t, c.want, loadErrorText(t, c.name, c.text), c.text)
	}
}

// Cases that other harnesses load can be loaded, and CheckRunnable returns what
// prevents their run.
func TestLoadAcceptsUnrunnableCases(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		`"data_node": "data/.."`:             `data_node[0]: "data/.." does not end in the name of a file`,
		`"data_node": "/"`:                   `data_node[0]: "/" does not end in the name of a file`,
		`"data_node": ["a/x.csv","b/x.csv"]`: `data_node[1]: b/x.csv would be data/x.csv in the sandbox, and so would data_node[0]`,
		`"graders": {}`:                      `graders: want a list, found object`,
		`"graders": [null]`:                  `graders[0]: want an object, found null`,
	} {
		cases, err := testcases.Parse("c.json", []byte(caseJSONWithField(field)), nil)
		require.NoError(t, err, field)
		require.EqualError(t, testcases.CheckRunnable(cases), fieldErrorText(want))
	}
	twice := loadOneCase(t, "c.json", caseJSONWithField(`"data_node": ["a/x.csv", "a/x.csv"]`))
	require.NoError(t, testcases.CheckRunnable([]testcases.Case{twice}))
	require.Len(t, twice.Data, 1, "the same file")
}

func caseJSONWithField(field string) string { return `{"id": "a", "task": "", ` + field + `}` }

func fieldErrorText(field string) string { return `c.json: case "a": field ` + field }

// The error of a single Load lists everything that is wrong with the case.
func TestLoadErrorHasAllFaults(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{
		"a.json": `{"id": "a", "task": 1, "tags": "x"}`,
		"b.json": `{"id": "b", "task": `,
		"c.json": `[{"id": 1, "task": ""}, {"id": "ok", "task": ""}, {"id": "d", "task": "", "timeout": "x"}]`,
	})
	_, err := testcases.Load([]string{dir}, testcases.Options{})
	require.ErrorContains(t, err, `a.json: case "a": field task`)
	require.ErrorContains(t, err, `a.json: case "a": field tags`)
	require.ErrorContains(t, err, `b.json:1:21: expected a value, found the end`)
	require.ErrorContains(t, err, `c.json[0]: case "": field id`)
	require.ErrorContains(t, err, `c.json[2]: case "d": field timeout`)
	require.Len(t, strings.Split(err.Error(), "\n"), 5)
}

func TestTimeoutCoercion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		`600`: 10 * time.Minute, `600.0`: 10 * time.Minute, `"600"`: 10 * time.Minute, `" 600 "`: 10 * time.Minute, `"600.0"`: 10 * time.Minute,
		`"6_00"`: 10 * time.Minute, `"6_00.00"`: 10 * time.Minute, `"+600"`: 10 * time.Minute, `"0600"`: 10 * time.Minute, `"-5"`: -5 * time.Second,
		`true`: time.Second, `false`: 0, `-5`: -5 * time.Second, `6e2`: 10 * time.Minute,
	} {
		require.Equal(t, want, loadOneCase(t, "c.json", caseJSONWithField(`"timeout": `+text)).Timeouts.Timeout, text)
	}
	for _, huge := range []string{strings.Repeat("9", 400), `"` + strings.Repeat("9", 400) + `"`, `9e18`} {
		forever := loadOneCase(t, "c.json", caseJSONWithField(`"timeout": `+huge)).Timeouts.Timeout
		require.Greater(t, forever, 200*365*24*time.Hour)
		require.Less(t, forever, time.Duration(math.MaxInt64))
	}
}

func TestWallLimit(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]time.Duration{
		`"notes": ""`:                                                    0,
		`"metadata": {"timeout_s": 4}`:                                   4 * time.Second,
		`"metadata": {"timeout_s": "soon"}`:                              0,
		`"metadata": {"timeout_s": NaN}`:                                 0,
		`"metadata": {"timeout_s": null}`:                                0,
		`"timeout": 3, "metadata": {"timeout_s": 4}`:                     3 * time.Second,
		`"agent_timeout": 2, "timeout": 3, "metadata": {"timeout_s": 4}`: 2 * time.Second,
		`"limits": {"wall_s": 1.5}, "agent_timeout": 2, "timeout": 3`:    1500 * time.Millisecond,
		`"limits": {"idle_s": 1.5}, "agent_timeout": 0, "timeout": -3, "metadata": {"timeout_s": 4}`: 4 * time.Second,
		`"download_timeout": 9`: 0,
	} {
		require.Equal(t, want, loadOneCase(t, "c.json", caseJSONWithField(field)).WallLimit(), field)
	}
}

func TestOracleIsReadFromEveryForm(t *testing.T) {
	t.Parallel()
	for oracle, want := range map[string]string{
		`["a = 1", "print(a)"]`:                              `{"cells":["a = 1","print(a)"]}`,
		`{"cells": [], "answer": 1}`:                         `{"cells":[],"answer":1}`,
		`[{"content": "x"}, {}]`:                             `{"turns":[{"content":"x"},{}]}`,
		`{"cells": ["a"]}`:                                   `{"cells":["a"]}`,
		`{"answer": {"b": 1.0, "a": 1e400}, "cells": ["a"]}`: `{"cells":["a"],"answer":{"b":1.0,"a":{"$float":"Infinity"}}}`,
		`{"cells": ["a"], "answer": null}`:                   `{"cells":["a"],"answer":null}`,
		`{"turns": [{"content": [{"type": "text"}]}]}`:       `{"turns":[{"content":[{"type":"text"}]}]}`,
		`{"turns": [{"z": 1, "a": 12345678901234567890}]}`:   `{"turns":[{"z":1,"a":12345678901234567890}]}`,
	} {
		require.Equal(t, want, string(loadOneCase(t, "c.json", caseJSONWithField(`"oracle": `+oracle)).Oracle), oracle)
	}
}
