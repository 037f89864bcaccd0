//go:build bench

package bench_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// debianPython is the interpreter that Debian's python3-websockets is for.
const debianPython = "/usr/bin/python3"

// plain is what the plain server's get_context took: p50, p99, ratio, spread.
type plain struct{ idle, behind []string }

// measureBaseline measures asyncio_server.py, where the interpreter can run it.
func measureBaseline(t *testing.T) plain {
	t.Helper()
	server, missing := startBaseline(t)
	if missing != "" {
		return plain{[]string{missing, "", "", ""}, []string{missing, "", "", ""}}
	}
	l := &line{asker: dial(t, server.at), frame: contextFrame()}
	all := ask(t, []*line{l}, 200)
	all() // warms up
	idle := all()
	t.Logf("plain server: %s; now waiting %v for its kernel", show(median(idle)), busyFor)
	require.NoError(t, l.asker.Write([]byte(`{"type":"agent_action","action":"request_globals_summary","tx_id":"busy"}`)))
	behind := ask(t, []*line{l}, 1)()[0]
	t.Logf("plain server behind its kernel: %s", show(behind))
	return plain{
		idle:   []string{show(median(idle)), show(percentile(idle, 99)), "", ""},
		behind: []string{show(behind), "one measured", fmt.Sprintf("%.0f x", float64(behind)/float64(median(idle))), ""},
	}
}

// baseline is the plain server.
type baseline struct {
	at     string // host and port
	agents string // the Unix socket for agents
	pid    int
}

// startBaseline starts the plain server, or says why it cannot be measured.
func startBaseline(t *testing.T) (server baseline, missing string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), debianPython, "-c", "import websockets").CombinedOutput(); err != nil {
		t.Logf("no plain server: %v: %s", err, out)
		return baseline{}, "not measured: " + debianPython + " has no websockets"
	}
	server.agents = filepath.Join(t.TempDir(), "agents.sock")
	cmd := exec.CommandContext(t.Context(), debianPython, "asyncio_server.py", "serve", fmt.Sprint(busyFor.Seconds()), server.agents)
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
	server.at, server.pid = "127.0.0.1:"+strings.TrimSpace(port), cmd.Process.Pid
	return server, ""
}

// cpu is the processor time that the server has used, in ticks of 10 ms; 0 when
// that cannot be read.
func (b baseline) cpu() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// ends returns a console and an agent of a session.
func (b baseline) ends(t *testing.T, session int) ends {
	t.Helper()
	socket, err := net.Dial("unix", b.agents)
	require.NoError(t, err)
	agent := protocol.NewStream(socket, 0)
	t.Cleanup(func() { _ = agent.Close(protocol.CloseNormal, "") })
	require.NoError(t, agent.Write(fmt.Appendf(nil, `{"type":"ready","session":"%d"}`, session)))
	console := dial(t, fmt.Sprintf("%s/agent?session=%d", b.at, session))
	require.NoError(t, console.Write([]byte(holderHello)))
	_, err = console.Read()
	require.NoError(t, err)
	return ends{console, agent}
}
