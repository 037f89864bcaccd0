package kernel_test

import (
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/kernel"
)

// fakeKernel is an interrupter whose signals go nowhere; it records their times.
type fakeKernel struct {
	kernel.Interrupter
	began         time.Time
	interruptedAt []time.Duration
}

// newFakeKernel returns a fakeKernel that measures times from now.
func newFakeKernel() *fakeKernel {
	s := &fakeKernel{began: time.Now()}
	s.Interrupter = kernel.NewInterrupter(-1, func(sig syscall.Signal) error {
		if sig == syscall.SIGUSR2 {
			s.interruptedAt = append(s.interruptedAt, time.Since(s.began))
		}
		return nil
	})
	return s
}

// sent passes on a message to the kernel with one field.
func (s *fakeKernel) sent(kind, field, id string) {
	s.MessageSent(fmt.Appendf(nil, `{"type":%q,%q:%q}`, kind, field, id))
}

// received passes on a message from the kernel with one field.
func (s *fakeKernel) received(kind, field, id string) {
	s.MessageReceived(fmt.Appendf(nil, `{"type":%q,%q:%q}`, kind, field, id))
}

func TestInterrupterInterruptsUntilTheRunEnds(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct{ begin, stop, end func(*fakeKernel) }{
		"cell": {
			func(s *fakeKernel) { s.sent("run_cell", "cell_id", "a"); s.received("start_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.sent("stop_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.received("cell_result", "cell_id", "a") },
		},
		"disposed": {
			func(s *fakeKernel) { s.sent("run_cell", "cell_id", "a"); s.received("start_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.sent("dispose_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.received("cell_result", "cell_id", "a") },
		},
		"code": {
			func(s *fakeKernel) { s.sent("execute_code", "agent_tx_id", "e") },
			func(s *fakeKernel) { s.sent("stop_cell", "agent_tx_id", "e") },
			func(s *fakeKernel) { s.received("execute_code_response", "agent_tx_id", "e") },
		},
		"stopped before its start was received": {
			func(s *fakeKernel) { s.sent("run_cell", "cell_id", "a"); s.sent("stop_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.received("start_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.received("cell_result", "cell_id", "a") },
		},
		"stopped twice": {
			func(s *fakeKernel) { s.sent("run_cell", "cell_id", "a"); s.received("start_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.sent("stop_cell", "cell_id", "a"); s.sent("stop_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.received("cell_result", "cell_id", "a") },
		},
		"closed": {
			func(s *fakeKernel) { s.sent("run_cell", "cell_id", "a"); s.received("start_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.sent("stop_cell", "cell_id", "a") },
			func(s *fakeKernel) { s.Close() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newFakeKernel()
				defer s.Close()
				run.begin(s)
				time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
				require.Empty(t, s.interruptedAt)
				run.stop(s)
				time.Sleep(3500 * time.Millisecond) //nolint:forbidigo // in a synctest bubble
				run.end(s)
				time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
				m := time.Minute
				require.Equal(t, []time.Duration{m, m + time.Second, m + 2*time.Second, m + 3*time.Second}, s.interruptedAt)
			})
		})
	}
}

func TestInterrupterIgnoresOtherTargets(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*fakeKernel){
		"what waits": func(s *fakeKernel) { s.sent("run_cell", "cell_id", "b"); s.sent("stop_cell", "cell_id", "b") },
		"code that waits": func(s *fakeKernel) {
			s.sent("execute_code", "agent_tx_id", "e")
			s.sent("stop_cell", "agent_tx_id", "e")
		},
		"what was never sent":   func(s *fakeKernel) { s.sent("stop_cell", "cell_id", "x"); s.sent("stop_cell", "agent_tx_id", "x") },
		"a request of the name": func(s *fakeKernel) { s.sent("stop_cell", "agent_tx_id", "a") },
		"no message":            func(s *fakeKernel) { s.MessageSent([]byte(`{"type":"stop_cell","cell_id":"a"`)) },
		"a question":            func(s *fakeKernel) { s.sent("ping", "cell_id", "a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newFakeKernel()
				defer s.Close()
				s.sent("run_cell", "cell_id", "a")
				s.received("start_cell", "cell_id", "a")
				run(s)
				time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
				require.Empty(t, s.interruptedAt)
			})
		})
	}
}

// A later run of a cell is not interrupted because of a stop of an earlier run.
func TestInterrupterForgetsEndedRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeKernel()
		defer s.Close()
		for range 2 {
			s.sent("run_cell", "cell_id", "a")
		}
		s.received("start_cell", "cell_id", "a")
		s.sent("stop_cell", "cell_id", "a")
		s.received("cell_result", "cell_id", "a")
		s.received("start_cell", "cell_id", "a")
		time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
		require.Len(t, s.interruptedAt, 1)
	})
}

func TestDescendants(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sh -c 'sleep 600 & echo $!; wait' & echo $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
		require.Error(t, cmd.Wait())
	})
	var want []int
	for len(want) < 2 {
		var pid int
		_, err := fmt.Fscan(out, &pid)
		require.NoError(t, err)
		want = append(want, pid)
	}
	got := kernel.Descendants(cmd.Process.Pid)
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
	require.Empty(t, kernel.Descendants(want[len(want)-1]))
	require.Empty(t, kernel.Descendants(1<<30))
}
