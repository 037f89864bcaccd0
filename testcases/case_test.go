package testcases_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
	"assay/testcases/grading"
)

func TestCheckRunnable(t *testing.T) {
	t.Chdir(writeTestFolder(t, map[string]string{
		"a.json": `[{"id": "a", "task": ""}, {"id": "b", "task": "", "grader": {"type": "multiple_choice", "config": {}}}]`,
		"b.json": `{"id": "b", "task": "", "grader": {"type": "Multiple_choice"}, "graders": [{"type": "exact", "config": {}}, {}]}`,
	}))
	cases, err := testcases.Load([]string{"."}, testcases.Options{})
	require.NoError(t, err, "a bare load keeps what a run refuses")
	require.NoError(t, testcases.CheckRunnable(cases[:2]))
	known := "known are " + strings.Join(grading.GraderTypeNames(), ", ")
	require.EqualError(t, testcases.CheckRunnable(cases), `b.json: id "b" is already taken by a.json[1]
b.json: case "b": field grader.type: unknown grader type "Multiple_choice"; `+known+`
b.json: case "b": field graders[0].config: ground_truth is missing
b.json: case "b": field graders[1].type: unknown grader type ""; `+known)
}
