package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func look(f finding) func(context.Context) finding {
	return func(context.Context) finding { return f }
}

// Only what is needed decides whether cases can be run; what is missing stands
// last, everything else in its order.
func TestDiagnosis(t *testing.T) {
	t.Parallel()
	lacks := isMissing(errors.New("not\nhere\x1b[2J"), "get it")
	found := diagnose(t.Context(), []probe{
		{"a", false, look(lacks)}, {"b", true, look(isOK("%d", 1))}, {"c", true, look(isNote("odd"))},
	})
	require.Equal(t, diagnosis{OK: true, Checks: []finding{
		{"ok", "b", "1", ""}, {"note", "c", "odd", ""}, {"missing", "a", "not here\uFFFD[2J", "get it"},
	}}, found)
	require.Equal(t, "missing  a                   not here\uFFFD[2J (get it)", found.Checks[2].line())
	require.False(t, diagnose(t.Context(), []probe{{"a", true, look(lacks)}}).OK)
}

// What --json prints is one object, and says of each thing the same as the lines.
func TestDiagnosisForMachines(t *testing.T) {
	t.Parallel()
	decoder := json.NewDecoder(strings.NewReader(runAssay(t, "doctor", "--json")))
	decoder.DisallowUnknownFields()
	var found diagnosis
	require.NoError(t, decoder.Decode(&found))
	require.True(t, found.OK)
	require.Len(t, found.Checks, len((&process{}).probes("python3")))
	for _, f := range found.Checks {
		require.Contains(t, []string{foundOK, foundNote, foundMissing}, f.Status)
		require.NotEmpty(t, f.Name)
		require.NotEmpty(t, f.Detail)
		require.Equal(t, f.Status == foundMissing, f.Do != "", f.Name)
	}
}

// A look that waits is told to end; one that waits on is left alone.
func TestDiagnosisDoesNotHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		began := time.Now()
		found := diagnose(t.Context(), []probe{
			{"told", false, func(ctx context.Context) finding { <-ctx.Done(); return isOK("late") }},
			{"stuck", true, func(context.Context) finding { <-stuck; return isOK("never") }},
		})
		require.Equal(t, probeDeadline, time.Since(began))
		require.False(t, found.OK)
		for _, f := range found.Checks {
			require.Equal(t, "no answer within 4s", f.Detail)
		}
		close(stuck)
	})
}
