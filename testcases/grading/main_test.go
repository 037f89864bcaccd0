package grading_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/testcases/grading"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func decode(t *testing.T, text string) grading.Value {
	t.Helper()
	v, err := grading.Decode(text)
	require.NoError(t, err, text)
	return v
}

// ask asks Python: see testdata/python.py.
func ask(t *testing.T, question string, texts []string) []string {
	t.Helper()
	request := grading.List{}
	for _, text := range texts {
		request = append(request, grading.List{grading.String(question), grading.String(text)})
	}
	stdin, err := json.Marshal(request)
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/python.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var answers []string
	for _, v := range list(t, decode(t, string(out))) {
		answers = append(answers, grading.Text(v))
	}
	require.Len(t, answers, len(texts))
	return answers
}

func object(t *testing.T, v grading.Value) *grading.Object {
	t.Helper()
	o, ok := v.(*grading.Object)
	require.True(t, ok, grading.KindOf(v))
	return o
}

func list(t *testing.T, v grading.Value) grading.List {
	t.Helper()
	l, ok := v.(grading.List)
	require.True(t, ok, grading.KindOf(v))
	return l
}
