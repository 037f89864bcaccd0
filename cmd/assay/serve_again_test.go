package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that is started again with the same --out has the notebooks that it
// had, of sessions and of a case, after SIGTERM and after SIGKILL; what ran then
// has failed.
func TestServe_StartedAgain(t *testing.T) {
	t.Parallel()
	s := open(t, plan{args: []string{"--case", actorCase(t, t.TempDir(), "first", `
run("x = 6\nprint('of the case')\nx * 7")
act("create_markdown_cell", position=0, source="# Title")
submit(42)
`)}})
	sessions := []string{"default", "a", "b"}
	consoles := map[string]*console{}
	for _, session := range sessions {
		consoles[session] = s.view(t, session)
	}
	consoles["default"].agent.await(t, "the verdict", ofType("eval_result"))
	fill(t, consoles["a"])
	consoles["b"].cell(t, 0, inC)
	consoles["b"].agent.await(t, "the run", saying("kernel_stdio", "in C"))
	shown := map[string][]pageCell{}
	for _, session := range sessions {
		shown[session] = consoles[session].shown(t)
		s.written(t, session, consoles[session])
	}
	require.Equal(t, []string{"idle", "ran"}, statuses(shown["default"]))
	require.Equal(t, []string{"ran", "error", "idle", "running", "running"}, statuses(shown["a"]))
	require.Equal(t, []string{"running"}, statuses(shown["b"]))
	require.NoError(t, s.cmd.Process.Kill())
	require.Error(t, s.ended(t))
	s.nothingLeft(t)

	for _, cells := range shown {
		for i := range cells {
			if cells[i].Status == "running" {
				cells[i].Status = "error"
			}
		}
	}
	for range 2 { // what was restored is restored
		s = open(t, plan{dir: s.dir})
		for _, session := range sessions {
			require.Equal(t, shown[session], s.view(t, session).shown(t), session)
		}
		s.stop(t)
	}

	// One can go on with it.
	s = open(t, plan{dir: s.dir})
	c := s.view(t, "a")
	first, third := shown["a"][0].ID, shown["a"][2].ID
	require.Equal(t, "success", c.do(t, "edit_cell", fields{"cell_id": first, "source": "print('anew')", "auto_run": true}).Status)
	c.agent.await(t, "the run", ofCell("cell_result", first))
	require.Equal(t, "success", c.do(t, "delete_cell", fields{"cell_id": third}).Status)
	after := c.shown(t)
	require.Equal(t, []string{"ran", "error", "error", "error"}, statuses(after))
	require.Equal(t, "anew\n", after[0].Outputs[0]["text"])
	s.stop(t)
	s = open(t, plan{dir: s.dir})
	require.Equal(t, after, s.view(t, "a").shown(t))
	s.stop(t)
}

// written waits until the trace on disk has what a console has been shown, which
// comes to the console first.
func (s *station) written(t *testing.T, session string, c *console) {
	t.Helper()
	messages, _, _ := c.agent.state()
	var last int64
	for _, m := range messages {
		last = max(last, m.Seq)
	}
	eventually(t, "the trace is not written", func() bool {
		files, _ := filepath.Glob(filepath.Join(s.dir, "out", session+"@*"))
		require.Len(t, files, 1)
		text, err := os.ReadFile(files[0])
		_, entry, found := strings.Cut(string(text), fmt.Sprintf("\n{\"seq\":%d,", last))
		return err == nil && found && strings.Contains(entry, "\n")
	})
}

// fill makes cells of several kinds: two that have run, one of them with an
// error, a text, one that runs and one that waits for it.
func fill(t *testing.T, c *console) {
	t.Helper()
	ran := c.cell(t, 0, "import sys\nprint('out')\nprint('err', file=sys.stderr)\n{'a': 1}")
	failed := c.cell(t, 1, "print('before')\n1 / 0")
	for _, cell := range []string{ran, failed} {
		c.agent.await(t, "the end of a run", ofCell("cell_result", cell))
	}
	require.Equal(t, "success", c.do(t, "create_markdown_cell", fields{"position": 2, "source": "*text* with \"quotes\" and ünï\u2028codes"}).Status)
	running := c.cell(t, 3, "import time\nprint('on my way', flush=True)\nwhile True: time.sleep(0.005)")
	c.agent.await(t, "the run", saying("kernel_stdio", "on my way"))
	waits := c.cell(t, 4, "print('never')")
	c.agent.await(t, "the queue", saying("run_queue", waits))
	c.agent.await(t, "the run", ofCell("start_cell", running))
}
