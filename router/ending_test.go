package router_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// dying is a kernel's connection that breaks on the first write, and says so to
// who reads only when the process has been reaped.
type dying struct{ reaped chan struct{} }

func (d dying) Read() ([]byte, error) {
	<-d.reaped
	return nil, protocol.ErrClosed
}

func (dying) Write([]byte) error { return protocol.ErrClosed }

func (dying) Close(protocol.CloseCode, string) error { return nil }

// A cell that is run while the kernel is on its way out is not taken for one that
// runs, and who has asked for it is told.
func TestRunWhileTheKernelEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		kernel := dying{make(chan struct{})}
		_, err := s.router.AttachKernel(kernel, false)
		require.NoError(t, err)
		s.attach("console")
		run := `{"type":"run_cell","cell_id":"CELL","code":"1"}`
		for _, cell := range []string{"first", "second"} {
			require.NoError(t, s.peers["console"].conn.Write([]byte(strings.Replace(run, "CELL", cell, 1))))
			synctest.Wait()
		}
		require.Equal(t, []string{"first"}, s.runs.OpenCells())
		require.Contains(t, s.came(), "the kernel is ending: it cannot run_cell")
		close(kernel.reaped)
		synctest.Wait()
		require.Equal(t, "error", s.runs.CellStatus("first"))
		require.Equal(t, "idle", s.runs.CellStatus("second"))
		s.leave()
		s.serving.Wait()
	})
}

// A cell whose run the kernel has no room for is not taken for one that runs.
func TestRunThatHasNoRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("kernel")
		s.attach("console")
		big := `{"type":"run_cell","cell_id":"CELL","code":"` + strings.Repeat("x", 5<<20) + `"}`
		for _, cell := range []string{"written", "waits", "late"} {
			require.NoError(t, s.peers["console"].conn.Write([]byte(strings.Replace(big, "CELL", cell, 1))))
			synctest.Wait()
		}
		require.Equal(t, []string{"waits", "written"}, s.runs.OpenCells())
		require.Contains(t, s.came(), "the kernel does not read")
		s.leave()
		s.serving.Wait()
	})
}
