//go:build bench

package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/kernel"
)

// kernelHarness starts kernels with debianPython if that has ipykernel, so that both
// kernels run on the same interpreter, and otherwise with the program's interpreter.
type kernelHarness struct {
	*assayProgram
	python           *kernel.Python
	sandboxTemplate  *sandbox.Template
	jupyterAvailable bool // debianPython has ipykernel and Jupyter's server
}

// newKernelHarness chooses the interpreter and probes the sandbox.
func newKernelHarness(t *testing.T, p *assayProgram) *kernelHarness {
	t.Helper()
	k := &kernelHarness{assayProgram: p, jupyterAvailable: isJupyterAvailable(t)}
	name := debianPython
	if !k.jupyterAvailable {
		name = p.python.Executable
	}
	var err error
	k.python, err = kernel.ResolvePython(t.Context(), name, t.TempDir())
	require.NoError(t, err)
	k.sandboxTemplate = &sandbox.Template{Machine: sandbox.ProbeMachine(t.Context(), p.launcherCommand()), Rules: sandbox.Rules{
		Network: sandbox.NetworkOn, MaxMemoryBytes: 8 << 30, MaxFileBytes: 2 << 30, MaxProcesses: 4096, MaxOpenFiles: 4096, ReadPaths: sandbox.SystemPaths(),
	}}
	return k
}

// newPool starts a pool of at most size kernels that has preloaded modules, until the
// test ends.
func (k *kernelHarness) newPool(t *testing.T, size int, modules ...string) *kernel.Pool {
	t.Helper()
	pool, err := kernel.NewPool(t.Context(), k.supervisor, kernel.PoolConfig{
		Python: k.python, MaxKernels: size, PreloadModules: modules, Environ: os.Environ(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close(context.Background())) })
	return pool
}

// drivenKernel is a running Assay kernel with the connection that runs its cells.
type drivenKernel struct {
	*kernelConn
	kernel *kernel.Kernel
}

// startKernel starts a kernel in a new working folder.
func (k *kernelHarness) startKernel(t *testing.T, cfg kernel.Config) drivenKernel {
	t.Helper()
	return k.startKernelIn(t, newKernelWorkdir(t), cfg)
}

// startKernelIn starts a kernel in the folder workdir.
func (k *kernelHarness) startKernelIn(t *testing.T, workdir string, cfg kernel.Config) drivenKernel {
	t.Helper()
	if cfg.Command == nil {
		cfg.Python = k.python
	}
	cfg.Workdir, cfg.Session, cfg.Environ = workdir, "bench", os.Environ()
	one, err := kernel.Start(t.Context(), k.supervisor, cfg)
	require.NoError(t, err)
	return drivenKernel{newKernelConn(t, one), one}
}

// stop stops the kernel and waits for its end.
func (s drivenKernel) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.kernel.Stop(context.Background()))
}

// newKernelWorkdir creates a working folder for a kernel, removed when the test ends.
func newKernelWorkdir(t *testing.T) string {
	t.Helper()
	workdir := t.TempDir()
	for _, name := range []string{"home", "tmp", "mpl"} {
		require.NoError(t, os.MkdirAll(filepath.Join(workdir, ".assay", name), 0o700))
	}
	return workdir
}

// assayServer is a running `assay serve` process.
type assayServer struct {
	address      string // host:port
	pid          int
	sessionCount int // sessions opened so far
}

// startServer starts `assay serve` with more arguments args, until the test ends.
func (k *kernelHarness) startServer(t *testing.T, args ...string) *assayServer {
	t.Helper()
	args = append([]string{
		"serve", "--addr", "127.0.0.1:0", "--agent", "noop", "--python", k.python.Executable, "--log", "error", "--out", t.TempDir(),
	}, args...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), k.path, args...)
	cmd.Env = append(os.Environ(), "EVAL_SANDBOX=1")
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(said)
	at, problem := "", ""
	for found := false; !found; {
		line, err := lines.ReadString('\n')
		problem += line
		require.NoError(t, err, problem)
		at, found = strings.CutPrefix(strings.TrimSpace(line), "serving at http://")
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		<-drained
		require.NoError(t, cmd.Wait())
	})
	return &assayServer{address: at, pid: cmd.Process.Pid}
}

// openSession connects a console at /run to a new session, waits for its kernel, and
// returns both the connection and the kernel's process id.
func (s *assayServer) openSession(t *testing.T) (c *kernelConn, pid int) {
	t.Helper()
	s.sessionCount++
	c = newKernelConn(t, dialConsole(t, fmt.Sprintf("%s/run?session=%d", s.address, s.sessionCount)))
	c.writeFrame("%s", runHello)
	return c, c.awaitKernelPID()
}

// awaitKernelPID waits for the ready message of a running kernel and returns its process
// id.
func (c *kernelConn) awaitKernelPID() (pid int) {
	c.t.Helper()
	for {
		frame, err := c.conn.Read()
		require.NoError(c.t, err)
		if hasFrameType(frame, protocol.TypeReady) && bytes.Contains(frame, []byte(`"kernel_status":"running"`)) {
			return kernelPIDOf(c.t, frame)
		}
	}
}

// newSessionRound returns a round that measures the time from connecting a console to a
// new session until the result of a first cell.
func (s *assayServer) newSessionRound(t *testing.T) func() []time.Duration {
	t.Helper()
	return func() []time.Duration {
		began := time.Now()
		c, _ := s.openSession(t)
		c.timeToResult(onePlusOneCode)
		return []time.Duration{time.Since(began)}
	}
}

// kernelPIDOf returns the kernel's process id from a ready frame.
func kernelPIDOf(t *testing.T, frame []byte) int {
	t.Helper()
	var ready struct {
		PID int `json:"kernel_pid"`
	}
	require.NoError(t, json.Unmarshal(frame, &ready))
	return ready.PID
}
