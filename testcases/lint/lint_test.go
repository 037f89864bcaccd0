package lint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
	"assay/testcases/lint"
)

// validMembers is the JSON of the members of a case without issues. Members that follow
// it in the same object replace them.
const validMembers = `"id": "a", "task": "Count. Return EXACTLY: <EVAL_ANSWER>{\"n\": <int>}</EVAL_ANSWER>", "data_node": "latch://12.node",
	"metadata": {"task": "qc", "kit": "xenium", "time_horizon": "small", "eval_type": "scientific"},
	"grader": {"type": "numeric_tolerance", "config": {"ground_truth": {"n": 10}, "tolerances": {"n": {"type": "absolute", "value": 1}}}}`

// caseJSONWithMembers returns the JSON of a case that has validMembers, with these
// members in place of the valid ones.
func caseJSONWithMembers(members string) string { return "{" + validMembers + ", " + members + "}" }

// caseJSONWithGrader returns the JSON of a case that has validMembers, with this grader
// and these fields in the answer template.
func caseJSONWithGrader(kind, config string, fields ...string) string {
	task := `"task": "Return exactly <EVAL_ANSWER>{`
	for _, field := range fields {
		task += `\"` + field + `\": 1,`
	}
	return caseJSONWithMembers(task + `}</EVAL_ANSWER>", "grader": {"type": "` + kind + `", "config": ` + config + `}`)
}

// lintFile lints a file with this name and text and returns the report.
func lintFile(t *testing.T, name, text string) lint.Report {
	t.Helper()
	report, err := lint.Check([]string{filepath.Join(writeTestFolder(t, map[string]string{name: text}), name)}, lint.CheckOptions{})
	require.NoError(t, err)
	return report
}

// issueCodesAndLocations returns the issues of a lint result as texts such as "E021 data_node".
func issueCodesAndLocations(result lint.FileResult) []string {
	found := []string{}
	for _, issue := range result.Issues {
		found = append(found, strings.TrimSpace(issue.Code+" "+issue.Location))
	}
	return found
}

// Each code is reported for some example, at the right location, and its section in the
// docs exists.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	provoked := map[string]bool{
		"E000": true, "W000": true, "W100": true, // see the tests of files
		"E110": true, "E111": true, "W110": true, "W111": true, // see cmd/assay, which plays the cases
	}
	for _, c := range allIssueExamples() {
		result := lintFile(t, "c.json", c.text).Results[0]
		require.Equal(t, c.want, issueCodesAndLocations(result), c.text)
		for _, issue := range result.Issues {
			provoked[issue.Code] = true
			require.NotEmpty(t, issue.Message)
			require.Equal(t, map[byte]string{'E': lint.LevelError, 'W': lint.LevelWarning}[issue.Code[0]], issue.Level)
		}
	}
	for _, rule := range lint.AllRules() {
		require.True(t, provoked[rule.Code], "no test provokes %s", rule.Code)
		delete(provoked, rule.Code)
		page, heading, _ := strings.Cut(rule.Docs, "#")
		require.NotEmpty(t, rule.Meaning)
		require.Contains(t, docAnchors(t, page), heading, rule.Code)
	}
	require.Empty(t, provoked, "codes that Rules does not have")
}

// docAnchors returns the anchors of the headings of a page of the docs.
func docAnchors(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	require.NoError(t, err)
	var found []string
	for _, heading := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		found = append(found, strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-"))
	}
	return found
}

// The issues equal those that the linter of the public benchmarks finds in its own test
// files, except that an unknown kit is a warning.
func TestAgainstReferenceLinter(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../grading/testdata/reference.jsonl")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(file)) {
		var row struct {
			ID, Grader string
			Answer     json.RawMessage
			Config     struct {
				Name string `json:"file_name"`
			}
			Expect struct{ Metrics struct{ Issues [][3]string } }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		if row.Grader != "eval_lint" {
			continue
		}
		rows++
		want := [][3]string{}
		for _, issue := range row.Expect.Metrics.Issues {
			if issue[1] == "E013" {
				issue = [3]string{"warning", "W013"}
			}
			want = append(want, issue)
		}
		found := [][3]string{}
		for _, issue := range lintFile(t, row.Config.Name, string(row.Answer)).Results[0].Issues {
			found = append(found, [3]string{issue.Level, issue.Code, issue.Location})
		}
		require.Equal(t, want, found, row.ID)
	}
	require.Equal(t, 10, rows)
}

// Files like those of each public benchmark set have the expected issues. All can be
// loaded and run. The older set has no metadata, and has grader types that other
// harnesses do not know.
func TestPublicSets(t *testing.T) {
	t.Parallel()
	const spatial = `"metadata": {"task": "cell_typing", "kit": "seeker", "time_horizon": "small"}, "notes": "n", "data_node": ["latch://1.node", "latch://2.node"],
		"task": "Return EXACTLY: <EVAL_ANSWER>{\"markers\": [\"<gene>\"]}</EVAL_ANSWER>", `
	const sc = `"metadata": {"task": "qc", "kit": "missionbio-tapestri", "time_horizon": "long", "eval_type": "scientific", "timeout_s": 3600}, "canary": "x", `
	const older = `{"id": "a", "task": "Count.", "data_node": ["latch://1.account/a b/x.h5ad"], "grader": `
	for text, want := range map[string][]string{
		caseJSONWithMembers(spatial + `"grader": {"type": "marker_gene_precision_recall", "config": {"canonical_markers": ["a"], "answer_field": "markers", "scoring": {"pass_thresholds": {}}}}`): {"W001"},
		caseJSONWithMembers(spatial + `"grader": {"type": "marker_gene_precision_recall", "config": {"canonical_markers": ["a"], "pass_thresholds": {"recall_at_k": 0.65}}}`):                      {"W001", "E035 grader.config.scoring", "E037 grader.config.answer_field", "W030 grader.config.pass_thresholds", "E050 task", "W031 task"},
		caseJSONWithMembers(sc + `"grader": {"type": "numeric_tolerance", "config": {"ground_truth": {"n": 1}, "tolerances": {"n": {"type": "absolute", "lower": 1, "upper": 2}}}}`):               {},
		older + `null}`: {"E005", "W010"},
		older + `{"type": "cell_typing", "config": {"markers": []}}}`: {"E005", "W010", "E032 grader.type"},
		older + `{"type": "numeric_tolerance", "scoring": {}, "config": {"ground_truth": {"m.v": 1}, "tolerances": {"m.v": {"type": "range", "min": 0, "max": 2}}}}}`: {"E005", "W010", "E043 grader.config.tolerances.m.v.type", "E044 grader.config.tolerances.m.v", "W022 grader.scoring"},
		older + `{"type": "label_set_jaccard", "config": {"ground_truth_labels": ["a"], "scoring": {"pass_threshold": {"a": 1}, "method": "x"}}}}`:                    {"E005", "W010"},
	} {
		require.Equal(t, want, issueCodesAndLocations(lintFile(t, "c.json", text).Results[0]), text)
		require.NoError(t, testcases.CheckRunnable([]testcases.Case{loadOneCase(t, "c.json", text)}), text)
	}
}
