package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/router"
)

// Two hundred operations in flight, of the document and of the kernel, answered
// in random order, some twice, with foreign ids between them: each gets its own
// answer, once.
func TestEachGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	const operations = 200
	s := newStage(t)
	for _, name := range []string{"agent", "kernel", "holder"} {
		s.join(name)
	}
	go s.answerShuffled("holder", operations/2, "agent_action_response", "tx_id", "params")
	go s.answerShuffled("kernel", operations/2, "get_global_info_response", "agent_tx_id", "key")

	agent := s.peers["agent"].conn
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
	s.leave()
}

// join attaches a peer that the test itself reads.
func (s *stage) join(name string) {
	ours, theirs := protocol.Pipe()
	a := &actor{conn: theirs}
	var err error
	switch name {
	case "agent":
		a.peer, err = s.router.AttachAgent(ours)
	case "kernel":
		a.peer, err = s.router.AttachKernel(ours, false)
	case "holder":
		a.peer, err = s.router.AttachHolder(ours, 1, "1", 0)
	case "console":
		a.peer, err = s.router.AttachConsole(ours, 2, func(int, bool) (body, recorded []byte) { return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`) })
	}
	require.NoError(s.t, err)
	s.peers[name] = a
}

func (s *stage) leave() {
	for _, a := range s.peers {
		_ = a.conn.Close(protocol.CloseNormal, "")
	}
	s.router.Close(protocol.CloseGoingAway, "over")
}

// answerShuffled reads n requests of a peer and answers them in random order,
// every third twice, each with the mark that its request had.
func (s *stage) answerShuffled(name string, n int, kind, id, mark string) {
	conn := s.peers[name].conn
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
		text := string(request[mark])
		if inner, ok := strings.CutPrefix(text, `{"mark":`); ok {
			text = strings.TrimSuffix(inner, "}")
		}
		answers = append(answers, fmt.Appendf(nil, `{"type":%q,%q:%s,"status":"success","mark":%s}`, kind, id, request[id], text))
	}
	rand.Shuffle(len(answers), func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
	for i, body := range answers {
		_ = conn.Write(fmt.Appendf(nil, `{"type":%q,%q:"foreign_%d","status":"success"}`, kind, id, i))
		for range 1 + i%3/2 {
			_ = conn.Write(body)
		}
	}
}

// A console that does not read is closed with a reason, and neither the agent
// nor the kernel notices.
func TestStalledConsoleIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.attach("agent")
		s.join("console")
		s.join("kernel")
		kernel := s.peers["kernel"].conn
		require.NoError(t, kernel.Write([]byte(`{"type":"start_cell","cell_id":"c","run_sequencer":1}`)))
		block := protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: "c", Text: []byte(strings.Repeat("x", 1<<20))})
		began := time.Now()
		for range 20 {
			require.NoError(t, kernel.Write(block))
		}
		require.NoError(t, kernel.Write([]byte(`{"type":"cell_result","cell_id":"c","run_sequencer":1,"status":"ok","has_exception":false}`)))
		synctest.Wait()
		require.Zero(t, time.Since(began), "nobody has waited")
		<-s.peers["console"].peer.Done()
		require.ErrorContains(t, s.peers["console"].peer.Err(), "too slow: more than 8 MiB")
		require.Contains(t, s.came(), "kernel_message c relayed")
		s.leave()
		s.serving.Wait()
	})
}

// An agent that does not read is not heard, keeps what it must get, and is
// ended after its time; one that reads on within it goes on as if nothing was.
func TestStalledAgent(t *testing.T) {
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
				s := newStage(t)
				s.join("agent")
				s.attach("document")
				agent := s.peers["agent"]
				big := fmt.Appendf(nil, `{"type":"agent_query","query":"%s"}`, strings.Repeat("x", 3<<20))
				for range 4 {
					require.NoError(t, s.router.SendToAgent(json.RawMessage(big)))
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
				s.leave()
				require.Error(t, <-written)
				s.serving.Wait()
			})
		})
	}
}

func TestAgentThatLetsTooMuchPileUpIsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("agent")
		big := fmt.Appendf(nil, `{"type":"agent_query","query":"%s"}`, strings.Repeat("x", 8<<20))
		for range 10 {
			require.NoError(t, s.router.SendToAgent(json.RawMessage(big)))
		}
		<-s.peers["agent"].peer.Done()
		require.ErrorContains(t, s.peers["agent"].peer.Err(), "the agent does not read")
		s.leave()
	})
}

func TestAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.attach("agent")
		s.attach("document")
		got, err := s.router.Ask(t.Context(), "get_context", nil)
		require.NoError(t, err)
		require.Contains(t, string(got), `"cell_count":0`)
		require.NotContains(t, s.came(), "agent <", "the agent does not hear of it")

		_, err = s.router.Ask(t.Context(), "edit_cell", map[string]any{"cell_id": "nope", "source": ""})
		require.ErrorContains(t, err, "edit_cell: ")
		_, err = s.router.Ask(t.Context(), "request_globals_summary", nil)
		require.EqualError(t, err, "request_globals_summary: there is no kernel")

		s.join("kernel")
		began := time.Now()
		_, err = s.router.Ask(t.Context(), "request_globals_summary", nil)
		require.EqualError(t, err, "request_globals_summary: the kernel did not answer 'request_globals_summary' within 8s")
		require.Equal(t, 8*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("collecting took too long"))
		defer cancel()
		_, err = s.router.Ask(ctx, "request_reactivity_summary", nil)
		require.EqualError(t, err, "request_reactivity_summary: collecting took too long")
		s.leave()
		_, err = s.router.Ask(t.Context(), "get_context", nil)
		require.ErrorContains(t, err, "the session has ended")
		s.serving.Wait()
	})
}

// What is still queued when the session ends is sent first.
func TestCloseSendsWhatIsQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("console")
		for i := range 3 {
			s.router.SendToRunConsoles(map[string]any{"type": "eval_result", "n": i})
		}
		closed := make(chan struct{})
		go func() {
			s.router.Close(protocol.CloseGoingAway, "over")
			close(closed)
		}()
		synctest.Wait()
		for _, want := range []string{`{"type":"ready"}`, `{"n":0,"type":"eval_result"}`, `{"n":1,"type":"eval_result"}`, `{"n":2,"type":"eval_result"}`} {
			got, err := s.peers["console"].conn.Read()
			require.NoError(t, err)
			require.Equal(t, want, string(got))
		}
		<-closed
		_, err := s.router.AttachConsole(s.peers["console"].conn, 2, func(int, bool) (body, recorded []byte) { return []byte("{}"), []byte("{}") })
		require.ErrorIs(t, err, router.ErrClosed)
	})
}

// An agent that asks on and on while no console is there does not fill the
// memory: what has no room is refused, and what is too late makes room.
func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.attach("agent")
		agent := s.peers["agent"].conn
		source := strings.Repeat("x", 1<<20)
		ask := func(i int) {
			body := fmt.Appendf(nil, `{"type":"agent_action","action":"create_cell","params":{"source":"%s"},"tx_id":"tx_%d"}`, source, i)
			require.NoError(t, agent.Write(body))
			synctest.Wait()
		}
		for i := range 8 {
			ask(i)
		}
		require.Contains(t, s.came(), `"tx_id":"tx_7","status":"error","error":"too many requests wait for a console"`)
		<-time.After(router.DefaultHolderTimeout)
		s.came()
		ask(8)
		require.NotContains(t, s.came(), "too many requests", "the others have missed their deadline")
		s.leave()
		s.serving.Wait()
	})
}

// What is too large for a frame is answered all the same, with an error.
func TestTooLargeForAFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.router = router.New(s.journal, s.runs, router.Config{MaxFrameBytes: 1000})
		s.attach("agent")
		s.attach("kernel")
		s.attach("document")
		agent := s.peers["agent"].conn
		source := strings.Repeat("x", 900)
		for i := range 2 {
			require.NoError(t, agent.Write(fmt.Appendf(nil, `{"type":"agent_action","action":"create_cell","params":{"position":0,"cell_type":"code","source":"%s"},"tx_id":"tx_%d"}`, source, i)))
		}
		synctest.Wait()
		s.came()
		require.NoError(t, agent.Write([]byte(`{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_3"}`)))
		synctest.Wait()
		require.Regexp(t, `"tx_id":"tx_3","status":"error","error":"the answer has \d+ bytes, more than the 1000`, s.came())
		require.NoError(t, agent.Write(fmt.Appendf(nil, `{"type":"agent_action","action":"execute_code","params":{"code":"%s%s"},"tx_id":"tx_4"}`, source, source)))
		synctest.Wait()
		require.Regexp(t, `"tx_id":"tx_4","status":"error","error":"a request of \d+ bytes, more than the 1000`, s.came())
		s.leave()
		s.serving.Wait()
	})
}
