package jupyter_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
)

// readTextToEnd reads frames until the adapter closes the connection, and returns the printed text
// in them.
func (k *testKernel) readTextToEnd() string {
	k.t.Helper()
	var out strings.Builder
	for {
		body, err := k.Read()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		require.NoError(k.t, err)
		if raw, err := protocol.ParseRawFrame(body); err == nil {
			out.Write(raw.Text)
		}
	}
}

// If the kernel exits or is killed by a signal, the adapter process ends with the same status
// or signal.
func TestPK6AdapterEndsLikeTheKernel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code   string
		signal syscall.Signal
		status int
		line   string
	}{
		"exit":    {code: "os._exit(7)", status: 7, line: "the Jupyter kernel python3 exited with status 7\n"},
		"SIGKILL": {code: "os.kill(os.getpid(), 9)", signal: syscall.SIGKILL, line: "the Jupyter kernel python3 was killed by SIGKILL\n"},
		"SIGSEGV": {code: "import ctypes; ctypes.string_at(0)", signal: syscall.SIGSEGV, line: "the Jupyter kernel python3 was killed by SIGSEGV\n"},
		"SIGTERM": {code: "os.kill(os.getpid(), 15)", signal: syscall.SIGTERM, line: "the Jupyter kernel python3 was killed by SIGTERM\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startPythonKernel(t)
			k.sendCell("import os, sys, time\nprint('last words')\nsys.stdout.flush(); time.sleep(0.5)\n" + c.code)
			require.Equal(t, "last words\n", k.readTextToEnd())
			status := k.awaitExit()
			if c.signal != 0 {
				require.True(t, status.Signaled(), "%v %s", status, k.printedText())
				require.Equal(t, c.signal, status.Signal())
			} else {
				require.Equal(t, c.status, status.ExitStatus(), k.printedText())
			}
			require.True(t, strings.HasSuffix(k.printedText(), c.line), k.printedText())
			require.Contains(t, k.printedText(), "last words\n")
			require.Empty(t, must(os.ReadDir(k.tempDir())))
		})
	}
}

// If the server closes its socket, kernel and adapter end within 2 s, and the adapter leaves no
// temporary file.
func TestKernelEndsWithTheServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"python3", "ir"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startKernel(t, installedSpec(t, name).Path)
			k.sendCell("Sys_sleep_or_error <- 1")
			began := time.Now()
			require.NoError(t, k.Close(protocol.CloseGoingAway, ""))
			require.Equal(t, 0, k.awaitExit().ExitStatus(), k.printedText())
			require.Less(t, time.Since(began), 2*time.Second)
			require.ErrorIs(t, syscall.Kill(k.ready.PID, 0), syscall.ESRCH)
			for _, left := range must(os.ReadDir(k.tempDir())) {
				// On a busy machine R is killed before it has removed its own folder.
				require.Regexp(t, "^Rtmp", left.Name())
			}
		})
	}
}

// SIGTERM to the adapter ends a kernel within 2 s, even if it runs code and ignores SIGTERM.
func TestBusyKernelEndsWithTheServer(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.runBusyCell("open(FIFO, 'w').write('x')\nimport signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass")
	began := time.Now()
	require.NoError(t, k.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, k.awaitExit().ExitStatus(), k.printedText())
	require.Less(t, time.Since(began), 2*time.Second)
	require.ErrorIs(t, syscall.Kill(k.ready.PID, 0), syscall.ESRCH)
}

// If the server closes its socket while the kernel starts, the adapter ends with status 0 and
// leaves no files.
func TestServerClosesDuringStart(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"kernel":  `{"argv": ["` + installedSpec(t, "python3").Executable + `", "-m", "ipykernel_launcher", "-f", "{connection_file}"]}`,
		"nothing": `{"argv": ["sleep", "1000"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := spawnAdapter(t, writeKernelJSON(t, content), t.TempDir())
			require.NoError(t, k.Close(protocol.CloseGoingAway, ""))
			require.Equal(t, 0, k.awaitExit().ExitStatus(), k.printedText())
			require.Empty(t, must(os.ReadDir(k.tempDir())))
		})
	}
}

// If the server closes its socket while the kernel is restarted, the adapter ends with status
// 0 and leaves no files.
func TestServerClosesDuringReset(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.sendMessage(protocol.TypeResetGlobals, nil)
	k.sendMessage("ping", nil)
	k.awaitFrame("pong")
	require.NoError(t, k.Close(protocol.CloseGoingAway, ""))
	require.Equal(t, 0, k.awaitExit().ExitStatus(), k.printedText())
	require.Empty(t, must(os.ReadDir(k.tempDir())))
}

// If the kernel cannot be restarted for a reset of globals, the adapter exits with the
// kernel's status.
func TestFailedRestartEndsTheAdapter(t *testing.T) {
	t.Parallel()
	script := "mkdir once || exit 4; exec " + installedSpec(t, "python3").Executable + ` -m ipykernel_launcher -f "$0"`
	spec := must(json.Marshal(map[string]any{"argv": []string{"sh", "-c", script, "{connection_file}"}}))
	k := startKernel(t, writeKernelJSON(t, string(spec)))
	k.sendMessage(protocol.TypeResetGlobals, nil)
	k.readTextToEnd()
	require.Equal(t, 4, k.awaitExit().ExitStatus(), k.printedText())
	require.Empty(t, must(os.ReadDir(k.tempDir())))
}

// If the kernel exits while it starts, the adapter prints its text and exits with its status.
func TestFailedStartEndsTheAdapter(t *testing.T) {
	t.Parallel()
	k := spawnAdapter(t, writeKernelJSON(t, `{"argv": ["sh", "-c", "echo what is wrong >&2; exit 4"]}`), t.TempDir())
	require.Empty(t, k.readTextToEnd())
	require.Equal(t, 4, k.awaitExit().ExitStatus())
	require.Contains(t, k.printedText(), "what is wrong\n")
	require.True(t, strings.HasSuffix(k.printedText(), "the Jupyter kernel made exited with status 4\n"), k.printedText())
}

// A kernel that exits if its connection file asks for Unix sockets is started again with TCP ports.
func TestKernelWithoutUnixSocketsUsesTCP(t *testing.T) {
	t.Parallel()
	python := installedSpec(t, "python3").Executable
	script := `grep -q '"transport":"ipc"' "$0" && { echo no ipc here >&2; exit 1; }; exec ` + python + ` -m ipykernel_launcher -f "$0"`
	spec := must(json.Marshal(map[string]any{"argv": []string{"sh", "-c", script, "{connection_file}"}}))
	k := startKernel(t, writeKernelJSON(t, string(spec)))
	require.Contains(t, k.printedText(), "no ipc here\n")
	require.Contains(t, k.printedText(), "the Jupyter kernel made exited with status 1 before it could be used")
	require.Equal(t, "2", cellOutputs(k.runCell("1 + 1"))[0].textOfMIMEType("text/plain"))
}

// A kernel also starts if its folder's path is longer than the 107 bytes that a Unix socket's
// path may have.
func TestKernelStartsInFolderWithLongPath(t *testing.T) {
	t.Parallel()
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	for _, name := range []string{"python3", "ir"} {
		k := spawnAdapter(t, installedSpec(t, name).Path, filepath.Join(deep, name))
		k.awaitReady()
		require.Equal(t, protocol.StatusOK, lastFrame(k.runCell("1 + 1")).Status)
	}
}

func TestKernelspecEnvironment(t *testing.T) {
	t.Parallel()
	python := installedSpec(t, "python3").Executable
	k := startKernel(t, writeKernelJSON(t, `{"argv": ["`+python+`", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
		"env": {"PLAIN": "a", "FROM": "<${TMPDIR}>", "NONE": "${no_such}", "DIR": "{resource_dir}"}}`))
	frames := k.runCell("import os; print(*(os.environ[n] for n in ('PLAIN', 'FROM', 'NONE')))")
	require.Equal(t, "a <"+k.tempDir()+"> ${no_such}\n", streamText(t, frames, protocol.Stdout))
}

func TestTextBetweenRunsGoesToStderr(t *testing.T) {
	t.Parallel()
	k := startRKernel(t)
	for _, name := range []string{"fifo", "finished"} {
		require.NoError(t, unix.Mkfifo(filepath.Join(k.workdir, name), 0o600))
	}
	k.runCell("system('(read x < fifo; echo orphan; echo done > finished)', wait = FALSE)")
	require.NoError(t, os.WriteFile(filepath.Join(k.workdir, "fifo"), []byte("go\n"), 0o600))
	require.Equal(t, "done\n", string(must(os.ReadFile(filepath.Join(k.workdir, "finished")))))
	require.NoError(t, k.Close(protocol.CloseGoingAway, ""))
	k.awaitExit()
	require.Contains(t, k.printedText(), "orphan\n")
}

// must returns value. It panics if err is not nil, which happens only on a broken machine.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
