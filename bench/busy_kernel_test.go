//go:build bench

package bench_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

const (
	contextCellCount      = 10 // cells of the notebook that get_context returns
	pendingKernelRequests = 50 // requests of the agent that the kernel does not answer
)

// measureContextWhileKernelBusy compares get_context without and with requests that a
// kernel never answers, and with the asyncio server.
func measureContextWhileKernelBusy(t *testing.T, r *report, _ *assayProgram) {
	t.Helper()
	idle := newBusyKernelRequester(t, 0)
	busy := newBusyKernelRequester(t, pendingKernelRequests)
	c := measureAlternately(15, roundTripRound(t, []*requester{idle}, 200), roundTripRound(t, []*requester{busy}, 200))
	left := pendingKernelRequests - busy.otherFrameCount
	t.Logf("get_context: %s with none in flight, %s with %d: %s", formatDuration(median(c.floorTimes)), formatDuration(median(c.assayTimes)), left, c.formatRatio())
	plain := measureAsyncioServer(t)

	r.addSection("get_context while the kernel is busy",
		fmt.Sprintf("The agent asks for a notebook of %d cells, with no request to the kernel pending and with %d of them pending (both summaries\n"+
			"and `get_global_info`) at a kernel that reads and never answers. Compared with `bench/asyncio_server.py`, whose forwarding\n"+
			"loop awaits the kernel, over a WebSocket and with a kernel that takes %v for a request. The aim is a ratio of 1.",
			contextCellCount, pendingKernelRequests, slowKernelDelay))
	r.addTable(
		[]string{"server", "kernel requests pending", "p50", "p99", "ratio", "spread"},
		[]string{"Assay", "0", formatDuration(median(c.floorTimes)), formatDuration(percentile(c.floorTimes, 99)), "", ""},
		[]string{"Assay", strconv.Itoa(left), formatDuration(median(c.assayTimes)), formatDuration(percentile(c.assayTimes, 99)), c.formatRatio(), c.formatSpread()},
		append([]string{"asyncio", "0"}, plain.idleRow...),
		append([]string{"asyncio", "1"}, plain.busyRow...),
	)
}

// newBusyKernelRequester returns a requester that asks a session's document for the
// notebook, after as many requests as given of the same agent have reached a kernel that
// never answers.
func newBusyKernelRequester(t *testing.T, requests int) *requester {
	t.Helper()
	s := newBareSession(t)
	s.attachDocument(contextCellCount)
	ours, theirs := socketPair(t)
	_, err := s.router.AttachKernel(ours, protocol.Ready{})
	require.NoError(t, err)
	came := make(chan struct{}, requests)
	runTasksUntilCleanup(t, []protocol.Conn{theirs}, func() { readWithoutAnswering(theirs, came) })
	l := &requester{conn: s.attachAgent(), frame: newContextFrame(), waitForTrace: s.waitForTrace}
	actions := []string{"request_globals_summary", "request_reactivity_summary", "get_global_info"}
	for i := range requests {
		request := fmt.Appendf(nil, `{"type":"agent_action","action":%q,"params":{"key":"x"},"tx_id":"busy_%d"}`, actions[i%len(actions)], i)
		require.NoError(t, l.conn.Write(request))
	}
	for range requests {
		<-came
	}
	return l
}

// readWithoutAnswering reads frames until conn is closed and sends on came for each of
// them.
func readWithoutAnswering(conn protocol.Conn, came chan<- struct{}) {
	for {
		if _, err := conn.Read(); err != nil {
			return
		}
		came <- struct{}{}
	}
}

// slowKernelDelay is how long the asyncio server's kernel takes for each request.
const slowKernelDelay = 30 * time.Second
