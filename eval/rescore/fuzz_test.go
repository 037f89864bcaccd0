package rescore_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/rescore"
	"assay/testcases/grading"
)

// FuzzGradeAnswerLines grades arbitrary input: each line that is not blank gets exactly one line of
// JSON in one of the two output forms.
func FuzzGradeAnswerLines(f *testing.F) {
	for _, seed := range []string{
		"{" + choiceGrader + `,"answer":{"answer":"b"}}`,
		`{"id":1,` + numericGrader + `,"answer":{"n":{"$float":"NaN"}}}` + "\r\n\n" + `{"id":[],` + numericGrader + `}`,
		`{"graders":[{"type":"exact","config":{"ground_truth":[1]}},3,{"type":"kernel_check"}],"answer":[true]}`,
		`{"extract":"summary","answer":"<EVAL_ANSWER>{}</EVAL_ANSWER>"}`,
		`{"extract":"conversation","answer":[{"type":"anthropic_message","role":"assistant","content":[{"type":"tool_use","name":"submit_response","input":{}}]}]}`,
		`{"extract":"eval_answer_file","answer":"\ud83d"}`,
		`{"answer":{"l":["a","b"]},"grader":{"type":"label_set_jaccard","config":{"ground_truth_labels":["a"],"answer_field":"l"}}}`,
		`{"answer":{"top_marker_genes":["a"]},"grader":{"type":"marker_gene_precision_recall","config":{"canonical_markers":{"T":["a"]},"scoring":{}}}}`,
		`{"answer":{"clusters":["a","b"],"samples":["x"],"contingency":[[1e18],[3]]},"grader":{"type":"adjusted_mutual_information","config":{"scoring":{}}}}`,
		`{"answer":{"cell_types":["a","b"],"samples":[{"sample":"s","proportions":{"a":1}},{"sample":"t","proportions":{"b":2}}]},"grader":{"type":"proportion_consistency","config":{}}}`,
		"\ufeff{}\n\xff\n[[[[", `{"id":1}`, "null\n\r\n \v\n", `{"graders":[],"grader":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if bytes.Contains(input, []byte("argv")) || bytes.Contains(input, []byte(`\u00`)) {
			return // it could run programs
		}
		inputLines := 0
		for line := range bytes.Lines(input) {
			if len(bytes.Trim(line, " \t\r\n")) > 0 {
				inputLines++
			}
		}
		var out bytes.Buffer
		faulty, err := rescore.GradeAnswerLines(t.Context(), bytes.NewReader(input), &out, grading.Input{})
		require.NoError(t, err)
		require.LessOrEqual(t, faulty, inputLines)
		outputLines := 0
		for line := range strings.Lines(out.String()) {
			outputLines++
			requireOutputLineForm(t, line)
		}
		require.Equal(t, inputLines, outputLines)
	})
}

// requireOutputLineForm fails the test unless an output line of GradeAnswerLines has one of its two
// forms.
func requireOutputLineForm(t *testing.T, line string) {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(line), &members), line)
	keys := []string{"id", "passed", "score", "metrics", "reasoning", "error"}
	if _, ok := members["found"]; ok {
		keys = []string{"id", "found", "extracted", "error"}
		require.Equal(t, string(members["found"]) == "true", string(members["extracted"]) != "null", line)
	}
	for _, key := range keys {
		require.Contains(t, members, key, line)
	}
	if string(members["error"]) != "null" {
		require.NotContains(t, []string{string(members["passed"]), string(members["found"])}, "true", line)
		require.NotContains(t, string(members["error"]), `"kind":"panic"`, line)
	}
}
