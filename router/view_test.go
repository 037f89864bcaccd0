package router_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// view attaches a view whose other end the test reads, or does not.
func (s *stage) view(id int) (*router.Peer, protocol.Conn) { return s.viewOf(id, 0) }

// viewOf is that of the console with this number at /run.
func (s *stage) viewOf(id, run int) (*router.Peer, protocol.Conn) {
	s.t.Helper()
	ours, theirs := protocol.Pipe()
	p, err := s.router.AttachView(ours, id, run, func() ([]byte, *trace.Follower) {
		return []byte(`{"type":"notebook_state"}`), s.journal.Follow()
	})
	require.NoError(s.t, err)
	s.peers[fmt.Sprint("view", id)] = &actor{conn: theirs}
	return p, theirs
}

// A view that does not read is sent away when it is too far behind. Another misses
// nothing, in the order of the trace, and neither kernel nor agent notices.
func TestStalledViewIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("kernel")
		deaf, _ := s.view(7)
		_, good := s.view(8)
		text := strings.Repeat("x", 1<<20)
		const frames = router.MaxViewLagBytes>>20 + 10
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
			require.NoError(t, s.peers["kernel"].conn.Write([]byte(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"`+text+`"}`)))
		}
		<-deaf.Done()
		require.ErrorContains(t, deaf.Err(), "too slow: more than 64 MiB were waiting")
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

// A view that reads slowly gets everything, and the answer to what it has asked
// behind what came before, as long as it is not too far behind.
func TestSlowViewIsGivenTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("kernel")
		s.attach("console") // which owns the session
		_, slow := s.viewOf(7, 1)
		const frames = 3 * router.MaxQueueFrames
		for range frames {
			require.NoError(t, s.peers["kernel"].conn.Write([]byte(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"x"}`)))
		}
		synctest.Wait()
		require.NoError(t, slow.Write([]byte(`{"type":"notebook_action","action":"nonsense","params":{},"tx_id":"e1"}`)))
		synctest.Wait()
		shown := 0
		for {
			body, err := slow.Read()
			require.NoError(t, err)
			env, err := protocol.NewEnvelopeDecoder().Decode(body)
			require.NoError(t, err)
			if env.Type == protocol.TypeNotebookActionResponse {
				break
			}
			if env.Type == protocol.TypeKernelStdio {
				shown++
			}
		}
		require.Equal(t, frames, shown)
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
		say(router.MaxQueueFrames/2, `{"type":"agent_usage_update"}`)
		say(100, delta)
		say(1, `{"type":"agent_history_updated","entry":{}}`)
		got := map[string]int{}
		for got[protocol.TypeAgentHistoryUpdated] == 0 {
			body, err := slow.Read()
			require.NoError(t, err)
			env, err := protocol.NewEnvelopeDecoder().Decode(body)
			require.NoError(t, err)
			got[env.Type]++
		}
		require.GreaterOrEqual(t, got[protocol.TypeAgentStreamDelta], 10)
		require.Less(t, got[protocol.TypeAgentStreamDelta], 10+50)
		require.Equal(t, router.MaxQueueFrames/2, got[protocol.TypeAgentUsageUpdate])
		s.leave()
		s.serving.Wait()
	})
}

// When the session ends, a view is shown all that the trace has, and what it has
// asked is answered, before its connection is closed.
func TestViewSeesTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("kernel")
		s.attach("console") // which owns the session
		_, conn := s.viewOf(7, 1)
		seen := map[string]int{}
		s.serving.Go(func() {
			for body, err := conn.Read(); err == nil; body, err = conn.Read() {
				env, err := protocol.NewEnvelopeDecoder().Decode(body)
				if err == nil {
					seen[env.Type]++
				}
			}
		})
		require.NoError(t, conn.Write([]byte(`{"type":"notebook_action","action":"request_reactivity_summary","params":{},"tx_id":"e1"}`)))
		_, err := s.peers["kernel"].conn.Read()
		require.NoError(t, err)
		const frames = 2000
		for range frames {
			require.NoError(t, s.peers["kernel"].conn.Write([]byte(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"x"}`)))
		}
		// The last has been read by the router, and perhaps not been shown yet.
		s.router.Close(protocol.CloseGoingAway, "over")
		s.leave()
		s.serving.Wait()
		require.Equal(t, s.stdio(), seen[protocol.TypeKernelStdio])
		require.Equal(t, 1, seen[protocol.TypeNotebookActionResponse])
	})
}

// What consoles are told while one is being greeted comes to that one too.
func TestToldWhileGreeting(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ours, theirs := protocol.Pipe()
	var telling sync.WaitGroup
	began := make(chan struct{})
	_, err := s.router.AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		telling.Go(func() {
			close(began)
			s.router.SendToRunConsoles(protocol.ManagedProcessExit{Type: protocol.TypeManagedProcessExit, Name: "kernel"})
		})
		<-began
		return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
	})
	require.NoError(t, err)
	for _, want := range []string{protocol.TypeReady, protocol.TypeManagedProcessExit} {
		body, err := theirs.Read()
		require.NoError(t, err)
		require.Contains(t, string(body), want)
	}
	telling.Wait()
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
	s.leave()
	s.serving.Wait()
}

// stdio counts the frames of text that the trace has.
func (s *stage) stdio() (count int) {
	for e := s.follow.TryNext(); e != nil; e = s.follow.TryNext() {
		if e.Type == protocol.TypeKernelStdio {
			count++
		}
	}
	return count
}
