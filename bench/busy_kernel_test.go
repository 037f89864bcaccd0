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
	contextCells = 10 // of the notebook that get_context tells of
	inFlight     = 50 // requests that the kernel does not answer
)

// measureBusyKernel measures get_context while the kernel has time for nothing.
func measureBusyKernel(t *testing.T, r *report, _ *program) {
	t.Helper()
	idle := toBusyKernel(t, 0)
	busy := toBusyKernel(t, inFlight)
	c := alternate(15, ask(t, []*line{idle}, 200), ask(t, []*line{busy}, 200))
	left := inFlight - busy.others
	t.Logf("get_context: %s with none in flight, %s with %d: %s", show(median(c.floor)), show(median(c.ours)), left, c.ratio())
	plain := measureBaseline(t)

	r.section("get_context while the kernel is busy",
		fmt.Sprintf("The agent asks for a notebook of %d cells while none, and while %d of its requests to the kernel (both summaries and\n"+
			"`get_global_info`) wait for a kernel that reads and never answers. Beside it a plain asyncio server, `bench/asyncio_server.py`, whose\n"+
			"forwarding loop awaits the kernel, on a WebSocket and with a kernel that is busy for %v. The aim is a ratio of 1.",
			contextCells, inFlight, busyFor))
	r.table(
		[]string{"server", "kernel requests in flight", "p50", "p99", "ratio", "spread"},
		[]string{"Assay", "0", show(median(c.floor)), show(percentile(c.floor, 99)), "", ""},
		[]string{"Assay", strconv.Itoa(left), show(median(c.ours)), show(percentile(c.ours, 99)), c.ratio(), c.spread()},
		append([]string{"plain", "0"}, plain.idle...),
		append([]string{"plain", "1"}, plain.behind...),
	)
}

// toBusyKernel is a line to a session's document that asks for the notebook,
// while so many requests of its agent wait for the kernel.
func toBusyKernel(t *testing.T, requests int) *line {
	t.Helper()
	s := newBare(t)
	s.document(contextCells)
	ours, theirs := sockets(t)
	_, err := s.router.AttachKernel(ours, false)
	require.NoError(t, err)
	came := make(chan struct{}, requests)
	inBackground(t, []protocol.Conn{theirs}, func() { takeAll(theirs, came) })
	l := &line{asker: s.agent(), frame: contextFrame(), settle: s.settle}
	actions := []string{"request_globals_summary", "request_reactivity_summary", "get_global_info"}
	for i := range requests {
		request := fmt.Appendf(nil, `{"type":"agent_action","action":%q,"params":{"key":"x"},"tx_id":"busy_%d"}`, actions[i%len(actions)], i)
		require.NoError(t, l.asker.Write(request))
	}
	for range requests {
		<-came
	}
	return l
}

// takeAll reads until conn is closed and answers nothing.
func takeAll(conn protocol.Conn, came chan<- struct{}) {
	for {
		if _, err := conn.Read(); err != nil {
			return
		}
		came <- struct{}{}
	}
}

// busyFor is how long the plain server's kernel takes for a request.
const busyFor = 30 * time.Second
