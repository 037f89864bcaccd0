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

// jupyterServer is Jupyter's server, run by jupyter.py.
type jupyterServer struct {
	at     string // host and port
	client *http.Client
}

func newJupyterServer(t *testing.T) jupyterServer {
	t.Helper()
	_, out, problem := startJupyter(t, "server")
	port, err := out.ReadString('\n')
	if err != nil {
		require.NoError(t, err, "%s", problem)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return jupyterServer{"127.0.0.1:" + strings.TrimSpace(port), &http.Client{Transport: transport}}
}

// call makes a request to its API, and returns the answer's status.
func (s jupyterServer) call(t *testing.T, method, path string, answer any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.at+"/api/kernels"+path, nil)
	require.NoError(t, err)
	response, err := s.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	if answer != nil {
		require.NoError(t, json.NewDecoder(response.Body).Decode(answer))
	}
	return response.StatusCode
}

// webKernel is an ipykernel behind a jupyterServer, and the WebSocket to it.
type webKernel struct {
	t      *testing.T
	server jupyterServer
	id     string
	conn   protocol.Conn
	n      int
}

// start starts a kernel as a page does.
func (s jupyterServer) start(t *testing.T) *webKernel {
	t.Helper()
	var kernel struct{ ID string }
	require.Equal(t, http.StatusCreated, s.call(t, http.MethodPost, "", &kernel))
	return &webKernel{t: t, server: s, id: kernel.ID, conn: dial(t, s.at+"/api/kernels/"+kernel.ID+"/channels")}
}

// stop ends the kernel, which the server refuses while it starts it again.
func (k *webKernel) stop() {
	k.t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for k.server.call(k.t, http.MethodDelete, "/"+k.id, nil) == http.StatusInternalServerError {
		<-again.C
	}
	_ = k.conn.Close(protocol.CloseNormal, "")
}

// webMessage is what is looked at of a message.
type webMessage struct {
	Header struct {
		Type string `json:"msg_type"`
	}
	Parent struct {
		ID string `json:"msg_id"`
	} `json:"parent_header"`
	Content struct {
		State  string `json:"execution_state"`
		Status string // of a reply
		Text   string
	}
}

// request is the id of the newest request.
func (k *webKernel) request() string { return fmt.Sprintf("r%d", k.n) }

// begin asks for the run of code, at the time that it returns.
func (k *webKernel) begin(code string) time.Time {
	k.t.Helper()
	quoted, err := json.Marshal(code)
	require.NoError(k.t, err)
	k.n++
	began := time.Now()
	require.NoError(k.t, k.conn.Write(fmt.Appendf(nil,
		`{"channel":"shell","header":{"msg_id":%q,"msg_type":"execute_request","username":"","session":"bench","version":"5.3"},`+
			`"parent_header":{},"metadata":{},"content":{"code":%s,"silent":false,"store_history":true,"user_expressions":{},`+
			`"allow_stdin":false,"stop_on_error":false}}`, k.request(), quoted)))
	return began
}

// until reads up to what is wanted of the newest request.
func (k *webKernel) until(wanted func(m webMessage) bool) {
	k.t.Helper()
	for {
		frame, err := k.conn.Read()
		require.NoError(k.t, err)
		var m webMessage
		require.NoError(k.t, json.Unmarshal(frame, &m))
		if m.Parent.ID == k.request() && wanted(m) {
			return
		}
	}
}

// result waits for reply and idleness, and counts the bytes of text on the way.
func (k *webKernel) result(status string) (size int) {
	k.t.Helper()
	var replied, idle bool
	k.until(func(m webMessage) bool {
		switch {
		case isText(m):
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

func isText(m webMessage) bool { return m.Header.Type == "stream" }

func (k *webKernel) run(code string) time.Duration {
	k.t.Helper()
	took, _ := k.text(code)
	return took
}

func (k *webKernel) text(code string) (took time.Duration, size int) {
	k.t.Helper()
	began := k.begin(code)
	size = k.result("ok")
	return time.Since(began), size
}

func (k *webKernel) first(code string) time.Duration {
	k.t.Helper()
	began := k.begin(code)
	k.until(isText)
	took := time.Since(began)
	k.result("ok")
	return took
}

func (k *webKernel) interrupt(code string) time.Duration {
	k.t.Helper()
	k.begin(code)
	k.until(isText)
	began := time.Now()
	require.Equal(k.t, http.StatusNoContent, k.server.call(k.t, http.MethodPost, "/"+k.id+"/interrupt", nil))
	k.result("error")
	return time.Since(began)
}
