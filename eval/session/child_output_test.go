package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/kernel"
)

// Two children print at the same time, in pieces: every line is written whole, and the last one
// even without a newline.
func TestChildOutputHasWholeLines(t *testing.T) {
	t.Parallel()
	var printed lockedBuffer
	s := startSession(t, newSupervisor(t), session.Config{
		Kernel: kernel.Config{Command: childCommand("talker")}, Agent: agent.Config{Command: childCommand("talker")}, ChildOutput: &printed,
	})
	s.awaitEntry(t, "the first to be done", func(e *trace.Entry) bool { return e.Type == protocol.TypeError })
	s.awaitEntry(t, "the second", func(e *trace.Entry) bool { return e.Type == protocol.TypeError })
	require.NoError(t, s.End(t.Context(), "enough"))
	var want []string
	for _, name := range []string{"kernel", "agent"} {
		for i := range testLineCount {
			line := name + ": " + linePrinterLine(i)
			want = append(want, line, line) // stdout and stderr
		}
		want = append(want, name+": the end")
	}
	slices.Sort(want)
	require.Equal(t, want, slices.Sorted(slices.Values(printed.lines())))
}

// A line without a newline is broken into pieces, and after 10 MiB of output nothing more is
// written.
func TestChildOutputIsBounded(t *testing.T) {
	t.Parallel()
	var printed lockedBuffer
	flood := shellChildCommand(`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`)
	flood[2] = "head -c 12000000 /dev/zero | tr '\\0' x; " + flood[2]
	s := startSession(t, newSupervisor(t), session.Config{Agent: agent.Config{Command: flood}, ChildOutput: &printed})
	require.NoError(t, s.End(t.Context(), "enough"))
	got := printed.lines()
	last := len(got) - 1
	require.Equal(t, "[more than 10 MiB were printed: the rest is left out]", got[last])
	size := 0
	for _, line := range got[:last] {
		require.Equal(t, "agent: ", strings.Trim(line, "x"))
		require.LessOrEqual(t, len(line), 256<<10)
		size += len(line)
	}
	require.Greater(t, size, 10<<20)
	require.Less(t, size, 11<<20)
}
