package router_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// TestShuffledAnswersReachTheirRequests has 200 requests in flight, half of them at
// the holder and half at the kernel. They are answered in random order, some twice,
// with answers to unknown ids between them. Each must get its own answer, once.
func TestShuffledAnswersReachTheirRequests(t *testing.T) {
	t.Parallel()
	const operations = 200
	h := newHarness(t)
	for _, name := range []string{"agent", "kernel", "holder"} {
		h.attachUnreadPeer(name)
	}
	go h.answerShuffled("holder", operations/2, "agent_action_response", "tx_id", "params")
	go h.answerShuffled("kernel", operations/2, "get_global_info_response", "agent_tx_id", "key")

	agent := h.peers["agent"].conn
	var asking sync.WaitGroup
	asking.Go(func() {
		for i := range operations {
			action, params := "get_context", fmt.Sprintf(`{"mark":"m%d"}`, i)
			if i%2 == 1 {
				action, params = "get_global_info", fmt.Sprintf(`{"key":"m%d"}`, i)
			}
			_ = agent.Write(fmt.Appendf(nil, `{"type":"agent_action","action":%q,"params":%s,"tx_id":"tx_%d"}`, action, params, i))
		}
	})
	seen := map[string]string{}
	for len(seen) < operations {
		body, err := agent.Read()
		require.NoError(t, err)
		var got struct {
			TxID   string `json:"tx_id"`
			Status string `json:"status"`
			Mark   string `json:"mark"`
		}
		require.NoError(t, json.Unmarshal(body, &got))
		require.Equal(t, "success", got.Status, "%s", body)
		require.Empty(t, seen[got.TxID], "answered once")
		seen[got.TxID] = got.Mark
	}
	for i := range operations {
		require.Equal(t, fmt.Sprintf("m%d", i), seen[fmt.Sprintf("tx_%d", i)])
	}
	asking.Wait()
	h.closePeersAndRouter()
}

// answerShuffled reads n requests sent to a peer and answers them in random order, every third
// one twice. messageType is the type of the answers, idField the field with the request's id,
// and markField the field of the request whose value the answer repeats as "mark".
func (h *harness) answerShuffled(name string, n int, messageType, idField, markField string) {
	conn := h.peers[name].conn
	var answers [][]byte
	for range n {
		body, err := conn.Read()
		if err != nil {
			return
		}
		var request map[string]json.RawMessage
		if json.Unmarshal(body, &request) != nil {
			return
		}
		text := string(request[markField])
		if inner, ok := strings.CutPrefix(text, `{"mark":`); ok {
			text = strings.TrimSuffix(inner, "}")
		}
		answers = append(answers, fmt.Appendf(nil, `{"type":%q,%q:%s,"status":"success","mark":%s}`, messageType, idField, request[idField], text))
	}
	rand.Shuffle(len(answers), func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
	for i, body := range answers {
		_ = conn.Write(fmt.Appendf(nil, `{"type":%q,%q:"foreign_%d","status":"success"}`, messageType, idField, i))
		for range 1 + i%3/2 {
			_ = conn.Write(body)
		}
	}
}

// The connection of a console that does not read is closed with a reason; neither the agent nor
// the kernel is delayed.
func TestStalledConsoleIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachListeningPeer("agent")
		h.attachUnreadPeer("console")
		h.attachUnreadPeer("kernel")
		kernel := h.peers["kernel"].conn
		require.NoError(t, kernel.Write([]byte(`{"type":"start_cell","cell_id":"c","run_sequencer":1}`)))
		block := protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: "c", Text: []byte(strings.Repeat("x", 1<<20))})
		began := time.Now()
		for range 20 {
			require.NoError(t, kernel.Write(block))
		}
		require.NoError(t, kernel.Write([]byte(`{"type":"cell_result","cell_id":"c","run_sequencer":1,"status":"ok","has_exception":false}`)))
		synctest.Wait()
		require.Zero(t, time.Since(began), "neither the kernel nor the router has waited")
		<-h.peers["console"].peer.Done()
		require.ErrorContains(t, h.peers["console"].peer.Err(), "too slow: more than 8 MiB")
		require.Contains(t, h.takeMessagesAndEntries(), "kernel_message c relayed")
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}

// While an agent does not read, nothing is read from it and all frames for it stay queued. It
// is disconnected after the stall timeout; if it reads again before that, it gets all frames
// and goes on.
func TestAgentThatStopsReadingIsEndedAfterTimeout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		silent time.Duration
		ends   string
	}{
		"reads on":   {9 * time.Second, ""},
		"never does": {10 * time.Second, "the agent has not read for 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				h.attachUnreadPeer("agent")
				h.attachListeningPeer("document")
				agent := h.peers["agent"]
				big := fmt.Appendf(nil, `{"type":"agent_query","query":"%s"}`, strings.Repeat("x", 3<<20))
				for range 4 {
					require.NoError(t, h.router.SendToAgent(json.RawMessage(big)))
				}
				synctest.Wait()
				written := make(chan error, 1)
				go func() {
					err := agent.conn.Write([]byte(`{"type":"agent_action","action":"get_context","tx_id":"tx_1"}`))
					for err == nil { // until the router stops listening
						err = agent.conn.Write([]byte(`{"type":"agent_status","status":"thinking"}`))
					}
					written <- err
				}()
				<-time.After(tc.silent)
				if tc.ends != "" {
					<-agent.peer.Done()
					require.EqualError(t, agent.peer.Err(), tc.ends)
				} else {
					for range 4 {
						got, err := agent.conn.Read()
						require.NoError(t, err)
						require.Equal(t, big, got)
					}
					got, err := agent.conn.Read()
					require.NoError(t, err)
					require.Contains(t, string(got), `"tx_id":"tx_1","status":"success"`)
				}
				h.closePeersAndRouter()
				require.Error(t, <-written)
				h.goroutines.Wait()
			})
		})
	}
}

func TestAgentWithTooManyQueuedBytesIsEnded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachUnreadPeer("agent")
		big := fmt.Appendf(nil, `{"type":"agent_query","query":"%s"}`, strings.Repeat("x", 8<<20))
		for range 10 {
			if err := h.router.SendToAgent(json.RawMessage(big)); err != nil {
				require.ErrorIs(t, err, router.ErrNotConnected, "it may have been ended by one of the last messages")
			}
		}
		<-h.peers["agent"].peer.Done()
		require.ErrorContains(t, h.peers["agent"].peer.Err(), "the agent does not read")
		h.closePeersAndRouter()
	})
}

func TestAskReturnsAnswerOrError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachListeningPeer("agent")
		h.attachListeningPeer("document")
		got, err := h.router.Ask(t.Context(), "get_context", nil)
		require.NoError(t, err)
		require.Contains(t, string(got), `"cell_count":0`)
		require.NotContains(t, h.takeMessagesAndEntries(), "agent <", "the agent is not told of it")

		_, err = h.router.Ask(t.Context(), "edit_cell", map[string]any{"cell_id": "nope", "source": ""})
		require.ErrorContains(t, err, "edit_cell: ")
		_, err = h.router.Ask(t.Context(), "request_globals_summary", nil)
		require.EqualError(t, err, "request_globals_summary: there is no kernel")

		h.attachUnreadPeer("kernel")
		began := time.Now()
		_, err = h.router.Ask(t.Context(), "request_globals_summary", nil)
		require.EqualError(t, err, "request_globals_summary: the kernel did not answer 'request_globals_summary' within 8s")
		require.Equal(t, 8*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("collecting took too long"))
		defer cancel()
		_, err = h.router.Ask(ctx, "request_reactivity_summary", nil)
		require.EqualError(t, err, "request_reactivity_summary: collecting took too long")
		h.closePeersAndRouter()
		_, err = h.router.Ask(t.Context(), "get_context", nil)
		require.ErrorContains(t, err, "the session has ended")
		h.goroutines.Wait()
	})
}

// Close writes the frames that are still queued for a peer before it closes the peer's
// connection.
func TestCloseWritesQueuedFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachUnreadPeer("console")
		for i := range 3 {
			h.router.SendToRunConsoles(map[string]any{"type": "eval_result", "n": i})
		}
		closed := make(chan struct{})
		go func() {
			h.router.Close(protocol.CloseGoingAway, "over")
			close(closed)
		}()
		synctest.Wait()
		for _, want := range []string{`{"type":"ready"}`, `{"n":0,"type":"eval_result"}`, `{"n":1,"type":"eval_result"}`, `{"n":2,"type":"eval_result"}`} {
			got, err := h.peers["console"].conn.Read()
			require.NoError(t, err)
			require.Equal(t, want, string(got))
		}
		<-closed
		_, err := h.router.AttachConsole(h.peers["console"].conn, 2, fixedHello)
		require.ErrorIs(t, err, router.ErrClosed)
	})
}

// The backlog of actions that wait for a console to hold the document is bounded: an action
// without room is answered with an error, and actions that have missed their deadline make
// room.
func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.attachListeningPeer("agent")
		agent := h.peers["agent"].conn
		source := strings.Repeat("x", 1<<20)
		ask := func(i int) {
			body := fmt.Appendf(nil, `{"type":"agent_action","action":"create_cell","params":{"source":"%s"},"tx_id":"tx_%d"}`, source, i)
			require.NoError(t, agent.Write(body))
			synctest.Wait()
		}
		for i := range 8 {
			ask(i)
		}
		require.Contains(t, h.takeMessagesAndEntries(), `"tx_id":"tx_7","status":"error","error":"too many requests wait for a console"`)
		<-time.After(router.DefaultHolderTimeout)
		synctest.Wait() // the requests' timers fire at the same moment
		h.takeMessagesAndEntries()
		ask(8)
		require.NotContains(t, h.takeMessagesAndEntries(), "too many requests", "the others have missed their deadline")
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}

// An action whose tx_id is no text gets no answer, and the log says why.
func TestActionWithNumericTxIDIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := router.New(trace.NewJournal("s"), notebook.NewExecutions(notebook.ExecutionsConfig{}), router.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ours, theirs := protocol.Pipe()
	_, err := r.AttachAgent(ours)
	require.NoError(t, err)
	for _, txID := range []string{`17`, `"a"`} {
		require.NoError(t, theirs.Write([]byte(`{"type":"agent_action","action":"fly","params":{},"tx_id":`+txID+`}`)))
	}
	answer, err := theirs.Read()
	require.NoError(t, err)
	require.Contains(t, string(answer), `"tx_id":"a"`)
	r.Close(protocol.CloseNormal, "")
	require.Regexp(t, `level=WARN msg="an action gets no answer" action=fly problem="its tx_id was 17, which is no text, so it got no answer"`, log.String())
	require.Equal(t, 1, strings.Count(log.String(), "an action gets no answer"))
}

// An error of the kernel, which code in it can write as large as a frame, does not fill the log.
func TestLargeErrorOfKernelIsCutInLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := router.New(trace.NewJournal("s"), notebook.NewExecutions(notebook.ExecutionsConfig{}), router.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		ours, theirs := protocol.Pipe()
		_, err := r.AttachKernel(ours, protocol.Ready{})
		require.NoError(t, err)
		require.NoError(t, theirs.Write([]byte(`{"type":"error","message":"`+strings.Repeat("x", 1<<20)+`"}`)))
		synctest.Wait()
		r.Close(protocol.CloseNormal, "")
		require.Contains(t, log.String(), "the kernel did not understand a message")
		require.Less(t, log.Len(), 1000)
	})
}

// If an answer to the agent, or a request to the kernel, is larger than a frame may be, the
// agent gets an error.
func TestTooLargeFramesBecomeErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.router = router.New(h.journal, h.executions, router.Config{MaxFrameBytes: 1000})
		h.attachListeningPeer("agent")
		h.attachListeningPeer("kernel")
		h.attachListeningPeer("document")
		agent := h.peers["agent"].conn
		source := strings.Repeat("x", 900)
		for i := range 2 {
			require.NoError(t, agent.Write(fmt.Appendf(nil, `{"type":"agent_action","action":"create_cell","params":{"position":0,"cell_type":"code","source":"%s"},"tx_id":"tx_%d"}`, source, i)))
		}
		synctest.Wait()
		h.takeMessagesAndEntries()
		require.NoError(t, agent.Write([]byte(`{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_3"}`)))
		synctest.Wait()
		require.Regexp(t, `"tx_id":"tx_3","status":"error","error":"the answer has \d+ bytes, more than the 1000`, h.takeMessagesAndEntries())
		require.NoError(t, agent.Write(fmt.Appendf(nil, `{"type":"agent_action","action":"execute_code","params":{"code":"%s%s"},"tx_id":"tx_4"}`, source, source)))
		synctest.Wait()
		require.Regexp(t, `"tx_id":"tx_4","status":"error","error":"a request of \d+ bytes, more than the 1000`, h.takeMessagesAndEntries())
		h.closePeersAndRouter()
		h.goroutines.Wait()
	})
}
