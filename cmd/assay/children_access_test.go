package main

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// requestPage is Python for a cell that requests a page at ADDRESS and prints whether it was answered.
const requestPage = `
import urllib.request, urllib.error
try:
    print('LEAK', urllib.request.urlopen('ADDRESS' + '/healthz', timeout=60).read())
except urllib.error.HTTPError as error:
    print('REFUSED', error.code)
except OSError as error:
    print('REFUSED', type(error).__name__)
`

// With --ui and --network on, code in a kernel that knows the address of the page is refused there, and the
// attempt counts it as tamper. The address reaches the cell through a file that a test writes after the
// start.
func TestRunUI_RefusesCodeOfTheKernel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "address")
	require.NoError(t, exec.CommandContext(t.Context(), "mkfifo", pipe).Run())
	program := strings.ReplaceAll(requestPage, "'ADDRESS'", "open('"+pipe+"').read()")
	file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "a", "task": "t", "oracle": {"cells": [`+quoteJSON(t, program)+`], "answer": 1}, "graders": [{"type": "exact", "config": {"ground_truth": 1}}]}`)
	out := filepath.Join(dir, "run")
	cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", "oracle", "--network", "on", "--sandbox-read", pipe, "--ui=127.0.0.1:0", "--out", out)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	address := ""
	for address == "" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		if _, rest, ok := strings.Cut(line, "shown at "); ok {
			page, err := url.Parse(strings.Fields(rest)[0])
			require.NoError(t, err)
			address = page.Scheme + "://" + page.Host
		}
	}
	require.NoError(t, os.WriteFile(pipe, []byte(address), 0o600))                      // the cell waits for it
	for _, err := lines.ReadString('\n'); err == nil; _, err = lines.ReadString('\n') { //nolint:revive // reads to the end
	}
	require.NoError(t, cmd.Wait(), "the answer is right")
	attempts := readAttempts(t, out)
	require.Len(t, attempts, 1)
	require.Equal(t, runs.OutcomeCompleted, attempts[0].Outcome, attempts[0].Detail)
	require.Positive(t, attempts[0].TamperSignals)
	recorded, err := os.ReadFile(filepath.Join(out, attempts[0].Trace))
	require.NoError(t, err)
	require.Contains(t, string(recorded), "REFUSED")
	require.NotContains(t, string(recorded), "LEAK b")
	require.Contains(t, string(recorded), `"type":"forbidden"`)
}

// requestsOfChild is Python that sends a request of each kind to the server at URL, with TOKEN, and
// prints a line for each.
const requestsOfChild = `
import socket
from urllib.parse import urlsplit
host = urlsplit('URL').hostname, urlsplit('URL').port
upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
post = f'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n'
for name, request in {
    'agent socket': 'GET /agent?token=TOKEN HTTP/1.1\r\n' + upgrade,
    'run socket': 'GET /run?token=TOKEN HTTP/1.1\r\n' + upgrade,
    'tools': 'POST /mcp?token=TOKEN HTTP/1.1\r\n' + post,
    'metrics': 'GET /metrics?token=TOKEN HTTP/1.1\r\n',
}.items():
    answer = b''
    try:
        with socket.create_connection(host, 60) as connection:
            connection.sendall((request + f'Host: localhost:{host[1]}\r\nAuthorization: Bearer TOKEN\r\n\r\n' + (body if 'POST' in request else '')).encode())
            answer = connection.recv(4096)
    except OSError as error:
        print(name, type(error).__name__)
    status = answer.split(b'\r\n')[0].decode()
    print('LEAK' if status and ' 403' not in status else 'REFUSED', name, status)
print('END')
`

// Code in a kernel can neither open the WebSockets of the server nor use its tools nor read its metrics,
// although it has the token. Each of them is answered to a process that is not of the session.
func TestServe_RefusesEveryRequestOfChildren(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{token: testToken, args: []string{"--network", "on"}})
	program := strings.NewReplacer("URL", s.url, "TOKEN", s.token).Replace(requestsOfChild)
	outside, err := exec.CommandContext(t.Context(), "python3", "-c", program).CombinedOutput()
	require.NoError(t, err, string(outside))
	require.Contains(t, string(outside), "LEAK agent socket HTTP/1.1 101")
	require.Contains(t, string(outside), "LEAK run socket HTTP/1.1 101")
	require.Contains(t, string(outside), "LEAK metrics HTTP/1.1 200")

	c := s.connectView(t, "default")
	c.runNewCell(t, 0, program)
	c.agent.awaitItem(t, "the end of the code", hasTypeAndText("kernel_stdio", "END"))
	printed := ""
	awaitCondition(t, "the trace file does not have the end", func() bool {
		_, printed = s.get(t, "/api/sessions/default/trace?type=kernel_stdio&token="+s.token)
		return strings.Contains(printed, "END")
	})
	require.Equal(t, 4, strings.Count(printed, "REFUSED"), printed)
	require.NotContains(t, printed, "LEAK")
	_, forbidden := s.get(t, "/api/sessions/default/trace?type=forbidden&token="+s.token)
	require.Equal(t, 4, strings.Count(forbidden, `"note":"tamper"`), forbidden)
	s.stop(t)
}
