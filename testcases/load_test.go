package testcases_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/testcases"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

func TestLoadEveryField(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{"full.json": caseWithAllFields})
	file := filepath.Join(dir, "full.json")
	cases, err := testcases.Load([]string{file}, testcases.Options{Data: map[string]string{"latch://": dir}})
	require.NoError(t, err)
	require.Len(t, cases, 1)
	c := cases[0]
	require.Equal(t, "full", c.ID)
	require.Equal(t, "Count the rows.\n", c.Task)
	require.Equal(t, "easy", c.Notes)
	require.Equal(t, file, c.Source.File)
	require.Equal(t, file, c.Source.String())
	require.Equal(t, []testcases.DataFile{
		{Name: "rows.csv", Path: filepath.Join(dir, "rows.csv"), Base: "rows.csv"},
		{Name: "latch://38.account/a/b.h5ad", Path: filepath.Join(dir, "38.account/a/b.h5ad"), Base: "b.h5ad"},
	}, c.Data)
	require.Len(t, c.Graders, 4)
	require.Equal(t, "numeric_tolerance", c.Graders[0].Type)
	require.Equal(t, "grader", c.Graders[0].Field)
	require.Equal(t, grading.Spec{Type: "", Config: pyvalue.NewInt(5), Field: "graders[1]"}, c.Graders[2])
	require.Empty(t, c.Graders[3].Type)
	require.Equal(t, "qc", pyvalue.Str(c.Metadata.Get("task")))
	require.Equal(t, testcases.Timeouts{Agent: 15 * time.Minute, Timeout: 10 * time.Minute, Metadata: time.Hour}, c.Timeouts)
	require.JSONEq(t, `{"cells": ["print(3)"], "answer": {"n": 3}}`, string(c.Oracle))
	require.Equal(t, []string{"python:numpy", "command:git", "kernel:python"}, c.Requires)
	require.Equal(t, []testcases.InlineFile{{Name: "z.txt", Text: "last"}, {Name: "sub/a.txt", Text: "first"}}, c.Files)
	require.Equal(t, "x = 1", c.Setup)
	require.Equal(t, "python", c.Kernel)
	require.Equal(t, []string{"easy", "csv"}, c.Tags)
	require.Equal(t, testcases.AttemptLimits{
		Wall: 30 * time.Second, Idle: 1500 * time.Millisecond, Cell: 10 * time.Second,
		Turns: 5, Actions: 50, Tokens: 100000, CostUSD: 0.25,
	}, c.Limits)
}

func TestLoadCaseWithRequiredFieldsOnly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"id": "", "task": ""}`,
		`{"id": "", "task": "", "data_node": null, "grader": null, "metadata": null, "timeout": null, "notes": null, "oracle": null, "files": null, "limits": null, "tags": null, "graders": null, "kernel": null, "network": null, "setup": null, "requires": null}`,
		`{"id": "", "task": "", "data_node": [], "unknown": {"x": NaN}}`,
	} {
		c := loadOneCase(t, "c.json", text)
		c.Source = testcases.CaseLocation{}
		require.Equal(t, testcases.Case{}, c)
	}
}

// The same case is equal in every file format.
func TestLoadSameInEveryFormat(t *testing.T) {
	t.Parallel()
	want := loadOneCase(t, "c.json", caseWithAllFields)
	inYAML := `
id: full
task: |
  Count the rows.
notes: easy
data_node: [rows.csv, "latch://38.account/a/b.h5ad"]
grader: &numeric {type: numeric_tolerance, config: {ground_truth: {n: 3}}}
graders: [{type: kernel_check, config: {code: "True"}}, {config: 5}, {type: 7}]
metadata: {task: qc, timeout_s: 3600}
timeout: "600"
agent_timeout: 900.0
download_timeout: true
oracle:
  cells: [print(3)]
  answer: {n: 3}
requires: ["python:numpy", "command:git", "kernel:python"]
files:
  z.txt: last
  sub/a.txt: first
setup: x = 1
kernel: python
tags: [easy, csv]
limits: {wall_s: 30, idle_s: 1.5, cell_s: 10, turns: 5, actions: 50, tokens: 100_000, cost_usd: .25}
`
	for name, text := range map[string]string{
		"c.jsonl":  "\n" + strings.ReplaceAll(caseWithAllFields, "\n", " ") + "\n",
		"c.ndjson": strings.ReplaceAll(caseWithAllFields, "\n", " "),
		"c.yaml":   inYAML,
		"c.yml":    "---\n- " + strings.ReplaceAll(strings.TrimSpace(inYAML), "\n", "\n  "),
	} {
		got := loadOneCase(t, name, text)
		got.Source = want.Source
		got.Graders[0].Config, want.Graders[0].Config = nil, nil
		for i := range got.Data {
			got.Data[i].Path = want.Data[i].Path
		}
		require.Equal(t, want, got, name)
	}
}

func TestLoadFilesWithSeveralCases(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{
		"list.json":   `[{"id": "a", "task": ""}, {"id": "b", "task": ""}]`,
		"lines.jsonl": "{\"id\": \"c\", \"task\": \"\"}\r\n\n  \n{\"id\": \"d\", \"task\": \"\"}",
		"docs.yaml":   "id: e\ntask: ''\n---\n- {id: f, task: ''}\n- {id: g, task: ''}\n",
	})
	cases, err := testcases.Load([]string{dir + "/list.json", dir + "/lines.jsonl", dir + "/docs.yaml"}, testcases.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f", "g"}, idsOfCases(cases))
	var where []string
	for _, c := range cases {
		where = append(where, strings.TrimPrefix(c.Source.String(), dir+"/"))
	}
	require.Equal(t, []string{"list.json[0]", "list.json[1]", "lines.jsonl:1", "lines.jsonl:4", "docs.yaml:1", "docs.yaml:4", "docs.yaml:5"}, where)
	require.Equal(t, 1, cases[3].Source.Index)
}

func TestLoadFolders(t *testing.T) {
	t.Parallel()
	one := func(id string) string { return `{"id": "` + id + `", "task": ""}` }
	dir := writeTestFolder(t, map[string]string{
		"b.json": one("b"), "bom.yaml": "\ufeffid: bom\ntask: ''\n", "a/z.json": one("z"), "a/deep/y.jsonl": one("y"), "c.YAML": one("no such extension"), "notes.txt": "x",
		".hidden.json": one("hidden"), ".git/x.json": one("hidden too"),
		"manifest.json": `[{"task": "qc", "kit": "x", "eval_id": "b"}]`,
		"other.json":    `{"examples": [{"src": "x", "id": "b", "task_cat": "qc"}]}`,
		"data.json":     `[{"id": 1, broken`, "empty.json": ``, "values.yaml": "- 1\n- 2\n",
	})
	var log bytes.Buffer
	opts := testcases.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
	cases, err := testcases.Load([]string{dir}, opts)
	require.NoError(t, err)
	require.Equal(t, []string{"y", "z", "b", "bom"}, idsOfCases(cases))
	for _, name := range []string{"manifest.json", "other.json", "data.json", "empty.json", "values.yaml"} {
		require.Contains(t, log.String(), name, "what is passed over is said")
	}

	cases, err = testcases.Load([]string{dir + "/b.json", dir + "/a", dir, dir + "/./b.json"}, opts)
	require.NoError(t, err)
	require.Equal(t, []string{"b", "y", "z", "bom"}, idsOfCases(cases), "each once, in the order of the paths")

	cases, err = testcases.Load([]string{dir + "/*"}, opts)
	require.NoError(t, err)
	require.Equal(t, []string{"y", "z", "b", "bom"}, idsOfCases(cases))

	cases, err = testcases.Load([]string{dir + "/[a-b]*/?.json"}, testcases.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"z"}, idsOfCases(cases))

	for path, want := range map[string]string{
		dir + "/*.toml":        "/*.toml: no file matches",
		dir + "/[":             "syntax error in pattern",
		dir + "/absent.json":   "absent.json: no such file or directory",
		dir + "/notes.txt":     "notes.txt: not a case file: want .json, .jsonl, .ndjson, .yaml or .yml",
		dir + "/values.yaml":   "values.yaml:1: want a case, which is an object, found integer",
		dir + "/manifest.json": "field id: missing",
		dir + "/empty.json":    "empty.json:1:1: expected a value, found the end",
		dir + "/*.txt":         "no case in ",
	} {
		_, err = testcases.Load([]string{path}, testcases.Options{})
		require.ErrorContains(t, err, want, path)
	}
	_, err = testcases.Load([]string{filepath.Join(dir, "a", "deep"), dir + "/values.y*"}, testcases.Options{})
	require.NoError(t, err)
	_, err = testcases.Load([]string{t.TempDir()}, testcases.Options{})
	require.ErrorContains(t, err, "no case in ")
}

func TestTextLooksLikeCases(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"id":"a","task":""}`:                      true,
		"[\n{ 'id' : 1,\n 'task' : 2":               true,
		"id: a\ntask: b":                            true,
		"- task: b\n  id: a":                        true,
		"[{id: a, task: b}]":                        true,
		`{"id": 1}`:                                 false,
		`{"eval_id": 1, "task": 2}`:                 false,
		`{"id": 1, "task_cat": 2}`:                  false,
		`{"name": "the id and the task of a case"}`: false,
	} {
		require.Equal(t, want, testcases.TextLooksLikeCases([]byte(text)), text)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("c.json", caseWithAllFields)
	f.Add("c.json", `[{"id": "a", "task": "b", "oracle": [{"content": "x"}]}]`)
	f.Add("c.json", `{"id": "a", "task": "", "files": {"/a": "", "//b": "", "c/": ""}, "data_node": ["/", "..", "a"]}`)
	f.Add("c.jsonl", "{\"id\": \"a\"}\n\nx")
	f.Add("c.yaml", "id: a\ntask: b\ngraders: [&x {type: exact}, {<<: *x}]\ntimeout: 1e3\n---\n- 0x1f\n- .nan\n- 2024-01-01\n- !!binary aGk=\n")
	f.Add("c.yaml", "a: &a [*a]")
	f.Add("c.yaml", "? [1]\n: 2")
	f.Fuzz(func(t *testing.T, path, text string) {
		cases, err := testcases.Parse(path, []byte(text), nil)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, c := range cases {
			_ = c.WallLimit()
			_ = testcases.CheckRunnable(cases)
		}
	})
}

// caseWithAllFields is the JSON of a case that has every field.
const caseWithAllFields = `{
	"id": "full", "task": "Count the rows.\n", "notes": "easy", "canary": "ignored",
	"data_node": ["rows.csv", "latch://38.account/a/b.h5ad"],
	"grader": {"type": "numeric_tolerance", "config": {"ground_truth": {"n": 3}}, "scoring": {}},
	"graders": [{"type": "kernel_check", "config": {"code": "True"}}, {"config": 5}, {"type": 7}],
	"metadata": {"task": "qc", "timeout_s": 3600},
	"timeout": "600", "agent_timeout": 900.0, "download_timeout": true,
	"oracle": {"cells": ["print(3)"], "answer": {"n": 3}},
	"requires": ["python:numpy", "command:git", "kernel:python"],
	"files": {"z.txt": "last", "sub/a.txt": "first"},
	"setup": "x = 1", "kernel": "python", "tags": ["easy", "csv"],
	"limits": {"wall_s": 30, "idle_s": 1.5, "cell_s": 10, "turns": 5, "actions": 50, "tokens": 100000, "cost_usd": 0.25}
}`
