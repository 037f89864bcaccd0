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

// recordingInterrupter is an interrupter whose signals reach no process. It records when each
// was sent.
type recordingInterrupter struct {
	kernel.Interrupter
	began         time.Time
	interruptedAt []time.Duration
}

// newRecordingInterrupter returns a recordingInterrupter that measures times from now.
func newRecordingInterrupter() *recordingInterrupter {
	s := &recordingInterrupter{began: time.Now()}
	s.Interrupter = kernel.NewInterrupter(-1, func(sig syscall.Signal) error {
		if sig == syscall.SIGUSR2 {
			s.interruptedAt = append(s.interruptedAt, time.Since(s.began))
		}
		return nil
	})
	return s
}

// noteSentMessageWithID tells the interrupter that a message with one id field was written to the
// kernel.
func (s *recordingInterrupter) noteSentMessageWithID(kind, field, id string) {
	s.NoteSentMessage(fmt.Appendf(nil, `{"type":%q,%q:%q}`, kind, field, id))
}

// noteReceivedMessageWithID tells the interrupter that a message with one id field came from the kernel.
func (s *recordingInterrupter) noteReceivedMessageWithID(kind, field, id string) {
	s.NoteReceivedMessage(fmt.Appendf(nil, `{"type":%q,%q:%q}`, kind, field, id))
}

func TestInterrupterInterruptsUntilTheRunEnds(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct{ begin, stop, end func(*recordingInterrupter) }{
		"cell": {
			func(s *recordingInterrupter) {
				s.noteSentMessageWithID("run_cell", "cell_id", "a")
				s.noteReceivedMessageWithID("start_cell", "cell_id", "a")
			},
			func(s *recordingInterrupter) { s.noteSentMessageWithID("stop_cell", "cell_id", "a") },
			func(s *recordingInterrupter) { s.noteReceivedMessageWithID("cell_result", "cell_id", "a") },
		},
		"disposed": {
			func(s *recordingInterrupter) {
				s.noteSentMessageWithID("run_cell", "cell_id", "a")
				s.noteReceivedMessageWithID("start_cell", "cell_id", "a")
			},
			func(s *recordingInterrupter) { s.noteSentMessageWithID("dispose_cell", "cell_id", "a") },
			func(s *recordingInterrupter) { s.noteReceivedMessageWithID("cell_result", "cell_id", "a") },
		},
		"code": {
			func(s *recordingInterrupter) { s.noteSentMessageWithID("execute_code", "agent_tx_id", "e") },
			func(s *recordingInterrupter) { s.noteSentMessageWithID("stop_cell", "agent_tx_id", "e") },
			func(s *recordingInterrupter) {
				s.noteReceivedMessageWithID("execute_code_response", "agent_tx_id", "e")
			},
		},
		"stopped before its start was received": {
			func(s *recordingInterrupter) {
				s.noteSentMessageWithID("run_cell", "cell_id", "a")
				s.noteSentMessageWithID("stop_cell", "cell_id", "a")
			},
			func(s *recordingInterrupter) { s.noteReceivedMessageWithID("start_cell", "cell_id", "a") },
			func(s *recordingInterrupter) { s.noteReceivedMessageWithID("cell_result", "cell_id", "a") },
		},
		"stopped twice": {
			func(s *recordingInterrupter) {
				s.noteSentMessageWithID("run_cell", "cell_id", "a")
				s.noteReceivedMessageWithID("start_cell", "cell_id", "a")
			},
			func(s *recordingInterrupter) {
				s.noteSentMessageWithID("stop_cell", "cell_id", "a")
				s.noteSentMessageWithID("stop_cell", "cell_id", "a")
			},
			func(s *recordingInterrupter) { s.noteReceivedMessageWithID("cell_result", "cell_id", "a") },
		},
		"closed": {
			func(s *recordingInterrupter) {
				s.noteSentMessageWithID("run_cell", "cell_id", "a")
				s.noteReceivedMessageWithID("start_cell", "cell_id", "a")
			},
			func(s *recordingInterrupter) { s.noteSentMessageWithID("stop_cell", "cell_id", "a") },
			func(s *recordingInterrupter) { s.Close() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newRecordingInterrupter()
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
	for name, run := range map[string]func(*recordingInterrupter){
		"what waits": func(s *recordingInterrupter) {
			s.noteSentMessageWithID("run_cell", "cell_id", "b")
			s.noteSentMessageWithID("stop_cell", "cell_id", "b")
		},
		"code that waits": func(s *recordingInterrupter) {
			s.noteSentMessageWithID("execute_code", "agent_tx_id", "e")
			s.noteSentMessageWithID("stop_cell", "agent_tx_id", "e")
		},
		"what was never sent": func(s *recordingInterrupter) {
			s.noteSentMessageWithID("stop_cell", "cell_id", "x")
			s.noteSentMessageWithID("stop_cell", "agent_tx_id", "x")
		},
		"a request of the name": func(s *recordingInterrupter) { s.noteSentMessageWithID("stop_cell", "agent_tx_id", "a") },
		"no message":            func(s *recordingInterrupter) { s.NoteSentMessage([]byte(`{"type":"stop_cell","cell_id":"a"`)) },
		"a question":            func(s *recordingInterrupter) { s.noteSentMessageWithID("ping", "cell_id", "a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newRecordingInterrupter()
				defer s.Close()
				s.noteSentMessageWithID("run_cell", "cell_id", "a")
				s.noteReceivedMessageWithID("start_cell", "cell_id", "a")
				run(s)
				time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
				require.Empty(t, s.interruptedAt)
			})
		})
	}
}

// A stop_cell for one run of a cell does not interrupt the cell's next run.
func TestInterrupterForgetsEndedRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRecordingInterrupter()
		defer s.Close()
		for range 2 {
			s.noteSentMessageWithID("run_cell", "cell_id", "a")
		}
		s.noteReceivedMessageWithID("start_cell", "cell_id", "a")
		s.noteSentMessageWithID("stop_cell", "cell_id", "a")
		s.noteReceivedMessageWithID("cell_result", "cell_id", "a")
		s.noteReceivedMessageWithID("start_cell", "cell_id", "a")
		time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
		require.Len(t, s.interruptedAt, 1)
	})
}

func TestDescendantPIDs(t *testing.T) {
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
	got := kernel.DescendantPIDs(cmd.Process.Pid)
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
	require.Empty(t, kernel.DescendantPIDs(want[len(want)-1]))
	require.Empty(t, kernel.DescendantPIDs(1<<30))
}
