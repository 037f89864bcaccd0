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

// Code that nobody waits for any longer is interrupted; another request is left
// to the kernel.
func TestAskEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for action, stops := range map[string]bool{"execute_code": true, "get_global_info": false} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.join("kernel")
			kernel := s.peers["kernel"].conn
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := s.router.Ask(ctx, action, map[string]any{"code": "1", "key": "x"})
				failed <- err
			}()
			asked := s.readFrame(kernel)
			require.Equal(t, action, asked.Type)
			cancel(cause)
			require.ErrorIs(t, <-failed, cause)
			require.NoError(t, s.router.SendToKernel(protocol.CellCommand{Type: protocol.TypeDisposeCell, CellID: "last"}))
			if stops {
				require.Equal(t, protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: asked.AgentTxID}, s.readFrame(kernel))
			}
			require.Equal(t, protocol.CellCommand{Type: protocol.TypeDisposeCell, CellID: "last"}, s.readFrame(kernel))
			s.leave()
		})
	}
}

// What the server does to the notebook by itself is told to be so, whatever the
// parameters say.
func TestAskedByTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.attach("document")
		_, err := s.router.Ask(t.Context(), "create_markdown_cell", map[string]any{"position": 0, "source": "of the server", "by": "console"})
		require.NoError(t, err)
		for {
			entry, err := s.follow.Next(t.Context())
			require.NoError(t, err)
			if entry.Hop == trace.HopNotebook {
				require.Contains(t, string(entry.Body), `"event":"cell_created","by":"server"`)
				break
			}
		}
		s.leave()
		s.serving.Wait()
	})
}

// readFrame reads what the kernel is sent.
func (s *stage) readFrame(kernel protocol.Conn) (sent protocol.CellCommand) {
	s.t.Helper()
	body, err := kernel.Read()
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(body, &sent))
	return protocol.CellCommand{Type: sent.Type, CellID: sent.CellID, AgentTxID: sent.AgentTxID}
}
