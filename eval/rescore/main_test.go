package rescore_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/eval/rescore"
	"assay/testcases/grading"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gradeLines calls GradeAnswerLines with the lines and returns the output lines, and how many input
// lines were faulty.
func gradeLines(t *testing.T, lines ...string) (out []string, faulty int) {
	t.Helper()
	var text bytes.Buffer
	faulty, err := rescore.GradeAnswerLines(t.Context(), strings.NewReader(strings.Join(lines, "\n")), &text, grading.Input{})
	require.NoError(t, err)
	for line := range strings.Lines(text.String()) {
		require.True(t, json.Valid([]byte(line)), line)
		out = append(out, strings.TrimSuffix(line, "\n"))
	}
	return out, faulty
}
