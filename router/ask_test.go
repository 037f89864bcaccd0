package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// When the context of Router.Ask ends, an execute_code is interrupted. A request of another
// kind is not: the kernel may finish it.
func TestAskEndsWithContext(t *testing.T) {
	t.Parallel()
	for action, stops := range map[string]bool{"execute_code": true, "get_global_info": false} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.attachUnreadPeer("kernel")
			kernel := h.peers["kernel"].conn
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := h.router.Ask(ctx, action, map[string]any{"code": "1", "key": "x"})
				failed <- err
			}()
			asked := h.readKernelCommand(kernel)
			require.Equal(t, action, asked.Type)
			cancel(cause)
			require.ErrorIs(t, <-failed, cause)
			require.NoError(t, h.router.SendToKernel(protocol.CellCommand{Type: protocol.TypeDisposeCell, CellID: "last"}))
			if stops {
				require.Equal(t, protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: asked.AgentTxID}, h.readKernelCommand(kernel))
			}
			require.Equal(t, protocol.CellCommand{Type: protocol.TypeDisposeCell, CellID: "last"}, h.readKernelCommand(kernel))
			h.closePeersAndRouter()
		})
	}
}

// The event of an action that the server asked for says that the server caused it, even if the
// action's parameters say otherwise.
func TestServerActionsAreRecordedAsByServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachListeningPeer("document")
		_, err := h.router.Ask(t.Context(), "create_markdown_cell", map[string]any{"position": 0, "source": "of the server", "by": "console"})
		require.NoError(t, err)
		for {
			entry, err := h.follower.Next(t.Context())
			require.NoError(t, err)
			if entry.Hop == trace.HopNotebook {
				require.Contains(t, string(entry.Body), `"event":"cell_created","by":"server"`)
				break
			}
		}
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}

// readKernelCommand reads the next message that the router sends to the kernel.
func (h *harness) readKernelCommand(kernel protocol.Conn) (sent protocol.CellCommand) {
	h.t.Helper()
	body, err := kernel.Read()
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(body, &sent))
	return protocol.CellCommand{Type: sent.Type, CellID: sent.CellID, AgentTxID: sent.AgentTxID}
}
