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

// measureDeaths measures how long it takes until it is known that a kernel was
// killed while a cell ran.
func (k *kit) measureDeaths(t *testing.T) (beside, floors [][]string) {
	t.Helper()
	const rounds = 5
	warm, serve := k.pool(t, 1), k.serve(t)
	theirs := absent
	if k.beside {
		server := newJupyterServer(t)
		theirs = func() []time.Duration { return []time.Duration{server.start(t).death()} }
	}
	all := inTurns(rounds,
		contestant{turn: func() []time.Duration { return []time.Duration{k.death(t, kernel.Config{})} }},
		contestant{turn: func() []time.Duration { return []time.Duration{k.death(t, kernel.Config{Pool: warm})} }},
		contestant{turn: func() []time.Duration { return []time.Duration{serve.death(t)} }},
		contestant{turn: theirs},
	)
	return [][]string{
		unrivalled("death known, with its cause", "50 ms", all[0]),
		unrivalled("the same, of the pool", "50 ms", all[1]),
		rival("the same, console and server", "50 ms", all[2], "jupyter_server", all[3]),
	}, nil
}

// death kills a kernel.
func (k *kit) death(t *testing.T, cfg kernel.Config) time.Duration {
	t.Helper()
	one := k.start(t, cfg)
	defer one.stop(t)
	one.begin(busyLoop)
	one.until(protocol.TypeKernelStdio)
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

// death kills the kernel of a new session.
func (s *served) death(t *testing.T) time.Duration {
	t.Helper()
	c, pid := s.open(t)
	c.begin(busyLoop)
	c.until(protocol.TypeKernelStdio)
	began := time.Now()
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	for {
		frame, err := c.conn.Read()
		require.NoError(t, err)
		if !isType(frame, protocol.TypeManagedProcessExit) {
			continue
		}
		took := time.Since(began)
		var news protocol.ManagedProcessExit
		require.NoError(t, json.Unmarshal(frame, &news))
		require.Equal(t, unix.SignalName(unix.SIGKILL), news.Signal)
		return took
	}
}

// death kills the kernel, and waits until the server says that it has to start
// it again; it does not say why.
func (k *webKernel) death() time.Duration {
	k.t.Helper()
	defer k.stop()
	k.begin("import os\nprint(os.getpid(), flush=True)\nwhile True: pass")
	pid := 0
	k.until(func(m webMessage) bool {
		pid, _ = strconv.Atoi(strings.TrimSpace(m.Content.Text))
		return pid > 0
	})
	began := time.Now()
	require.NoError(k.t, unix.Kill(pid, unix.SIGKILL))
	for {
		frame, err := k.conn.Read()
		require.NoError(k.t, err)
		var m webMessage
		require.NoError(k.t, json.Unmarshal(frame, &m))
		if m.Content.State == "restarting" {
			return time.Since(began)
		}
	}
}
