package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/doctor"
)

// assay doctor --json prints one object, in which every finding is complete.
func TestDoctorPrintsJSON(t *testing.T) {
	t.Parallel()
	decoder := json.NewDecoder(strings.NewReader(runAssay(t, "doctor", "--json")))
	decoder.DisallowUnknownFields()
	var report doctor.Report
	require.NoError(t, decoder.Decode(&report))
	require.True(t, report.OK)
	require.Len(t, report.Checks, 12)
	for _, f := range report.Checks {
		require.Contains(t, []string{doctor.StatusOK, doctor.StatusNote, doctor.StatusMissing}, f.Status)
		require.NotEmpty(t, f.Name)
		require.NotEmpty(t, f.Detail)
		require.Equal(t, f.Status == doctor.StatusMissing, f.Remedy != "", f.Name)
	}
}
