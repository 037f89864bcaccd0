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

// jupyterClient drives ipykernels through jupyter_client, by commands to jupyter.py.
// Commands apply to the kernel that was started last.
type jupyterClient struct {
	t        *testing.T
	commands io.Writer
	answers  *bufio.Reader
	stderr   *strings.Builder
}

// isJupyterAvailable reports whether debianPython can import ipykernel, jupyter_client,
// jupyter_server, numpy and pandas.
func isJupyterAvailable(t *testing.T) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), debianPython, "-c", "import ipykernel, jupyter_client, jupyter_server, numpy, pandas").CombinedOutput()
	if err != nil {
		t.Logf("Jupyter is not measured: %v: %s", err, out)
	}
	return err == nil
}

// startJupyterScript starts jupyter.py in a mode, client or server, until the test ends.
// It returns the script's stdin and stdout; stderr collects what the script wrote to its
// stderr.
func startJupyterScript(t *testing.T, what string) (in io.Writer, out *bufio.Reader, problem *strings.Builder) {
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
		_ = stdin.Close() // ends the process
		_ = cmd.Wait()
	})
	return stdin, bufio.NewReader(stdout), problem
}

// newJupyterClient starts jupyter.py in client mode until the test ends.
func newJupyterClient(t *testing.T) *jupyterClient {
	t.Helper()
	c := &jupyterClient{t: t}
	c.commands, c.answers, c.stderr = startJupyterScript(t, "client")
	return c
}

// call sends a command to jupyter.py, its name and its arguments, and decodes the result
// into answer.
func (c *jupyterClient) call(answer any, command ...any) {
	c.t.Helper()
	require.NoError(c.t, json.NewEncoder(c.commands).Encode(command))
	line, err := c.answers.ReadBytes('\n')
	if err != nil {
		require.NoError(c.t, err, "%v: %s", command, c.stderr)
	}
	require.NoError(c.t, json.Unmarshal(line, answer))
}

// callForDuration sends a command whose result is a number of seconds.
func (c *jupyterClient) callForDuration(command ...any) time.Duration {
	c.t.Helper()
	var took float64
	c.call(&took, command...)
	return time.Duration(took * float64(time.Second))
}

// startKernel starts a kernel and returns the time until code has run in it.
func (c *jupyterClient) startKernel(code string) time.Duration {
	return c.callForDuration("start_kernel", code)
}

// stopKernel stops the kernel that was started last.
func (c *jupyterClient) stopKernel() {
	c.t.Helper()
	var nothing any
	c.call(&nothing, "stop_kernel")
}

// kernelPID returns the process id of the kernel that was started last.
func (c *jupyterClient) kernelPID() (pid int) {
	c.t.Helper()
	c.call(&pid, "kernel_pid")
	return pid
}

// timeToResult, timeToFirstText and timeToInterrupt are those of cellRunner.
func (c *jupyterClient) timeToResult(code string) time.Duration {
	return c.callForDuration("time_to_result", code)
}

func (c *jupyterClient) timeToFirstText(code string) time.Duration {
	return c.callForDuration("time_to_first_text", code)
}

func (c *jupyterClient) timeToInterrupt(code string) time.Duration {
	return c.callForDuration("time_to_interrupt", code)
}

// timeControlRequests runs code, which must print first and then run on, and returns the
// times of n kernel_info requests on the control channel meanwhile.
func (c *jupyterClient) timeControlRequests(code string, n int) []time.Duration {
	c.t.Helper()
	var took []float64
	c.call(&took, "time_control_requests", code, n)
	times := make([]time.Duration, len(took))
	for i, seconds := range took {
		times[i] = time.Duration(seconds * float64(time.Second))
	}
	return times
}

// timePrintedText runs code and returns how long it took and how many bytes of text
// arrived.
func (c *jupyterClient) timePrintedText(code string) (took time.Duration, size int) {
	c.t.Helper()
	var answer struct {
		Took float64
		Size int
	}
	c.call(&answer, "time_printed_text", code)
	return time.Duration(answer.Took * float64(time.Second)), answer.Size
}
