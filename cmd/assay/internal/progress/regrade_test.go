package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/rescore"
)

// Without JSON only attempts whose verdict has changed or is gone have a line.
func TestRegradeReporterShowsChangedVerdicts(t *testing.T) {
	t.Parallel()
	passed, failed, half := true, false, 0.5
	var out bytes.Buffer
	reporter := &RegradeReporter{Out: &out}
	for _, a := range []rescore.RegradedAttempt{
		{CaseID: "same", Old: rescore.Verdict{Passed: &passed}, New: rescore.Verdict{Passed: &passed}},
		{
			CaseID: "changed", Epoch: 2, IsChanged: true, Old: rescore.Verdict{Passed: &passed, Score: &half},
			New: rescore.Verdict{Passed: &failed, Graders: []json.RawMessage{[]byte(`{"type":"exact","reasoning":"Failures:\n- x\u001b[2J is 2"}`)}},
		},
		{CaseID: "lost", Reason: "the sandbox is gone", Old: rescore.Verdict{Passed: &failed}},
	} {
		reporter.AttemptRegraded(a)
	}
	require.Equal(t, "PASS 0.50 -> FAIL 0.00  changed (epoch 2)  exact: x\uFFFD[2J is 2\nFAIL 0.00 -> none       lost  the sandbox is gone\n", out.String())
	out.Reset()
	summary := rescore.Summary{NotRegraded: 1, KeptResults: 3, VerdictsFile: "rescores/1.jsonl"}
	summary.Passed, summary.Failed = 1, 1
	require.NoError(t, reporter.Finish(summary, "run"))
	require.Equal(t, "FAIL 1/3  (failed 1, ungraded 0, infrastructure 0, not graded again 1, kept 3)  was 0/0  run/rescores/1.jsonl\n", out.String())
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestRegradeReporterReturnsTheFirstWriteError(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	reporter := &RegradeReporter{Out: failingWriter{full}, JSON: true}
	reporter.AttemptRegraded(rescore.RegradedAttempt{CaseID: strings.Repeat("a", 9)})
	require.ErrorIs(t, reporter.Finish(rescore.Summary{}, "run"), full)
}
