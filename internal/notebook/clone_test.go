package notebook_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// After each step of a fold a clone has the same snapshot as the original, and later frames
// change only one of the two.
func TestClonesAreIndependent(t *testing.T) {
	t.Parallel()
	var frames []string
	frame := func(format string, args ...any) { frames = append(frames, fmt.Sprintf(format, args...)) }
	for n := 1; n <= 3; n++ {
		frame(`{"type":"run_queue","queue":["b"]}`)
		frame(`{"type":"start_cell","cell_id":"a","run_sequencer":%d}`, n)
		for i := range 40 {
			frame(`{"type":"kernel_stdio","active_cell":"a","stream":"stdout","data":"%0200d\n"}`, i) // more than is kept
		}
		frame(`{"type":"cell_output","cell_id":"a","run_sequencer":%d,"output":{"output_type":"display_data","data":{"text/plain":"%0800d"},"metadata":{},"transient":{"display_id":"d"}}}`, n, n)
		frame(`{"type":"cell_output","cell_id":"a","run_sequencer":%d,"output":{"output_type":"clear_output","wait":true}}`, n)
		frame(`{"type":"cell_output","cell_id":"a","run_sequencer":%d,"output":{"output_type":"update_display_data","data":{"text/plain":"new %d"},"metadata":{},"transient":{"display_id":"d"}}}`, n, n)
		frame(`{"type":"cell_widgets","cell_id":"a","widget_state":{"k":{"type":"slider","value":%d}}}`, n)
		frame(`{"type":"kernel_stdio","active_cell":"a","stream":"stderr","data":"after"}`)
		frame(`{"type":"cell_result","cell_id":"a","run_sequencer":%d,"status":"ok"}`, n)
	}
	apply := func(r *notebook.Executions, seq int) {
		env, err := protocol.NewEnvelopeDecoder().Decode([]byte(frames[seq]))
		require.NoError(t, err)
		require.NoError(t, r.ApplyFrame(int64(seq), env, []byte(frames[seq])))
	}
	newRuns := func() *notebook.Executions {
		r := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: 4 << 10})
		r.MarkCellDisposed("gone")
		return r
	}
	var want []notebook.ExecutionsSnapshot // of Executions that are not cloned
	plain := newRuns()
	for seq := range frames {
		apply(plain, seq)
		want = append(want, plain.Snapshot())
	}
	original := newRuns()
	clones := make([]*notebook.Executions, len(frames))
	for seq := range frames {
		apply(original, seq)
		clones[seq] = original.Clone()
		require.Equal(t, original.MemoryBytes(), clones[seq].MemoryBytes())
		require.Less(t, original.MemoryBytes(), 2*(1<<10)+2*(4<<10)+32<<10, "the limits of two cells: outputs, logs, widgets")
		require.Equal(t, want[seq], original.Snapshot(), frames[seq])
	}
	for seq, clone := range clones {
		twin := clone.Clone()
		for on := seq + 1; on < min(seq+10, len(frames)); on++ {
			apply(clone, on)
			require.Equal(t, want[on], clone.Snapshot(), "from %d", seq)
		}
		require.Equal(t, want[seq], twin.Snapshot(), "the clone has not changed: %s", frames[seq])
	}
	require.Equal(t, want[len(want)-1], original.Snapshot())
}
