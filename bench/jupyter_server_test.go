//go:build bench

package bench_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// jupyterServer is a running Jupyter server, started by jupyter.py.
type jupyterServer struct {
	address string // host:port
	client  *http.Client
}

// newJupyterServer starts a Jupyter server until the test ends.
func newJupyterServer(t *testing.T) jupyterServer {
	t.Helper()
	_, out, problem := startJupyterScript(t, "server")
	port, err := out.ReadString('\n')
	if err != nil {
		require.NoError(t, err, "%s", problem)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return jupyterServer{"127.0.0.1:" + strings.TrimSpace(port), &http.Client{Transport: transport}}
}

// callAPI sends a request to path below /api/kernels, decodes the response into answer if
// that is not nil, and returns the HTTP status.
func (s jupyterServer) callAPI(t *testing.T, method, path string, answer any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+"/api/kernels"+path, nil)
	require.NoError(t, err)
	response, err := s.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	if answer != nil {
		require.NoError(t, json.NewDecoder(response.Body).Decode(answer))
	}
	return response.StatusCode
}

// jupyterServerKernel is an ipykernel behind a Jupyter server, with a WebSocket to its
// channels.
type jupyterServerKernel struct {
	t            *testing.T
	server       jupyterServer
	id           string
	conn         protocol.Conn
	requestCount int
}

// startKernel starts a kernel through the REST API and connects to it, as Jupyter's page
// does.
func (s jupyterServer) startKernel(t *testing.T) *jupyterServerKernel {
	t.Helper()
	var kernel struct{ ID string }
	require.Equal(t, http.StatusCreated, s.callAPI(t, http.MethodPost, "", &kernel))
	return &jupyterServerKernel{t: t, server: s, id: kernel.ID, conn: dialConsole(t, s.address+"/api/kernels/"+kernel.ID+"/channels")}
}

// stop shuts the kernel down. It repeats the request every 100 ms while the server
// answers with status 500, which it does while it restarts the kernel.
func (k *jupyterServerKernel) stop() {
	k.t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for k.server.callAPI(k.t, http.MethodDelete, "/"+k.id, nil) == http.StatusInternalServerError {
		<-again.C
	}
	_ = k.conn.Close(protocol.CloseNormal, "")
}

// jupyterMessage holds the fields of a Jupyter message that the measurements need.
type jupyterMessage struct {
	Header struct {
		Type string `json:"msg_type"`
	}
	Parent struct {
		ID string `json:"msg_id"`
	} `json:"parent_header"`
	Content struct {
		State  string `json:"execution_state"`
		Status string // of an execute_reply
		Text   string
	}
}

// newestRequestID returns the message id of the newest execute_request.
func (k *jupyterServerKernel) newestRequestID() string { return fmt.Sprintf("r%d", k.requestCount) }

// startCell sends an execute_request for code and returns the time just before it was
// sent.
func (k *jupyterServerKernel) startCell(code string) time.Time {
	k.t.Helper()
	quoted, err := json.Marshal(code)
	require.NoError(k.t, err)
	k.requestCount++
	began := time.Now()
	require.NoError(k.t, k.conn.Write(fmt.Appendf(nil,
		`{"channel":"shell","header":{"msg_id":%q,"msg_type":"execute_request","username":"","session":"bench","version":"5.3"},`+
			`"parent_header":{},"metadata":{},"content":{"code":%s,"silent":false,"store_history":true,"user_expressions":{},`+
			`"allow_stdin":false,"stop_on_error":false}}`, k.newestRequestID(), quoted)))
	return began
}

// readUntil reads messages until one belongs to the newest request and matches wanted.
func (k *jupyterServerKernel) readUntil(wanted func(m jupyterMessage) bool) {
	k.t.Helper()
	for {
		frame, err := k.conn.Read()
		require.NoError(k.t, err)
		var m jupyterMessage
		require.NoError(k.t, json.Unmarshal(frame, &m))
		if m.Parent.ID == k.newestRequestID() && wanted(m) {
			return
		}
	}
}

// awaitResult waits for the newest request's reply, which must have this status, and for
// the status idle. It returns how many bytes of text arrived meanwhile.
func (k *jupyterServerKernel) awaitResult(status string) (size int) {
	k.t.Helper()
	var replied, idle bool
	k.readUntil(func(m jupyterMessage) bool {
		switch {
		case isStreamMessage(m):
			size += len(m.Content.Text)
		case m.Header.Type == "execute_reply":
			require.Equal(k.t, status, m.Content.Status)
			replied = true
		case m.Header.Type == "status" && m.Content.State == "idle":
			idle = true
		}
		return replied && idle
	})
	return size
}

// isStreamMessage reports whether m is printed text.
func isStreamMessage(m jupyterMessage) bool { return m.Header.Type == "stream" }

// timeToResult is that of cellRunner.
func (k *jupyterServerKernel) timeToResult(code string) time.Duration {
	k.t.Helper()
	took, _ := k.timePrintedText(code)
	return took
}

// timePrintedText runs code and returns how long it took and how many bytes of text
// arrived.
func (k *jupyterServerKernel) timePrintedText(code string) (took time.Duration, size int) {
	k.t.Helper()
	began := k.startCell(code)
	size = k.awaitResult("ok")
	return time.Since(began), size
}

// timeToFirstText is that of cellRunner.
func (k *jupyterServerKernel) timeToFirstText(code string) time.Duration {
	k.t.Helper()
	began := k.startCell(code)
	k.readUntil(isStreamMessage)
	took := time.Since(began)
	k.awaitResult("ok")
	return took
}

// timeToInterrupt is that of cellRunner.
func (k *jupyterServerKernel) timeToInterrupt(code string) time.Duration {
	k.t.Helper()
	k.startCell(code)
	k.readUntil(isStreamMessage)
	began := time.Now()
	require.Equal(k.t, http.StatusNoContent, k.server.callAPI(k.t, http.MethodPost, "/"+k.id+"/interrupt", nil))
	k.awaitResult("error")
	return time.Since(began)
}
