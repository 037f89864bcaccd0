package router_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// breakingConn is a kernel's connection whose writes fail, and whose reads block until the
// channel released is closed and then fail, like that of a kernel process that has died and was
// not reaped yet.
type breakingConn struct{ released chan struct{} }

func (d breakingConn) Read() ([]byte, error) {
	<-d.released
	return nil, protocol.ErrClosed
}

func (breakingConn) Write([]byte) error { return protocol.ErrClosed }

func (breakingConn) Close(protocol.CloseCode, string) error { return nil }

// A run_cell that is sent to a kernel which is disconnecting does not count as running, and its
// sender gets an error.
func TestRunForEndingKernelFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		kernel := breakingConn{make(chan struct{})}
		_, err := h.router.AttachKernel(kernel, protocol.Ready{})
		require.NoError(t, err)
		h.attachListeningPeer("console")
		run := `{"type":"run_cell","cell_id":"CELL","code":"1"}`
		for _, cell := range []string{"first", "second"} {
			require.NoError(t, h.peers["console"].conn.Write([]byte(strings.Replace(run, "CELL", cell, 1))))
			synctest.Wait()
		}
		require.Equal(t, []string{"first"}, h.executions.CellsWithOpenRuns())
		require.Contains(t, h.takeMessagesAndEntries(), "the kernel is ending: it cannot run_cell")
		close(kernel.released)
		synctest.Wait()
		require.Equal(t, "error", h.executions.CellStatus("first"))
		require.Equal(t, "idle", h.executions.CellStatus("second"))
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}

// A run_cell for which the kernel's queue has no room does not count as running.
func TestRunForFullKernelQueueFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachUnreadPeer("kernel")
		h.attachListeningPeer("console")
		big := `{"type":"run_cell","cell_id":"CELL","code":"` + strings.Repeat("x", 5<<20) + `"}`
		for _, cell := range []string{"written", "waits", "late"} {
			require.NoError(t, h.peers["console"].conn.Write([]byte(strings.Replace(big, "CELL", cell, 1))))
			synctest.Wait()
		}
		require.Equal(t, []string{"waits", "written"}, h.executions.CellsWithOpenRuns())
		require.Contains(t, h.takeMessagesAndEntries(), "the kernel does not read")
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}

// Without an agent the kernel_message about a run is noted in the trace as dropped. The entry
// has no body, because the kernel's frame is in the trace.
func TestKernelMessageWithoutAgentIsNotedAsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachListeningPeer("kernel")
		h.sendFromPeer("kernel", `{"type":"start_cell","cell_id":"c","run_sequencer":1}`)
		h.sendFromPeer("kernel", `{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"x"}`)
		h.sendFromPeer("kernel", `{"type":"cell_result","cell_id":"c","run_sequencer":1,"status":"ok"}`)
		synctest.Wait()
		require.Equal(t, "    1 kernel>server start_cell c\n    2 server>agent kernel_message c dropped of 1\n"+
			"    3 kernel>server kernel_stdio c\n"+
			"    4 kernel>server cell_result c\n    5 server>agent kernel_message c dropped of 4\n", h.takeMessagesAndEntries())
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}

// A command to a kernel that is disconnecting is noted in the trace as dropped.
func TestCommandToEndingKernelIsNotedAsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		kernel := breakingConn{make(chan struct{})}
		_, err := h.router.AttachKernel(kernel, protocol.Ready{})
		require.NoError(t, err)
		for range 2 { // the first one breaks the connection
			require.NoError(t, h.router.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: "c"}))
			synctest.Wait()
		}
		require.Equal(t, "    1 server>kernel stop_cell c\n    2 server>kernel stop_cell c dropped\n", h.takeMessagesAndEntries())
		close(kernel.released)
		synctest.Wait()
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}
