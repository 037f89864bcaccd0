package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ten sessions at once, each with a kernel and an agent of its own: of one
// nothing is seen in another.
func TestServe_TenSessions(t *testing.T) {
	t.Parallel()
	s := open(t, plan{args: []string{"--session-idle", "1s"}})
	const sessions = 10
	word := func(i int) string { return fmt.Sprintf("word-of-s%d.", i) }
	consoles := []*console{s.sit(t, who{})} // without an agent's connection
	for i := range sessions {
		consoles = append(consoles, s.come(t, who{session: fmt.Sprintf("s%d", i+1)}))
	}
	for i, c := range consoles[1:] {
		c.tell(fmt.Sprintf("open('mine', 'w').write(%[1]q)\nassert run(\"x = open('mine').read()\\nprint(x)\")['logs'] == %[1]q + '\\n'\nrun('x')", word(i)))
	}
	pids := map[int]bool{}
	for i, c := range consoles[1:] {
		c.agent.await(t, "the end of the work", finished)
		shown := c.shown(t)
		require.Equal(t, []string{"ran", "ran"}, statuses(shown))
		require.Equal(t, word(i)+"\n", shown[0].Outputs[0]["text"])
		pids[c.ready.PID] = true
		own := fmt.Sprintf("%s", c.agent.all(func(message) bool { return true }))
		for j := range sessions {
			require.Equal(t, i == j, strings.Contains(own, word(j)), "session %d, word %d", i, j)
		}
	}
	require.Len(t, pids, sessions, "a kernel each")
	_, metrics := s.get(t, "/metrics")
	require.Contains(t, metrics, fmt.Sprintf("\nassay_sessions %d\n", sessions+1))
	sandboxes, err := filepath.Glob(filepath.Join(s.dir, "boxes", "sandbox-*", "mine"))
	require.NoError(t, err)
	require.Len(t, sandboxes, sessions)

	// Nobody needs them any more: they end, and what they had is given back.
	most := s.openFiles(t)
	consoles[0].run.breaks()
	for _, c := range consoles[1:] {
		c.breaks()
	}
	eventually(t, "sessions go on", func() bool {
		_, metrics := s.get(t, "/metrics")
		return strings.Contains(metrics, "\nassay_sessions 0\n") && strings.Contains(metrics, "\nassay_children_running{name=\"kernel\"} 0\n")
	})
	eventually(t, "sockets or files are left", func() bool { return s.openFiles(t) < most-2*sessions })
	sandboxes, err = filepath.Glob(filepath.Join(s.dir, "boxes", "sandbox-*"))
	require.NoError(t, err)
	require.Empty(t, sandboxes)
	s.stop(t)
}

// openFiles counts the server's.
func (s *station) openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	require.NoError(t, err)
	return len(files)
}
