package rescore_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/rescore"
	"assay/testcases/grading"
)

// BenchmarkGradeAnswerLines grades 10,000 input lines: each type of grader that reads only the
// answer, and extractions.
func BenchmarkGradeAnswerLines(b *testing.B) {
	lines := benchmarkLines(b, 10_000)
	b.SetBytes(int64(len(lines)))
	for b.Loop() {
		_, err := rescore.GradeAnswerLines(b.Context(), bytes.NewReader(lines), io.Discard, grading.Input{})
		require.NoError(b, err)
	}
}

// benchmarkLines returns n input lines for GradeAnswerLines, made from the rows of the graders'
// reference tests.
func benchmarkLines(tb testing.TB, n int) []byte {
	tb.Helper()
	file, err := os.ReadFile("../../testcases/grading/testdata/reference.jsonl")
	require.NoError(tb, err)
	var rows [][]byte
	for line := range bytes.Lines(file) {
		var row struct {
			Grader         string
			Config, Answer json.RawMessage
		}
		require.NoError(tb, json.Unmarshal(line, &row))
		if row.Grader == "eval_lint" {
			continue
		}
		rows = append(rows, benchmarkLine(tb, strings.TrimPrefix(row.Grader, "legacy_"), row.Config, row.Answer))
	}
	return bytes.Join(bytes.SplitN(bytes.Repeat(append(bytes.Join(rows, []byte("\n")), '\n'), n/len(rows)+1), []byte("\n"), n+1)[:n], []byte("\n"))
}

// benchmarkLine returns the input line for GradeAnswerLines that is made from one row of the graders'
// reference tests.
func benchmarkLine(tb testing.TB, grader string, config, answer json.RawMessage) []byte {
	tb.Helper()
	line := map[string]any{"id": grader, "answer": answer}
	switch grader {
	case "answer_extraction":
		line["extract"] = "summary"
	case "multi_graders":
		var several struct{ Graders json.RawMessage }
		require.NoError(tb, json.Unmarshal(config, &several))
		line["graders"] = several.Graders
	default:
		line["grader"] = map[string]any{"type": grader, "config": config}
	}
	text, err := json.Marshal(line)
	require.NoError(tb, err)
	return text
}
