package testcases_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// Each example case can be run, says in its task how to answer, and does not pass
// without an answer. Another test plays the oracles.
func TestExamples(t *testing.T) {
	t.Parallel()
	cases, err := testcases.Load([]string{"examples"}, testcases.Options{})
	require.NoError(t, err)
	require.NoError(t, testcases.CheckRunnable(cases))
	require.GreaterOrEqual(t, len(cases), 18)
	types, bare, used := map[string]bool{}, 0, map[string]bool{}
	for _, c := range cases {
		require.NoError(t, c.CheckDataFiles())
		require.Equal(t, filepath.Base(filepath.Dir(c.Source.File)), c.ID, "a case is called as its folder")
		require.NotEmpty(t, c.Oracle, c.ID)
		require.NotEmpty(t, c.Tags, c.ID)
		require.NotEmpty(t, c.Graders, c.ID)
		require.Regexp(t, `Return exactly this.*: <EVAL_ANSWER>\{.*\}</EVAL_ANSWER>\n$`, c.Task)
		if len(c.Requires) == 0 {
			bare++
		}
		for _, spec := range c.Graders {
			types[spec.Type] = true
			for _, word := range scalarTexts(spec.Config) {
				used[filepath.Join(filepath.Dir(c.Source.File), strings.TrimPrefix(word, "script:"))] = true
			}
		}
		used[c.Source.File] = true
		for _, d := range c.Data {
			used[filepath.Join(filepath.Dir(c.Source.File), d.Name)] = true
		}
		_, passed, score := grading.GradeAll(t.Context(), c.Graders, grading.Input{})
		require.False(t, passed, c.ID)
		require.Zero(t, score, c.ID)
	}
	for _, name := range []string{"exact", "numeric_tolerance", "multiple_choice", "regex", "contains", "kernel_check", "notebook_check", "command", "llm_judge"} {
		require.True(t, types[name], "no example has the grader %s", name)
	}
	require.GreaterOrEqual(t, bare, 15, "most need the standard library only")
	files, err := filepath.Glob("examples/*/*")
	require.NoError(t, err)
	for _, file := range files {
		require.True(t, used[file], "no case uses %s", file)
	}
}

// No ground truth of more than three characters occurs in the task of an example case.
func TestExamplesHideTheirAnswers(t *testing.T) {
	t.Parallel()
	cases, err := testcases.Load([]string{"examples"}, testcases.Options{})
	require.NoError(t, err)
	for _, c := range cases {
		for _, spec := range c.Graders {
			config, ok := spec.Config.(*pyvalue.Object)
			require.True(t, ok)
			for _, truth := range scalarTexts(config.Get("ground_truth")) {
				require.False(t, len(truth) > 3 && strings.Contains(c.Task, truth), "%s gives away %s", c.ID, truth)
			}
		}
	}
}

// scalarTexts returns the texts of all values inside v, at any depth, that are neither
// a list nor an object.
func scalarTexts(v pyvalue.Value) []string {
	var out []string
	switch v := v.(type) {
	case nil:
	case pyvalue.List:
		for _, item := range v {
			out = append(out, scalarTexts(item)...)
		}
	case *pyvalue.Object:
		for _, item := range v.All() {
			out = append(out, scalarTexts(item)...)
		}
	default:
		out = append(out, pyvalue.Str(v))
	}
	return out
}
