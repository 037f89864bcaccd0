package agenttest

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/kernel/python"
)

// StartPythonKernel starts a real Python kernel, which ends with the test.
func StartPythonKernel(t *testing.T) protocol.Conn {
	t.Helper()
	program, err := python.UnpackSources(t.TempDir())
	require.NoError(t, err)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	// Not the test's context, which ends before the cleanup that lets the kernel exit by itself.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "python3", "-u", program, "3")
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	end, err := net.FileConn(ours)
	require.NoError(t, err)
	require.NoError(t, ours.Close())
	conn := protocol.NewStream(end, 0)
	t.Cleanup(func() {
		require.NoError(t, conn.Close(protocol.CloseNormal, ""))
		require.NoError(t, cmd.Wait())
	})
	ready, err := json.Marshal(protocol.NewKernelInit(cmd.Process.Pid))
	require.NoError(t, err)
	require.NoError(t, conn.Write(ready))
	return conn
}

// AttachKernel lets a real kernel answer execute_code, stop_cell and
// request_globals_summary. It closes the connection with the test.
func (s *Server) AttachKernel(kernel protocol.Conn) {
	s.T.Helper()
	var reading sync.WaitGroup
	reading.Go(func() { s.relayKernelResponses(kernel) })
	s.T.Cleanup(func() {
		require.NoError(s.T, kernel.Close(protocol.CloseNormal, ""))
		reading.Wait()
	})
	s.SetActionHook(func(action string, params Frame, txID string) bool {
		request := Frame{"type": strings.TrimPrefix(action, "request_"), "agent_tx_id": txID}
		switch action {
		case "execute_code":
			request["code"] = params["code"]
			if session, ok := params["session"]; ok {
				request["session"] = session
			}
		case "stop_cell":
			request["agent_tx_id"] = params["agent_tx_id"]
		case "request_globals_summary":
		default:
			return false
		}
		body, err := json.Marshal(request)
		return err == nil && kernel.Write(body) == nil
	})
}

// relayKernelResponses sends the kernel's responses to the agent until the connection ends.
func (s *Server) relayKernelResponses(kernel protocol.Conn) {
	for {
		body, err := kernel.Read()
		if err != nil {
			return
		}
		var response Frame
		if json.Unmarshal(body, &response) == nil && response.StringField("agent_tx_id") != "" {
			response["type"], response["tx_id"] = "agent_action_response", response["agent_tx_id"]
			s.SendFrame(response)
		}
	}
}
