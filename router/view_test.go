package router_test

import (
	"bytes"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/router"
)

// seqPattern finds the number of a trace entry at the end of the message that shows it to a view.
var seqPattern = regexp.MustCompile(`"seq":(\d+)}$`)

// The connection of a view that does not read is closed when it is too far behind the trace.
// Another view gets all entries in order, and neither kernel nor agent is delayed.
func TestStalledViewIsClosed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachUnreadPeer("kernel")
		deaf, _ := h.attachView(7)
		_, good := h.attachView(8)
		text := protocol.RawFrame{Stream: protocol.Stdout, CellID: "c", Text: bytes.Repeat([]byte("x"), 1<<20)}
		const frames = router.MaxViewLagBytes>>20 + 10
		seqs := make(chan int64, frames)
		h.goroutines.Go(func() {
			defer close(seqs)
			for range 1 + frames {
				body, err := good.Read()
				if err != nil {
					return
				}
				// Decoding the whole of it would take most of the test's time.
				if found := seqPattern.FindSubmatch(body[max(0, len(body)-100):]); found != nil {
					seq, _ := strconv.ParseInt(string(found[1]), 10, 64)
					seqs <- seq
				}
			}
		})
		for range frames {
			require.NoError(t, h.peers["kernel"].conn.Write(protocol.AppendRawFrame(nil, text)))
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
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}

// A view that reads slowly, but is not too far behind the trace, gets all entries, and the
// answer to its request after the entries that came before it.
func TestSlowViewMissesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachUnreadPeer("kernel")
		h.attachListeningPeer("console") // which owns the session
		_, slow := h.attachViewOfRunConsole(7, 1)
		const frames = 3 * router.MaxQueueFrames
		for range frames {
			require.NoError(t, h.peers["kernel"].conn.Write([]byte(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"x"}`)))
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
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}

// While a view is behind the trace, parts of streamed replies are left out for it, and nothing
// else. Parts from before it was behind are sent. How fast the view reads does not matter: it
// is behind until it has caught up with the trace.
func TestStreamsAreLeftOutForSlowView(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachUnreadPeer("agent")
		_, slow := h.attachView(7)
		send := func(n int, body string) {
			for range n {
				h.sendFromPeer("agent", body)
			}
			synctest.Wait()
		}
		const delta = `{"type":"agent_stream_delta","block_index":0,"delta":"x"}`
		send(10, delta)
		send(router.MaxQueueFrames/2, `{"type":"agent_usage_update"}`)
		send(100, delta)
		send(1, `{"type":"agent_history_updated","entry":{}}`)
		got := map[string]int{}
		for got[protocol.TypeAgentHistoryUpdated] == 0 {
			body, err := slow.Read()
			require.NoError(t, err)
			env, err := protocol.NewEnvelopeDecoder().Decode(body)
			require.NoError(t, err)
			got[env.Type]++
		}
		require.Equal(t, 10, got[protocol.TypeAgentStreamDelta])
		require.Equal(t, router.MaxQueueFrames/2, got[protocol.TypeAgentUsageUpdate])
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}

// When the session ends, a view is sent all entries of the trace and the answer to its request
// before its connection is closed.
func TestViewIsShownEverythingBeforeClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachUnreadPeer("kernel")
		h.attachListeningPeer("console") // which owns the session
		_, conn := h.attachViewOfRunConsole(7, 1)
		seen := map[string]int{}
		h.goroutines.Go(func() {
			for body, err := conn.Read(); err == nil; body, err = conn.Read() {
				env, err := protocol.NewEnvelopeDecoder().Decode(body)
				if err == nil {
					seen[env.Type]++
				}
			}
		})
		require.NoError(t, conn.Write([]byte(`{"type":"notebook_action","action":"request_reactivity_summary","params":{},"tx_id":"e1"}`)))
		_, err := h.peers["kernel"].conn.Read()
		require.NoError(t, err)
		const frames = 2000
		for range frames {
			require.NoError(t, h.peers["kernel"].conn.Write([]byte(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"x"}`)))
		}
		// The router has read the last frame, and perhaps not shown it yet.
		h.router.Close(protocol.CloseGoingAway, "over")
		h.closePeersAndRouter()
		h.goroutines.Wait()
		require.Equal(t, h.countStdioEntries(), seen[protocol.TypeKernelStdio])
		require.Equal(t, 1, seen[protocol.TypeNotebookActionResponse])
	})
}

// A message to all consoles that is sent while a console is being attached reaches
// that console after its hello.
func TestMessageDuringHelloComesAfterIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ours, theirs := protocol.Pipe()
	var telling sync.WaitGroup
	began := make(chan struct{})
	_, err := h.router.AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		telling.Go(func() {
			close(began)
			h.router.SendToRunConsoles(protocol.ManagedProcessExit{Type: protocol.TypeManagedProcessExit, Name: "kernel"})
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
	h.closePeersAndRouter()
	h.goroutines.Wait()
}

// countStdioEntries returns how many trace entries since the last call are text that the kernel
// printed.
func (h *harness) countStdioEntries() (count int) {
	for e := h.follower.TryNext(); e != nil; e = h.follower.TryNext() {
		if e.Type == protocol.TypeKernelStdio {
			count++
		}
	}
	return count
}
