package lint_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
	"assay/testcases/lint"
)

// lintPathsInFolder lints paths, which are relative to dir. It returns "file code location" for
// each issue, without the location if the issue has none, and only the file for a result without
// issues. In a file of several cases the file names the case too, as in "c.json[1]".
func lintPathsInFolder(t *testing.T, dir string, opts lint.CheckOptions, paths ...string) []string {
	t.Helper()
	for i := range paths {
		paths[i] = filepath.Join(dir, paths[i])
	}
	report, err := lint.Check(paths, opts)
	require.NoError(t, err)
	found := []string{}
	for _, result := range report.Results {
		file := strings.TrimPrefix(strings.TrimPrefix(result.File, dir), "/")
		for _, code := range issueCodesAndLocations(result) {
			found = append(found, file+" "+code)
		}
		if len(result.Issues) == 0 {
			found = append(found, file)
		}
	}
	return found
}

// Each case in a list, in JSON Lines or in YAML has a separate result.
func TestFileFormats(t *testing.T) {
	t.Parallel()
	one, two := `{"id": "a", "task": "t", "tags": []}`, `{"id": "b", "task": 5, "tags": []}`
	for name, want := range map[string][]string{
		"c.json":   {"c.json[0]", "c.json[1] E004", "c.json[2] E002"},
		"c.jsonl":  {"c.jsonl:1", "c.jsonl:2 E001", "c.jsonl:4 E004"},
		"c.ndjson": {"c.ndjson:1 E002"},
		"c.yaml":   {"c.yaml:1", "c.yaml:5 E004", "c.yaml:6 E004", "c.yaml:6 E107 tags[0]"},
		"c.yml":    {"c.yml:1", "c.yml E001"},
		"e.yaml":   {"e.yaml E002"},
		"e.jsonl":  {"e.jsonl E002"},
		"c.txt":    {"c.txt W000"},
		"c.JSON":   {"c.JSON W000", "c.JSON E002"},
		"d.txt":    {"d.txt W000", "d.txt E001"},
	} {
		dir := writeTestFolder(t, map[string]string{
			"c.json": "[" + one + "," + two + ", null]", "c.jsonl": one + "\n{\n\n" + two, "c.ndjson": "[" + one + "]",
			"c.yaml": "id: a\ntask: t\ntags: []\n---\n- " + two + "\n- {id: c, task: '', tags: [1]}\n", "c.yml": one + "\n---\na: [", "e.yaml": "# nothing\n", "e.jsonl": "\n",
			"c.txt": one, "c.JSON": "[]", "d.txt": "id: a",
		})
		require.Equal(t, want, lintPathsInFolder(t, dir, lint.CheckOptions{}, name))
	}
}

func TestLintPaths(t *testing.T) {
	t.Parallel()
	one := func(id string) string { return `{"id": "` + id + `", "task": "t", "tags": []}` }
	dir := writeTestFolder(t, map[string]string{
		"b.json": one("b"), "a/z.json": one("z"), "a/deep/y.yaml": one("y"), "c.txt": one("c"),
		".hidden.json": one("h"), ".git/x.json": one("h"), "noid.json": `{"task": "t", "tags": []}`,
		"manifest.json": `[{"task": "qc", "kit": "x", "eval_id": "b"}]`, "rows.json": `{"examples": [{"id": "x", "task_cat": "qc", "grader": "y"}]}`,
	})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.json"), 0o700))
	var log bytes.Buffer
	opts := lint.CheckOptions{Log: slog.New(slog.NewTextHandler(&log, nil))}
	require.Equal(t, []string{"a/deep/y.yaml:1", "a/z.json", "b.json", "noid.json E001"}, lintPathsInFolder(t, dir, opts, "."))
	require.Contains(t, log.String(), "manifest.json")
	require.Contains(t, log.String(), "rows.json")
	require.Equal(t, []string{"b.json", "absent.json E000", "a/deep/y.yaml:1", "a/z.json"}, lintPathsInFolder(t, dir, opts, "b.json", "absent.json", "a", "b.json"))
	require.Equal(t, []string{"a/z.json"}, lintPathsInFolder(t, dir, opts, "a/*.json"))
	require.Equal(t, []string{"x*.json E000"}, lintPathsInFolder(t, dir, opts, "x*.json"))
	require.Empty(t, lintPathsInFolder(t, dir, opts, "folder.json"))

	pattern := func(p string) []string { return lintPathsInFolder(t, dir, lint.CheckOptions{Pattern: p}, ".") }
	require.Equal(t, []string{"a/deep/y.yaml:1", "a/z.json"}, pattern("a/**/[yz].*"))
	require.Equal(t, []string{"c.txt W000"}, pattern("*.txt"))
	require.Equal(t, []string{"a/z.json"}, pattern("*/*.json"))
	require.Contains(t, pattern("**/manifest.json"), "manifest.json[0] E001", "what the pattern names is linted, whatever it is")
	_, err := lint.Check([]string{dir}, lint.CheckOptions{Pattern: "**/[a"})
	require.ErrorContains(t, err, `pattern "**/[a": syntax error in pattern`)
}

func TestLintUnreadable(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{"big.json": "[]"})
	require.NoError(t, os.Truncate(filepath.Join(dir, "big.json"), 17<<20))
	writeFile(t, filepath.Join(dir, "long.json"), "["+strings.Repeat("1,", 100_000)+"1]")
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "link.json")))
	require.Equal(t, []string{"big.json E001", "long.json E001", "link.json E000"}, lintPathsInFolder(t, dir, lint.CheckOptions{}, "big.json", "long.json", "link.json"))
	require.Equal(t, []string{"link.json E001"}, lintPathsInFolder(t, dir, lint.CheckOptions{}, "."), "a large file in a folder is data")
}

// A pipe in a folder is skipped; reading it would block.
func TestPipesAreSkipped(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{"a.json": "{" + validMembers + "}"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "b.json"), 0o600))
	require.NoError(t, os.Symlink("b.json", filepath.Join(dir, "c.json")))
	require.Equal(t, []string{"a.json"}, lintPathsInFolder(t, dir, lint.CheckOptions{}, "."))
	cases, err := testcases.Load([]string{dir}, testcases.Options{})
	require.NoError(t, err)
	require.Len(t, cases, 1)
}

func TestLintCategory(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{
		"a.json": "{" + validMembers + "}", "b.json": strings.ReplaceAll("{"+validMembers+"}", `"qc"`, `"clustering"`),
		"c.json": caseJSONWithMembers(`"metadata": null`), "d.json": `{"id": "d", "task": `, "e.json": `{"id": "e", "task": "", "metadata": {"task": ["qc"]}}`,
	})
	require.Equal(t, []string{"a.json", "d.json E001"}, lintPathsInFolder(t, dir, lint.CheckOptions{Category: "qc"}, "."))
	require.Equal(t, []string{"d.json E001"}, lintPathsInFolder(t, dir, lint.CheckOptions{Category: "none"}, "."))
}

// Two cases of a run must not have the same id. Blank ids are reported as blank, not as
// duplicates.
func TestDuplicateIDs(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{
		"a.json": `[{"id": "a", "task": "t", "tags": []}, {"id": "", "task": "t", "tags": []}, {"id": "", "task": "t", "tags": []}]`,
		"b.yaml": "id: a\ntask: t\ntags: []\n",
	})
	require.Equal(t, []string{"a.json[0]", "a.json[1] E002", "a.json[2] E002", "b.yaml:1 W100 id"}, lintPathsInFolder(t, dir, lint.CheckOptions{}, "."))
	report, err := lint.Check([]string{dir}, lint.CheckOptions{})
	require.NoError(t, err)
	require.Equal(t, dir+`/a.json[0] has the same id "a": no two cases of a run may share one`, report.Results[3].Issues[0].Message)
	require.Equal(t, lint.Summary{Checked: 4, Passed: 2, Errors: 2, Warnings: 1}, report.Summary)
}

// Files of the public benchmarks that share an id have no issue, but a warning in the
// log.
func TestDuplicateIDsInPublicFormat(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{"a.json": "{" + validMembers + "}", "b.json": "{" + validMembers + "}", "c.json": "[{" + validMembers + "}, {" + validMembers + "}]"})
	var log bytes.Buffer
	opts := lint.CheckOptions{Log: slog.New(slog.NewTextHandler(&log, nil))}
	require.Equal(t, []string{"a.json", "b.json", "c.json[0]", "c.json[1]"}, lintPathsInFolder(t, dir, opts, "."))
	require.Equal(t, 3, strings.Count(log.String(), "two files have one id"))
}

// What a run refuses about a case of the public benchmarks, but their own linter
// accepts, is logged and is no issue.
func TestRefusalsAreLogged(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{"a.json": "{" + validMembers + `, "notes": 5, "data_node": ["latch://1.account/a/x", "latch://1.account/b/x"]}`})
	var log bytes.Buffer
	opts := lint.CheckOptions{Log: slog.New(slog.NewTextHandler(&log, nil))}
	require.Equal(t, []string{"a.json"}, lintPathsInFolder(t, dir, opts, "."))
	require.Contains(t, log.String(), "field notes: want a string, found integer")
	require.Contains(t, log.String(), "field data_node[1]: ")
	log.Reset()
	ours := writeTestFolder(t, map[string]string{"a.json": `{"id": "a", "task": "t", "tags": [], "data_node": "gone.csv"}`})
	require.Equal(t, []string{"a.json"}, lintPathsInFolder(t, ours, opts, "."))
	require.Contains(t, log.String(), "data gone.csv: ")
	_, err := testcases.Load([]string{dir}, testcases.Options{})
	require.ErrorContains(t, err, "field notes: want a string, found integer")
}

// In a folder, all files that may be meant as cases are checked, even malformed ones,
// but not data files and lists of cases.
func TestFolderWithOtherFiles(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{
		"broken.json": `{"a": 1,`, "empty.json": "{}", "list.json": "[]", "text.json": `"t"`, "none.json": "", "no-id.json": `{"task": "t", "tags": []}`,
		"manifest.json": `[{"task": "qc", "kit": "xenium", "id": "a"}]`, "data.json": `{"id": 1, "name": "n"}`, "rows.json": `[{"id": 1}]`, "conf.yaml": "a: {{b}}\n",
	})
	require.Equal(t, []string{
		"broken.json E001", "empty.json E001", "empty.json E003", "empty.json E005", "empty.json W010", "list.json E002", "no-id.json E001", "none.json E001", "text.json E002",
	}, lintPathsInFolder(t, dir, lint.CheckOptions{}, "."))
}

// The JSON of a report has the form that programs read.
func TestReportJSON(t *testing.T) {
	t.Parallel()
	dir := writeTestFolder(t, map[string]string{"a.json": "{" + validMembers + "}", "b.json": caseJSONWithGrader("Exact", "{}")})
	report, err := lint.Check([]string{dir}, lint.CheckOptions{})
	require.NoError(t, err)
	for i := range report.Results[1].Issues {
		report.Results[1].Issues[i].Message = "…"
	}
	out, err := json.Marshal(report)
	require.NoError(t, err)
	require.Equal(t, `{"summary":{"files_checked":2,"files_passed":1,"total_errors":1,"total_warnings":0},"results":[`+
		`{"file":"`+dir+`/a.json","passed":true,"errors":0,"warnings":0,"issues":[]},`+
		`{"file":"`+dir+`/b.json","passed":false,"errors":1,"warnings":0,"issues":[`+
		`{"level":"error","code":"E032","message":"…","location":"grader.type","fix":{"before":"\"type\": \"Exact\"","after":"\"type\": \"exact\""},"docs":"docs/graders.md#what-all-have-in-common"}]}]}`, string(out))
}

// Misspelt names get a fix; names without a clear correction do not.
func TestFixes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lint.Fix{
		caseJSONWithMembers(`"note": 1`):                                               {Before: `"note"`, After: `"notes"`},
		caseJSONWithMembers(`"Graders": 1`):                                            {Before: `"Graders"`, After: `"graders"`},
		caseJSONWithMembers(`"difficulty": 1`):                                         {},
		caseJSONWithMembers(`"Task": 1`):                                               {}, // the case has a task already
		caseJSONWithMembers(`"data_node": "s3://x"`):                                   {},
		caseJSONWithMembers(`"grader": {"type": "multiple-choice"}`):                   {Before: `"type": "multiple-choice"`, After: `"type": "multiple_choice"`},
		caseJSONWithMembers(`"grader": {"type": "regexp"}`):                            {Before: `"type": "regexp"`, After: `"type": "regex"`},
		caseJSONWithMembers(`"grader": {"type": "cell_typing"}`):                       {},
		caseJSONWithMembers(`"grader": {"type": "` + strings.Repeat("x", 1000) + `"}`): {},
		caseJSONWithMembers(`"metadata": {"task": "qc", "kit": "bd rhapsody", "time_horizon": "small", "eval_type": "scientific"}`):                                              {Before: `"kit": "bd rhapsody"`, After: `"kit": "bd_rhapsody"`},
		caseJSONWithMembers(`"metadata": {"task": 5, "kit": "xenium", "time_horizon": "small", "eval_type": "scientific"}`):                                                      {},
		caseJSONWithGrader("label_set_jaccard", `{"ground_truth_labels": [], "scorings": {}}`):                                                                                   {Before: `"scorings"`, After: `"scoring"`},
		caseJSONWithMembers(`"grader": {"type": "multiple_choice", "config": {"correct_answer": "A"}}, "task": "Return exactly <EVAL_ANSWER>{\"answer\": \"A\"}</EVAL_ANSWER>"`): {Before: `"answer": "A"`, After: `"answer": "<letter>"`},
	} {
		issues := lintFile(t, "c.json", text).Results[0].Issues
		require.Len(t, issues, 1, text)
		if want == (lint.Fix{}) {
			require.Nil(t, issues[0].Fix, text)
			continue
		}
		require.Equal(t, &want, issues[0].Fix, text)
	}
}
