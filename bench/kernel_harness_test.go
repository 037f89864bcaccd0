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

// kit is what kernels are started with, by the interpreter that has ipykernel.
type kit struct {
	*program
	python *kernel.Python
	fence  *sandbox.Template
	beside bool // ipykernel can be measured
}

func newKit(t *testing.T, p *program) *kit {
	t.Helper()
	k := &kit{program: p, beside: hasJupyter(t)}
	name := debianPython
	if !k.beside {
		name = p.python.Executable
	}
	var err error
	k.python, err = kernel.ResolvePython(t.Context(), name, t.TempDir())
	require.NoError(t, err)
	k.fence = &sandbox.Template{Machine: sandbox.ProbeMachine(t.Context(), p.door()), Rules: sandbox.Rules{
		Network: sandbox.NetworkOn, MaxMemoryBytes: 8 << 30, MaxFileBytes: 2 << 30, MaxProcesses: 4096, MaxOpenFiles: 4096, ReadPaths: sandbox.SystemPaths(),
	}}
	return k
}

// pool is a parent of so many kernels with modules.
func (k *kit) pool(t *testing.T, size int, modules ...string) *kernel.Pool {
	t.Helper()
	pool, err := kernel.NewPool(t.Context(), k.supervisor, kernel.PoolConfig{
		Python: k.python, MaxKernels: size, PreloadModules: modules, Environ: os.Environ(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close(context.Background())) })
	return pool
}

// started is one of our kernels, driven from here.
type started struct {
	*cells
	kernel *kernel.Kernel
}

// start starts a kernel as cfg says, in a folder of its own.
func (k *kit) start(t *testing.T, cfg kernel.Config) started {
	t.Helper()
	return k.startIn(t, folder(t), cfg)
}

func (k *kit) startIn(t *testing.T, sandbox string, cfg kernel.Config) started {
	t.Helper()
	if cfg.Command == nil {
		cfg.Python = k.python
	}
	cfg.Workdir, cfg.Session, cfg.Environ = sandbox, "bench", os.Environ()
	one, err := kernel.Start(t.Context(), k.supervisor, cfg)
	require.NoError(t, err)
	return started{newCells(t, one), one}
}

func (s started) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.kernel.Stop(context.Background()))
}

// folder is one for a kernel.
func folder(t *testing.T) string {
	t.Helper()
	sandbox := t.TempDir()
	for _, name := range []string{"home", "tmp", "mpl"} {
		require.NoError(t, os.MkdirAll(filepath.Join(sandbox, ".assay", name), 0o700))
	}
	return sandbox
}

// served is an `assay serve` of its own.
type served struct {
	at       string // host and port
	pid      int
	sessions int // that consoles have opened
}

// serve starts one, which ends with the test.
func (k *kit) serve(t *testing.T, args ...string) *served {
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
	return &served{at: at, pid: cmd.Process.Pid}
}

// open is a console at /run of a new session, whose kernel has this process id.
func (s *served) open(t *testing.T) (c *cells, pid int) {
	t.Helper()
	s.sessions++
	c = newCells(t, dial(t, fmt.Sprintf("%s/run?session=%d", s.at, s.sessions)))
	c.write("%s", runHello)
	return c, c.awaitKernel()
}

// awaitKernel waits until there is a kernel, and returns its process.
func (c *cells) awaitKernel() (pid int) {
	c.t.Helper()
	for {
		frame, err := c.conn.Read()
		require.NoError(c.t, err)
		if isType(frame, protocol.TypeReady) && bytes.Contains(frame, []byte(`"kernel_status":"running"`)) {
			return pidOf(c.t, frame)
		}
	}
}

// birth is a turn in which a console comes to a new session and runs a cell.
func (s *served) birth(t *testing.T) func() []time.Duration {
	t.Helper()
	return func() []time.Duration {
		began := time.Now()
		c, _ := s.open(t)
		c.run(oneAndOne)
		return []time.Duration{time.Since(began)}
	}
}

// pidOf is the kernel's process, as a ready frame has it.
func pidOf(t *testing.T, frame []byte) int {
	t.Helper()
	var ready struct {
		PID int `json:"kernel_pid"`
	}
	require.NoError(t, json.Unmarshal(frame, &ready))
	return ready.PID
}
