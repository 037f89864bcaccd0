package kernel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/kernel"
)

// A version manager's shim is called once, to find the interpreter. Kernels start the interpreter itself.
func TestKernelsDoNotStartAShim(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shim, calls := filepath.Join(dir, "python3"), filepath.Join(dir, "calls")
	direct, err := kernel.FindExecutable(t.Context(), "python3")
	require.NoError(t, err)
	script := "#!/bin/sh\necho called >>" + calls + "\nexec " + direct + " \"$@\"\n"
	require.NoError(t, os.WriteFile(shim, []byte(script), 0o700))
	countCalls := func() int {
		text, err := os.ReadFile(calls)
		require.NoError(t, err)
		return strings.Count(string(text), "called\n")
	}

	sup := newSupervisor(t)
	python, err := kernel.ResolvePython(t.Context(), shim, sup.TempDir())
	require.NoError(t, err)
	require.Equal(t, direct, python.Executable)
	require.NotEqual(t, shim, python.Executable)
	resolving := countCalls()
	require.Equal(t, 1, resolving)
	for range 2 {
		k := startKernelWithSupervisor(t, sup, python, nil)
		out := streamText(k.runCell("import sys\nprint(sys.executable)"), protocol.Stdout)
		require.Equal(t, direct+"\n", out)
	}
	require.Equal(t, resolving, countCalls())
}
