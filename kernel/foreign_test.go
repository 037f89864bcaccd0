package kernel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/kernel"
)

// originalKernel is a kernel with the frames of the original protocol: no run_sequencer, no status, and
// a SIGINT as the only interrupt. It executes a cell's code with exec.
const originalKernel = `
import io, json, queue, socket, sys, threading, traceback

sock = socket.socket(fileno=int(sys.argv[-1]))

def send(**message):
    body = json.dumps(message).encode()
    sock.sendall(len(body).to_bytes(8, "little", signed=True) + body)

def read(size):
    data = b""
    while len(data) < size:
        chunk = sock.recv(size - len(data))
        if not chunk:
            inbox.put(None)
            sys.exit()
        data += chunk
    return data

def receive():
    while True:
        inbox.put(json.loads(read(int.from_bytes(read(8), "little", signed=True))))

inbox, names = queue.Queue(), {}
send(type="ready")
threading.Thread(target=receive, daemon=True).start()
while (message := inbox.get()) is not None:
    if message["type"] == "run_cell":
        cell = message["cell_id"]
        send(type="start_cell", cell_id=cell)
        exception = None
        try:
            exec(message["code"], names)
        except BaseException:
            exception = traceback.format_exc()
        send(type="cell_output", cell_id=cell, output={"output_type": "display_data", "data": {"text/plain": "out"}, "metadata": {}})
        send(type="cell_result", cell_id=cell, has_exception=exception is not None, exception=exception)
        send(type="start_cell", cell_id=None)
        send(type="globals_summary", summary={"names": len(names)})
`

// startOriginalKernel starts a kernel with the frames of the original protocol.
func startOriginalKernel(t *testing.T) *testKernel {
	t.Helper()
	program := filepath.Join(t.TempDir(), "kernel.py")
	require.NoError(t, os.WriteFile(program, []byte(originalKernel), 0o600))
	return startKernel(t, func(cfg *kernel.Config) {
		cfg.Python, cfg.Command = nil, []string{"python3", "-u", program}
	})
}

// readUntilIdle returns the kernel's frames, as JSON, up to the one that says it is idle.
func (k *testKernel) readUntilIdle() (frames []string) {
	k.t.Helper()
	for {
		frame, err := k.Read()
		require.NoError(k.t, err)
		frames = append(frames, string(frame))
		if strings.Contains(string(frame), `"cell_id":null`) {
			return frames
		}
	}
}

// What the frames of a kernel of the original protocol leave out is filled in from what is known.
func TestFramesOfAnOriginalKernelAreCompleted(t *testing.T) {
	t.Parallel()
	k := startOriginalKernel(t)
	for i, c := range []struct{ code, result string }{
		{"x = 1", `"status":"ok","cell_id":"c","has_exception":false,"exception":null`},
		{"1 / 0", `"status":"error","cell_id":"c","has_exception":true,"exception":"Traceback`},
	} {
		require.NoError(t, k.Write([]byte(`{"type":"run_cell","cell_id":"c","code":"`+c.code+`"}`)))
		frames := k.readUntilIdle()
		require.Len(t, frames, 4)
		number := string(rune('1' + i))
		for j, begin := range []string{
			`{"type":"start_cell","run_sequencer":` + number + `,"cell_id":"c"}`,
			`{"type":"cell_output","run_sequencer":` + number + `,"cell_id":"c","output":`,
			`{"type":"cell_result","run_sequencer":` + number + `,` + c.result,
			`{"type":"start_cell","run_sequencer":` + number + `,"cell_id":null}`,
		} {
			require.Contains(t, frames[j], begin)
		}
		_, err := k.Read() // the summary
		require.NoError(t, err)
	}
}

// A stop reaches a kernel that knows no stop_cell as a SIGINT. The kernel survives with its state.
func TestStopOfAnOriginalKernel(t *testing.T) {
	t.Parallel()
	k := startOriginalKernel(t)
	require.NoError(t, k.Write([]byte(`{"type":"run_cell","cell_id":"c","code":"x = 41\nopen('begun', 'w').close()\nwhile True: pass"}`)))
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(k.workdir, "begun"))
		return err == nil
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, k.Write([]byte(`{"type":"stop_cell","cell_id":"c"}`)))
	frames := strings.Join(k.readUntilIdle(), "\n")
	require.Contains(t, frames, `"type":"cell_result","run_sequencer":1,"status":"interrupted"`)
	_, err := k.Read()
	require.NoError(t, err)
	require.NoError(t, k.Write([]byte(`{"type":"run_cell","cell_id":"d","code":"assert x == 41"}`)))
	require.Contains(t, strings.Join(k.readUntilIdle(), "\n"), `"type":"cell_result","run_sequencer":2,"status":"ok"`)
	require.Equal(t, protocol.Ready{Type: "ready"}, k.ReadyMessage)
}
