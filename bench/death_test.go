//go:build bench

package bench_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/kernel"
)

// measureKernelDeaths measures the time from SIGKILL of a kernel that runs a cell until
// the death is reported. It returns rows for the table of comparisons and none for the
// table of floors.
func (k *kernelHarness) measureKernelDeaths(t *testing.T) (comparisons, floors [][]string) {
	t.Helper()
	const rounds = 5
	warm, serve := k.newPool(t, 1), k.startServer(t)
	theirs := unmeasurableRound
	if k.jupyterAvailable {
		server := newJupyterServer(t)
		theirs = func() []time.Duration { return []time.Duration{server.startKernel(t).timeToRestartStatus()} }
	}
	all := measureInTurns(rounds,
		measuredSystem{runRound: func() []time.Duration { return []time.Duration{k.timeToExitError(t, kernel.Config{})} }},
		measuredSystem{runRound: func() []time.Duration { return []time.Duration{k.timeToExitError(t, kernel.Config{Pool: warm})} }},
		measuredSystem{runRound: func() []time.Duration { return []time.Duration{serve.timeToExitMessage(t)} }},
		measuredSystem{runRound: theirs},
	)
	return [][]string{
		assayOnlyRow("death reported, with its cause", "50 ms", all[0]),
		assayOnlyRow("the same, pooled kernel", "50 ms", all[1]),
		comparisonRow("the same, console and server", "50 ms", all[2], "jupyter_server", all[3]),
	}, nil
}

// timeToExitError kills a kernel that runs a cell and returns the time until its
// connection returns the exit error.
func (k *kernelHarness) timeToExitError(t *testing.T, cfg kernel.Config) time.Duration {
	t.Helper()
	one := k.startKernel(t, cfg)
	defer one.stop(t)
	one.startCell(busyLoopCode)
	one.readUntilType(protocol.TypeKernelStdio)
	began := time.Now()
	require.NoError(t, unix.Kill(one.kernel.PID(), unix.SIGKILL))
	for {
		_, err := one.kernel.Read()
		if err == nil {
			continue
		}
		took := time.Since(began)
		died, ok := errors.AsType[*subprocess.ExitError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, unix.SignalName(unix.SIGKILL), died.Exit.Signal)
		return took
	}
}

// timeToExitMessage kills the kernel of a new session while it runs a cell and returns
// the time until the console gets managed_process_exit.
func (s *assayServer) timeToExitMessage(t *testing.T) time.Duration {
	t.Helper()
	c, pid := s.openSession(t)
	c.startCell(busyLoopCode)
	c.readUntilType(protocol.TypeKernelStdio)
	began := time.Now()
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	for {
		frame, err := c.conn.Read()
		require.NoError(t, err)
		if !hasFrameType(frame, protocol.TypeManagedProcessExit) {
			continue
		}
		took := time.Since(began)
		var news protocol.ManagedProcessExit
		require.NoError(t, json.Unmarshal(frame, &news))
		require.Equal(t, unix.SignalName(unix.SIGKILL), news.Signal)
		return took
	}
}

// timeToRestartStatus kills the kernel while it runs a cell and returns the time until
// Jupyter's server reports the status "restarting". Jupyter does not report why.
func (k *jupyterServerKernel) timeToRestartStatus() time.Duration {
	k.t.Helper()
	defer k.stop()
	k.startCell("import os\nprint(os.getpid(), flush=True)\nwhile True: pass")
	pid := 0
	k.readUntil(func(m jupyterMessage) bool {
		pid, _ = strconv.Atoi(strings.TrimSpace(m.Content.Text))
		return pid > 0
	})
	began := time.Now()
	require.NoError(k.t, unix.Kill(pid, unix.SIGKILL))
	for {
		frame, err := k.conn.Read()
		require.NoError(k.t, err)
		var m jupyterMessage
		require.NoError(k.t, json.Unmarshal(frame, &m))
		if m.Content.State == "restarting" {
			return time.Since(began)
		}
	}
}
