//go:build bench

package bench_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// jupyterClient is ipykernel, driven by jupyter_client in jupyter.py.
type jupyterClient struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	problem *strings.Builder
}

// hasJupyter tells whether debianPython can do what is compared with.
func hasJupyter(t *testing.T) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), debianPython, "-c", "import ipykernel, jupyter_client, jupyter_server, numpy, pandas").CombinedOutput()
	if err != nil {
		t.Logf("nothing of Jupyter's is measured: %v: %s", err, out)
	}
	return err == nil
}

// startJupyter starts jupyter.py, which ends with the test.
func startJupyter(t *testing.T, what string) (in io.Writer, out *bufio.Reader, problem *strings.Builder) {
	t.Helper()
	home := t.TempDir()
	problem = &strings.Builder{}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), debianPython, "jupyter.py", what)
	cmd.Env = append(os.Environ(), "HOME="+home, "IPYTHONDIR="+home, "JUPYTER_RUNTIME_DIR="+home)
	cmd.Stderr = problem
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close() // it ends at that
		_ = cmd.Wait()
	})
	return stdin, bufio.NewReader(stdout), problem
}

func newJupyterClient(t *testing.T) *jupyterClient {
	t.Helper()
	c := &jupyterClient{t: t}
	c.in, c.out, c.problem = startJupyter(t, "client")
	return c
}

// do has it carry out a command of jupyter.py.
func (c *jupyterClient) do(answer any, command ...any) {
	c.t.Helper()
	require.NoError(c.t, json.NewEncoder(c.in).Encode(command))
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		require.NoError(c.t, err, "%v: %s", command, c.problem)
	}
	require.NoError(c.t, json.Unmarshal(line, answer))
}

// seconds carries out a command that takes one time.
func (c *jupyterClient) seconds(command ...any) time.Duration {
	c.t.Helper()
	var took float64
	c.do(&took, command...)
	return time.Duration(took * float64(time.Second))
}

// start starts a kernel, the newest from then on, and returns what that took up
// to the end of code.
func (c *jupyterClient) start(code string) time.Duration { return c.seconds("start", code) }

// stop ends the newest kernel.
func (c *jupyterClient) stop() {
	c.t.Helper()
	var nothing any
	c.do(&nothing, "stop")
}

// pid is the newest kernel's process.
func (c *jupyterClient) pid() (pid int) {
	c.t.Helper()
	c.do(&pid, "pid")
	return pid
}

func (c *jupyterClient) run(code string) time.Duration       { return c.seconds("run", code) }
func (c *jupyterClient) first(code string) time.Duration     { return c.seconds("first", code) }
func (c *jupyterClient) interrupt(code string) time.Duration { return c.seconds("interrupt", code) }

// asked asks the kernel n times who it is, while code runs, which prints first.
func (c *jupyterClient) asked(code string, n int) []time.Duration {
	c.t.Helper()
	var took []float64
	c.do(&took, "busy", code, n)
	times := make([]time.Duration, len(took))
	for i, seconds := range took {
		times[i] = time.Duration(seconds * float64(time.Second))
	}
	return times
}

// text runs code and counts the bytes of the text that comes.
func (c *jupyterClient) text(code string) (took time.Duration, size int) {
	c.t.Helper()
	var answer struct {
		Took float64
		Size int
	}
	c.do(&answer, "text", code)
	return time.Duration(answer.Took * float64(time.Second)), answer.Size
}
