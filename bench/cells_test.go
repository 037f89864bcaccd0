//go:build bench

package bench_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/kernel"
	"assay/kernel/jupyter"
)

// measureCellRuns measures running kernels: a small cell, the first text of a cell, and
// an interrupt. It returns rows for the table of comparisons and for the table of floors.
func (k *kernelHarness) measureCellRuns(t *testing.T) (comparisons, floors [][]string) {
	t.Helper()
	p := k.startCellRunners(t)
	runs := p.measureInTurns(5, 50, cellRunner.timeToResult, onePlusOneCode)
	p[runnerMinimal] = nil // it supports neither printed text nor interrupts
	firsts := p.measureInTurns(3, 3, cellRunner.timeToFirstText, printThenSleepCode)
	stops := p.measureInTurns(3, 5, cellRunner.timeToInterrupt, busyLoopCode)
	comparisons = [][]string{
		comparisonRow("`1 + 1` and back", "0.3 ms", runs[runnerDirect], "jupyter_client", runs[runnerJupyterClient]),
		comparisonRow("the same, console and server", "0.6 ms", runs[runnerAssayServer], "jupyter_server", runs[runnerJupyterServer]),
		comparisonRow("first text of a running cell", "15 ms", firsts[runnerDirect], "jupyter_client", firsts[runnerJupyterClient]),
		comparisonRow("the same, console and server", "15 ms", firsts[runnerAssayServer], "jupyter_server", firsts[runnerJupyterServer]),
		comparisonRow("busy loop interrupted", "5 ms", stops[runnerDirect], "jupyter_client", stops[runnerJupyterClient]),
		comparisonRow("the same, console and server", "", stops[runnerAssayServer], "jupyter_server", stops[runnerJupyterServer]),
	}
	floors = [][]string{
		ratioRowWithAim("`1 + 1` and back, minimal kernel", "", runs[runnerMinimal], runs[runnerMinimal]),
		ratioRowWithAim("the same, Python kernel", "3 x", runs[runnerDirect], runs[runnerMinimal]),
	}
	if k.jupyterAvailable {
		floors = append(floors,
			ratioRowWithAim("`1 + 1` and back, ipykernel by jupyter_client", "", runs[runnerJupyterClient], runs[runnerJupyterClient]),
			ratioRowWithAim("the same, ipykernel by `assay jupyter`", "", runs[runnerJupyterAdapter], runs[runnerJupyterClient]))
	}
	return comparisons, floors
}

// measureGlobalsSummaries measures how long a kernel takes to summarise 50 global
// variables while a cell runs a busy loop. It returns rows for the table of comparisons
// and none for the table of floors.
func (k *kernelHarness) measureGlobalsSummaries(t *testing.T) (comparisons, floors [][]string) {
	t.Helper()
	const rounds, times = 5, 100
	numbers, lists := k.startLastingKernel(t, kernel.Config{}), k.startLastingKernel(t, kernel.Config{})
	numbers.timeToResult(fmt.Sprintf(fiftyNamesCodeFormat, "i"))
	lists.timeToResult(fmt.Sprintf(fiftyNamesCodeFormat, "list(range(1000))"))
	theirs := unmeasurableRound
	if k.jupyterAvailable {
		driven := newJupyterClient(t)
		driven.startKernel(onePlusOneCode)
		theirs = func() []time.Duration { return driven.timeControlRequests(busyLoopCode, times) }
	}
	all := measureInTurns(rounds,
		measuredSystem{runRound: func() []time.Duration { return numbers.timeGlobalsSummaries(busyLoopCode, times) }},
		measuredSystem{runRound: func() []time.Duration { return lists.timeGlobalsSummaries(busyLoopCode, times) }},
		measuredSystem{runRound: theirs},
	)
	return [][]string{
		comparisonRow("summary during a busy loop, numbers", "5 ms, p99 25 ms", all[0], "jupyter_client, `kernel_info`", all[2]),
		comparisonRow("the same, lists", "5 ms, p99 25 ms", all[1], "jupyter_client, `kernel_info`", all[2]),
	}, nil
}

// Indexes of the kernels that are measured in turns.
const (
	runnerDirect         = iota // Assay's kernel
	runnerAssayServer           // Assay's kernel behind `assay serve`, driven by a console
	runnerJupyterAdapter        // an ipykernel behind `assay jupyter`
	runnerJupyterClient         // an ipykernel driven by jupyter_client
	runnerJupyterServer         // an ipykernel behind Jupyter's server
	runnerMinimal               // minimal_kernel.py
	runnerCount                 // number of runners
)

// cellRunners holds running kernels by their runner index; nil means that the kernel
// cannot be measured.
type cellRunners [runnerCount]cellRunner

// startCellRunners starts all kernels that can be measured, until the test ends.
func (k *kernelHarness) startCellRunners(t *testing.T) cellRunners {
	t.Helper()
	console, _ := k.startServer(t).openSession(t)
	p := cellRunners{runnerDirect: k.startLastingKernel(t, kernel.Config{}), runnerAssayServer: console, runnerMinimal: k.startMinimalKernel(t)}
	if k.jupyterAvailable {
		p[runnerJupyterAdapter] = k.startLastingKernel(t, kernel.Config{Command: k.jupyterAdapterCommand(t)})
		driven := newJupyterClient(t)
		driven.startKernel(onePlusOneCode)
		p[runnerJupyterClient], p[runnerJupyterServer] = driven, newJupyterServer(t).startKernel(t)
	}
	return p
}

// measureInTurns has each kernel do the same n times in each round, the kernels in turns.
func (p cellRunners) measureInTurns(rounds, n int, measure func(cellRunner, string) time.Duration, code string) []measurement {
	candidates := make([]measuredSystem, len(p))
	for i, one := range p {
		candidates[i].runRound = unmeasurableRound
		if one != nil {
			candidates[i].runRound = repeatedCellRound(n, func(code string) time.Duration { return measure(one, code) }, code)
		}
	}
	return measureInTurns(rounds, candidates...)
}

// startLastingKernel starts a kernel that is stopped when the test ends.
func (k *kernelHarness) startLastingKernel(t *testing.T, cfg kernel.Config) *kernelConn {
	t.Helper()
	one := k.startKernel(t, cfg)
	t.Cleanup(func() { one.stop(t) })
	return one.kernelConn
}

// jupyterAdapterCommand returns the command with which `--kernel jupyter:python3` starts
// an ipykernel.
func (k *kernelHarness) jupyterAdapterCommand(t *testing.T) []string {
	t.Helper()
	spec, err := jupyter.FindSpec(t.Context(), "python3", []string{"PATH=/usr/bin:/bin"})
	require.NoError(t, err)
	return []string{k.path, "jupyter", spec.Path}
}

// startMinimalKernel starts minimal_kernel.py until the test ends.
func (k *kernelHarness) startMinimalKernel(t *testing.T) *kernelConn {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), k.python.Executable, "minimal_kernel.py", "3")
	cmd.ExtraFiles = []*os.File{theirs}
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	socket, err := net.FileConn(ours)
	require.NoError(t, err)
	require.NoError(t, ours.Close())
	conn := protocol.NewStream(socket, 0)
	t.Cleanup(func() {
		_ = conn.Close(protocol.CloseNormal, "") // ends the process
		_ = cmd.Wait()
	})
	return newKernelConn(t, conn)
}
