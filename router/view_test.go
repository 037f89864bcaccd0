package router_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// view attaches a view whose other end the test reads, or does not.
func (s *stage) view(id int) (*router.Peer, protocol.Conn) {
	s.t.Helper()
	ours, theirs := protocol.Pipe()
	p, err := s.router.AttachView(ours, id, 0, func() ([]byte, *trace.Follower) {
		return []byte(`{"type":"notebook_state"}`), s.journal.Follow()
	})
	require.NoError(s.t, err)
	s.peers[fmt.Sprint("view", id)] = &actor{conn: theirs}
	return p, theirs
}

// A view that does not read is sent away when its queue is full. Another misses
// nothing, in the order of the trace, and neither kernel nor agent notices.
func TestStalledViewIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("kernel")
		deaf, _ := s.view(7)
		_, good := s.view(8)
		const frames = router.QueueFrames + 10
		seqs := make(chan int64, frames)
		s.serving.Go(func() {
			defer close(seqs)
			for range 1 + frames {
				body, err := good.Read()
				if err != nil {
					return
				}
				var f struct {
					Seq int64 `json:"seq"`
				}
				if json.Unmarshal(body, &f) == nil && f.Seq > 0 {
					seqs <- f.Seq
				}
			}
		})
		for range frames {
			require.NoError(t, s.peers["kernel"].conn.Write([]byte(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"x"}`)))
		}
		<-deaf.Done()
		require.ErrorContains(t, deaf.Err(), "too slow: more than 8 MiB or 8192 messages were waiting")
		last, count := int64(0), 0
		for seq := range seqs {
			require.Greater(t, seq, last)
			last = seq
			count++
		}
		require.Equal(t, frames, count)
		s.leave()
		s.serving.Wait()
	})
}

// While much waits for a view, the stream of a reply is left out for it, and
// nothing else is.
func TestStreamsAreLeftOutForASlowView(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("agent")
		_, slow := s.view(7)
		say := func(n int, body string) {
			for range n {
				require.NoError(t, s.peers["agent"].conn.Write([]byte(body)))
			}
			synctest.Wait()
		}
		const delta = `{"type":"agent_stream_delta","block_index":0,"delta":"x"}`
		say(10, delta)
		say(router.QueueFrames/2, `{"type":"agent_usage_update"}`)
		say(100, delta)
		say(1, `{"type":"agent_history_updated","entry":{}}`)
		got := map[string]int{}
		for got[protocol.TypeAgentHistoryUpdated] == 0 {
			body, err := slow.Read()
			require.NoError(t, err)
			env, err := protocol.NewDecoder().Envelope(body)
			require.NoError(t, err)
			got[env.Type]++
		}
		require.Equal(t, 10, got[protocol.TypeAgentStreamDelta])
		require.Equal(t, router.QueueFrames/2, got[protocol.TypeAgentUsageUpdate])
		s.leave()
		s.serving.Wait()
	})
}
