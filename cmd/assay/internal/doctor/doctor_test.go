package doctor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func checkThatFinds(f Finding) func(context.Context) Finding {
	return func(context.Context) Finding { return f }
}

// Only required checks decide whether cases can be run. Missing things come last; other
// findings keep their order.
func TestReport(t *testing.T) {
	t.Parallel()
	missing := missingFinding(errors.New("not\nhere\x1b[2J"), "get it")
	report := runChecks(t.Context(), []check{
		{"a", false, checkThatFinds(missing)}, {"b", true, checkThatFinds(okFinding("%d", 1))}, {"c", true, checkThatFinds(noteFinding("odd"))},
	})
	require.Equal(t, Report{OK: true, Checks: []Finding{
		{"ok", "b", "1", ""}, {"note", "c", "odd", ""}, {"missing", "a", "not here\uFFFD[2J", "get it"},
	}}, report)
	require.Equal(t, "missing  a                   not here\uFFFD[2J (get it)", report.Checks[2].Line())
	require.False(t, runChecks(t.Context(), []check{{"a", true, checkThatFinds(missing)}}).OK)
}

// A slow check is cancelled; one that ignores that is left alone.
func TestSlowChecksDoNotHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		start := time.Now()
		report := runChecks(t.Context(), []check{
			{"cancelled", false, func(ctx context.Context) Finding { <-ctx.Done(); return okFinding("late") }},
			{"stuck", true, func(context.Context) Finding { <-stuck; return okFinding("never") }},
		})
		require.Equal(t, CheckTimeout, time.Since(start))
		require.False(t, report.OK)
		for _, f := range report.Checks {
			require.Equal(t, "no answer within 10s", f.Detail)
		}
		close(stuck)
	})
}

func TestLibrariesInWords(t *testing.T) {
	t.Parallel()
	text, err := librariesInWords(protocol.ExecuteCodeResponse{Stdout: `{"IPython": "9.1", "numpy": "2.1.0", "pandas": "", "matplotlib": "", "plotly": ""}`})
	require.NoError(t, err)
	require.Equal(t, "with IPython 9.1, numpy 2.1.0; without pandas, matplotlib, plotly", text)
	_, err = librariesInWords(protocol.ExecuteCodeResponse{Status: "error", Error: "no json"})
	require.EqualError(t, err, "error no json")
}

// A finding about a key says whether it is set, and never its value.
func TestKeyCheckHidesTheKey(t *testing.T) {
	t.Parallel()
	cfg := Config{Environ: []string{"A_KEY=secret", "EMPTY="}}
	require.Equal(t, okFinding("set"), cfg.newAPIKeyCheck("A_KEY")(t.Context()))
	for _, name := range []string{"EMPTY", "ABSENT"} {
		require.Equal(t, StatusNote, cfg.newAPIKeyCheck(name)(t.Context()).Status)
	}
}
