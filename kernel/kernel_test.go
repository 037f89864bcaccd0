package kernel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
	"assay/kernel"
)

// launcherRole is the role of the test binary that runs the sandbox's launcher.
const launcherRole = "launch"

func TestMain(m *testing.M) {
	subprocesstest.RunTestsOrRole(m, map[string]subprocesstest.Role{launcherRole: subprocesstest.RunSandboxLauncher})
}

// testKernel is a running Python kernel with its working folder.
type testKernel struct {
	*kernel.Kernel
	t        *testing.T
	workdir  string
	runCount int // run_cell messages sent
}

// startKernel starts a Python kernel and stops it after the test. change, if not nil, may
// modify the kernel's config first.
func startKernel(t *testing.T, change func(*kernel.Config)) *testKernel {
	t.Helper()
	sup := newSupervisor(t)
	python, err := kernel.ResolvePython(t.Context(), "python3", sup.TempDir())
	require.NoError(t, err)
	return startKernelWithSupervisor(t, sup, python, change)
}

// newSupervisor returns a supervisor of subprocesses that is closed after the test.
func newSupervisor(t *testing.T) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, Launcher: []string{os.Args[0], launcherRole}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup
}

// startKernelWithSupervisor starts a kernel under this supervisor, with this interpreter, and stops it
// after the test. change, if not nil, may modify the kernel's config first.
func startKernelWithSupervisor(t *testing.T, sup *subprocess.Supervisor, python *kernel.Python, change func(*kernel.Config)) *testKernel {
	t.Helper()
	workdir := t.TempDir()
	for _, name := range []string{"home", "tmp", "mpl"} {
		require.NoError(t, os.MkdirAll(filepath.Join(workdir, ".assay", name), 0o700))
	}
	cfg := kernel.Config{Python: python, Workdir: workdir, Session: "s1", Environ: os.Environ()}
	if change != nil {
		change(&cfg)
	}
	k, err := kernel.Start(t.Context(), sup, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Stop(context.Background())) })
	return &testKernel{Kernel: k, t: t, workdir: workdir}
}

// runCell runs code as a new cell and returns all frames up to its cell_result.
func (k *testKernel) runCell(code string) []frameFields {
	k.t.Helper()
	k.sendRunCell(code)
	for frames := []frameFields{}; ; {
		f, err := k.readFrame()
		require.NoError(k.t, err)
		frames = append(frames, f)
		if f.Type == protocol.TypeCellResult {
			return frames
		}
	}
}

// sendRunCell sends a run_cell with this code for a new cell: "c1", "c2" and so on.
func (k *testKernel) sendRunCell(code string) {
	k.t.Helper()
	k.runCount++
	body, err := json.Marshal(protocol.CellCommand{Type: protocol.TypeRunCell, CellID: fmt.Sprintf("c%d", k.runCount), Code: &code})
	require.NoError(k.t, err)
	require.NoError(k.t, k.Write(body))
}

// frameFields has those fields of a frame from the kernel that tests look at.
type frameFields struct {
	Type      string  `json:"type"`
	CellID    string  `json:"cell_id"`
	Active    *string `json:"active_cell"`
	Stream    string  `json:"stream"`
	Data      string  `json:"data"`
	Status    string  `json:"status"`
	Exception string  `json:"exception"`
	Output    json.RawMessage
}

// readFrame returns the kernel's next frame. A raw text frame is converted to a kernel_stdio
// message.
func (k *testKernel) readFrame() (f frameFields, err error) {
	body, err := k.Read()
	if err != nil {
		return f, err
	}
	text, err := protocol.BodyToJSON(body)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(text, &f)
}

// streamText returns the printed text in the frames for one stream, stdout or stderr.
func streamText(frames []frameFields, stream string) string {
	var out strings.Builder
	for _, f := range frames {
		if f.Type == protocol.TypeKernelStdio && f.Stream == stream {
			out.WriteString(f.Data)
		}
	}
	return out.String()
}

func TestPK5TextWrittenToDescriptorsBelongsToTheRun(t *testing.T) {
	t.Parallel()
	k := startKernel(t, nil)
	frames := k.runCell("import os, subprocess\nos.write(1, b'one\\n')\nsubprocess.run(['sh', '-c', 'echo two; echo three >&2; printf four'])\nos.write(1, b'five')")
	require.Equal(t, "one\ntwo\nfourfive", streamText(frames, protocol.Stdout))
	require.Equal(t, "three\n", streamText(frames, protocol.Stderr))
	for _, f := range frames {
		if f.Type == protocol.TypeKernelStdio {
			require.Equal(t, "c1", *f.Active)
		}
	}
	require.Equal(t, protocol.TypeStartCell, frames[0].Type)
	require.Equal(t, "ok", frames[len(frames)-1].Status)
}

// All text that a run printed, also that of subprocesses, comes before the run's cell_result.
// What a cell prints and what its child processes write come in the order of the calls, although
// they come over different connections.
func TestPK5TextOfTheCellAndOfChildProcessesIsInOrder(t *testing.T) {
	t.Parallel()
	k := startKernel(t, nil)
	for name, write := range map[string]string{
		"subprocess":  "subprocess.run(['echo', text])",
		"os.system":   "os.system('echo ' + text)",
		"os.fork":     "child = os.fork()\n    if not child:\n        os.write(1, text.encode() + b'\\n')\n        os._exit(0)\n    os.waitpid(child, 0)",
		"posix_spawn": "os.waitpid(os.posix_spawn('/bin/echo', ['echo', text], {}), 0)",
	} {
		code := "import os, subprocess\nfor i in range(60):\n    print(2*i)\n    text = str(2*i+1)\n    " + write
		want := ""
		for i := range 120 {
			want += strconv.Itoa(i) + "\n"
		}
		require.Equal(t, want, k.stdoutOfCode(code), name)
	}
}

func TestPK5NoTextComesAfterTheResult(t *testing.T) {
	t.Parallel()
	k := startKernel(t, nil)
	for i := range 20 {
		frames := k.runCell(fmt.Sprintf("import os\nprint('p' * 1000)\nos.write(1, b'%d' * 60000)\nos.write(2, b'last')", i%10))
		require.Equal(t, 60_000, strings.Count(streamText(frames, protocol.Stdout), fmt.Sprint(i%10)))
		require.Equal(t, 1000, strings.Count(streamText(frames, protocol.Stdout), "p"))
		require.Equal(t, "last", streamText(frames, protocol.Stderr))
	}
}

func TestPK5LongTextIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	k := startKernel(t, func(cfg *kernel.Config) { cfg.MaxStdioBytes = 1 << 20 })
	frames := k.runCell("print('first')\nfor i in range(4 << 10): print('x' * 1023)\nprint('last')")
	out := streamText(frames, protocol.Stdout)
	require.True(t, strings.HasPrefix(out, "first\n"))
	require.True(t, strings.HasSuffix(out, "last\n"))
	require.Contains(t, out, "bytes of output are left out here")
	require.Less(t, len(out), 1<<20+200<<10)
	require.Equal(t, "again\n", streamText(k.runCell("print('again')"), protocol.Stdout), "the limit is for each run")
	frames = k.runCell("import os\nfor i in range(64): os.write(1, b'y' * 65536)\nos.write(1, b'last')")
	require.True(t, strings.HasSuffix(streamText(frames, protocol.Stdout), "last"), "the limit includes what is not printed by Python")
}

func TestTextBetweenRunsGoesToOutput(t *testing.T) {
	t.Parallel()
	var between bytes.Buffer
	printed := make(chan struct{})
	k := startKernel(t, func(cfg *kernel.Config) {
		cfg.Output = func(_ string, chunk []byte) {
			between.Write(chunk)
			if strings.Contains(between.String(), "late") {
				close(printed)
			}
		}
	})
	k.runCell("import subprocess\nchild = subprocess.Popen(['sh', '-c', 'read x; echo late'], stdin=subprocess.PIPE)")
	require.NoError(t, k.Write([]byte(`{"type":"execute_code","agent_tx_id":"t1","code":"child.stdin.write(b'\\n'); child.stdin.flush()"}`)))
	go func() { // until the kernel is stopped
		for err := error(nil); err == nil; _, err = k.Read() {
		}
	}()
	<-printed
	require.Equal(t, "late\n", between.String())
}

func TestPK6KernelDeathReportsItsCause(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ code, want string }{
		"exit":     {"print('words')\nimport sys; sys.stdout.flush()\nimport os; os._exit(5)", "kernel exited with status 5; it printed last: words"},
		"descript": {"import os\nos.write(2, b'gone')\nos._exit(6)", "kernel exited with status 6; it printed last: gone"},
		"segfault": {"import ctypes\nctypes.string_at(0)", "kernel was killed by SIGSEGV; it printed last: Fatal Python error: Segmentation fault"},
		"killed":   {"import os\nos.kill(os.getpid(), 9)", "kernel was killed by SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startKernel(t, nil)
			k.sendRunCell(tc.code)
			for {
				_, err := k.readFrame()
				if err == nil {
					continue
				}
				var died *subprocess.ExitError
				require.ErrorAs(t, err, &died)
				require.ErrorContains(t, err, tc.want)
				return
			}
		})
	}
}

func TestKernelGetsNoKeysOfModels(t *testing.T) {
	t.Parallel()
	k := startKernel(t, func(cfg *kernel.Config) {
		cfg.Environ = append(os.Environ(), "ANTHROPIC_API_KEY=secret", "OPENAI_API_KEY=secret", "ASSAY_TOKEN=secret", "LC_ALL=C.UTF-8", "TZ=UTC", "CONDA_PREFIX=/c", "PYTHONUNBUFFERED=no")
	})
	out := streamText(k.runCell("import os\nfor name in sorted(os.environ): print(name)\nprint(os.getcwd() == os.environ['LATCH_SANDBOX_ROOT'], os.environ['HOME'].startswith(os.getcwd()), os.environ['ASSAY_SESSION'])"), protocol.Stdout)
	for line := range strings.FieldsSeq(out) {
		require.NotContains(t, line, "KEY")
		require.NotEqual(t, "ASSAY_TOKEN", line)
	}
	require.Contains(t, out, "True True s1\n")
	for _, name := range []string{"PATH", "LC_ALL", "TZ", "CONDA_PREFIX", "DD_TRACE_ENABLED", "TMPDIR", "MPLCONFIGDIR"} {
		require.Contains(t, out, name+"\n")
	}
}

// pip in a kernel that has the network reads the user's configuration, which is not in the kernel's HOME.
func TestPipReadsTheUsersConfiguration(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, ".config", "pip", "pip.conf")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("[global]\nindex-url = http://mirror.example/simple\n"), 0o600))
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	k := startKernel(t, func(cfg *kernel.Config) { cfg.Environ = environ })
	out := streamText(k.runCell("import os\nprint(os.environ['PIP_CONFIG_FILE'])\nprint(open(os.environ['PIP_CONFIG_FILE']).read())"), protocol.Stdout)
	require.Contains(t, out, path+"\n[global]\nindex-url = ")

	closed := &sandbox.Template{Rules: sandbox.Rules{Network: sandbox.NetworkLoopback}}
	require.Empty(t, kernel.PipConfigPath(kernel.Config{Environ: environ, Sandbox: closed}), "it may have passwords, and pip is of no use")
	other := filepath.Join(home, "pip.conf")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	require.Equal(t, other, kernel.PipConfigPath(kernel.Config{Environ: append(environ, "PIP_CONFIG_FILE="+other)}))
	require.Empty(t, kernel.PipConfigPath(kernel.Config{}))
}

func TestStopOfBusyKernel(t *testing.T) {
	t.Parallel()
	k := startKernel(t, nil)
	k.sendRunCell("print('on', flush=True)\nwhile True: pass")
	for f := (frameFields{}); f.Data != "on\n"; {
		var err error
		f, err = k.readFrame()
		require.NoError(t, err)
	}
	began := time.Now()
	require.NoError(t, k.Stop(t.Context()))
	require.Less(t, time.Since(began), subprocess.StopGrace, "it ends when its socket closes, not by SIGKILL")
	require.ErrorIs(t, syscall.Kill(k.PID(), 0), syscall.ESRCH)
	_, err := k.Read()
	require.ErrorIs(t, err, protocol.ErrClosed)
}

// An interpreter that says nothing is given up, with everything that it has started.
func TestInterpreterThatHangs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	script := filepath.Join(t.TempDir(), "python")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nsleep 1000\n"), 0o700))
	_, err := kernel.FindExecutable(t.Context(), script)
	require.ErrorContains(t, err, "does not run: it has not ended within 30s")
}

func TestResolvePython(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	python, err := kernel.ResolvePython(t.Context(), "python3", dir)
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(python.Executable))
	require.Regexp(t, `^3\.\d+\.\d+$`, python.Version)
	compiled, err := filepath.Glob(filepath.Join(dir, "kernel", "assay", "__pycache__", "*.pyc"))
	require.NoError(t, err)
	require.NotEmpty(t, compiled, "no start has to compile")
	_, err = kernel.ResolvePython(t.Context(), "false", t.TempDir())
	require.ErrorContains(t, err, "the interpreter false cannot be started: exit status 1")
}

// A cell that is stopped while it is queued gets its start_cell and cell_result in the middle
// of another cell's run. That run still gets all its own text.
func TestStoppedQueuedCellTakesNoText(t *testing.T) {
	t.Parallel()
	k := startKernel(t, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(k.workdir, "go"), 0o600))
	k.sendRunCell("import subprocess\nsubprocess.run('echo one; read x < go; echo two', shell=True)\nprint('three')")
	k.sendRunCell("print('never')")
	require.NoError(t, k.Write([]byte(`{"type":"stop_cell","cell_id":"c2"}`)))
	var frames []frameFields
	for {
		f, err := k.readFrame()
		require.NoError(t, err)
		frames = append(frames, f)
		if f.Type == protocol.TypeCellResult && f.CellID == "c2" {
			require.Equal(t, protocol.StatusInterrupted, f.Status)
			require.NoError(t, os.WriteFile(filepath.Join(k.workdir, "go"), []byte("\n"), 0o600))
		}
		if f.Type == protocol.TypeCellResult && f.CellID == "c1" {
			break
		}
	}
	require.Contains(t, streamText(frames, protocol.Stdout), "one\n")
	require.Contains(t, streamText(frames, protocol.Stdout), "two\n")
	require.Contains(t, streamText(frames, protocol.Stdout), "three\n")
}

// Processes that a cell forks, and their forks, send nothing to the kernel's socket.
func TestForksOfACellDoNotWriteToTheSocket(t *testing.T) {
	t.Parallel()
	k := startKernel(t, nil)
	frames := k.runCell(strings.Join([]string{
		"import os",
		"if os.fork() == 0:",
		"    if os.fork() == 0: os._exit(0)",
		"    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))",
		"print(os.wait()[1])",
	}, "\n"))
	require.Equal(t, "0\n", streamText(frames, protocol.Stdout))
	require.Empty(t, streamText(frames, protocol.Stderr))
}
