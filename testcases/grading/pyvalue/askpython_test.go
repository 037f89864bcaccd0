package pyvalue_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// askPython asks Python: see testdata/python.py.
func askPython(t *testing.T, question string, texts []string) []string {
	t.Helper()
	request := pyvalue.List{}
	for _, text := range texts {
		request = append(request, pyvalue.List{pyvalue.String(question), pyvalue.String(text)})
	}
	stdin, err := json.Marshal(request)
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/python.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var answers []string
	for _, v := range pyvaluetest.List(t, pyvaluetest.Decode(t, string(out))) {
		answers = append(answers, pyvalue.Text(v))
	}
	require.Len(t, answers, len(texts))
	return answers
}
