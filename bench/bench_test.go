//go:build bench

// Package bench_test measures Assay and the systems that it is compared with, in one run
// on one machine, and writes docs/BENCHMARKS.md. No test fails because something is
// slow. `make bench` runs it; it takes about thirteen minutes.
package bench_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain adds the flag -out and fails the test binary if a goroutine is still running
// at its end. In some processes the binary only plays a role.
func TestMain(m *testing.M) {
	if playRole(os.Args) {
		return
	}
	flag.String("out", "", "Markdown `file` for the figures; empty: they are only logged")
	goleak.VerifyTestMain(m)
}

// TestBench runs all measurements, logs their report, and writes it to the file of -out
// unless a measurement failed. -run TestBench/NAME runs one of them.
func TestBench(t *testing.T) {
	t.Parallel()
	r := newReport()
	p := buildProgram(t)
	r.addMachineTable(t, p)
	for _, m := range []struct { //nolint:paralleltest // measurements at the same time would disturb each other
		name    string
		measure func(*testing.T, *report, *assayProgram)
	}{
		{"router", measureRouterRoundTrips},
		{"server", measureServerTraffic},
		{"idle", measureIdleMemory},
		{"isolation", measureIsolation},
		{"busy", measureContextWhileKernelBusy},
		{"run", measureRuns},
		{"scheduler", measureScheduler},
		{"start", measureStartToFirstResult},
		{"command", measureCommandStart},
		{"agent", measureAgent},
		{"gateway", measureGateway},
		{"kernels", measureKernels},
		{"page", measurePage},
	} {
		t.Run(m.name, func(t *testing.T) { m.measure(t, r, p) })
	}
	text := r.String()
	t.Log("\n" + text)
	out := flag.Lookup("out").Value.String()
	if out == "" || t.Failed() {
		return
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(out), 0o750))
	require.NoError(t, os.WriteFile(out, []byte(text), 0o644))
}
