//go:build bench

package bench_test

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// debianPython is the interpreter that Debian's python3-websockets is for.
const debianPython = "/usr/bin/python3"

// plain is what the plain server's get_context took: p50, p99, ratio, spread.
type plain struct{ idle, behind []string }

// measureBaseline measures baseline.py, where the interpreter can run it.
func measureBaseline(t *testing.T) plain {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), debianPython, "-c", "import websockets").CombinedOutput(); err != nil {
		t.Logf("no plain server: %v: %s", err, out)
		missing := []string{"not measured: " + debianPython + " has no websockets", "", "", ""}
		return plain{missing, missing}
	}
	l := &line{agent: toBaseline(t), frame: contextFrame()}
	all := ask(t, []*line{l}, 200)
	all() // warms up
	idle := all()
	t.Logf("plain server: %s; now waiting %v for its kernel", show(median(idle)), busyFor)
	require.NoError(t, l.agent.Write([]byte(`{"type":"agent_action","action":"request_globals_summary","tx_id":"busy"}`)))
	behind := ask(t, []*line{l}, 1)()[0]
	t.Logf("plain server behind its kernel: %s", show(behind))
	return plain{
		idle:   []string{show(median(idle)), show(percentile(idle, 99)), "", ""},
		behind: []string{show(behind), "one measured", fmt.Sprintf("%.0f x", float64(behind)/float64(median(idle))), ""},
	}
}

// toBaseline starts the plain server and connects to it as an agent.
func toBaseline(t *testing.T) protocol.Conn {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), debianPython, "baseline.py", "serve", fmt.Sprint(busyFor.Seconds()))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // it ends at that
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	socket, answer, err := websocket.Dial(t.Context(), "ws://127.0.0.1:"+strings.TrimSpace(port), nil)
	require.NoError(t, err)
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	conn := protocol.NewWebSocket(context.Background(), socket, 0)
	t.Cleanup(func() { _ = conn.Close(protocol.CloseNormal, "") })
	return conn
}
