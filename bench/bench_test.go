//go:build bench

// Package bench_test measures Assay beside what it is compared with, in one run
// on one machine, and writes the figures down as they come. Nothing here fails
// because something is slow. `make bench` runs it; it takes about thirteen minutes.
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
// at its end.
func TestMain(m *testing.M) {
	flag.String("out", "", "Markdown `file` for the figures; empty: they are only logged")
	goleak.VerifyTestMain(m)
}

// TestBench runs all measurements and writes their report to the file of -out. With -run
// TestBench/NAME it runs one of them and only logs the others' absence: the report then
// has that section alone.
func TestBench(t *testing.T) {
	t.Parallel()
	r := newReport()
	p := buildProgram(t)
	r.addMachineTable(t, p)
	for _, m := range []struct { //nolint:paralleltest // one after the other, or they would measure each other
		name string
		of   func(*testing.T, *report, *program)
	}{
		{"roundtrip", measureRouterRoundTrips},
		{"wire", measureServerTraffic},
		{"idle", measureIdleMemory},
		{"isolation", measureIsolation},
		{"busy", measureContextWhileKernelBusy},
		{"run", measureRuns},
		{"journal", measureScheduler},
		{"start", measureStartToFirstResult},
		{"command", measureCommandStart},
		{"agent", measureAgent},
		{"kernels", measureKernels},
		{"page", measurePage},
	} {
		t.Run(m.name, func(t *testing.T) { m.of(t, r, p) })
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
