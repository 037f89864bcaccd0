//go:build bench

package bench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"assay/internal/protocol"
)

const (
	// otherSessionCount is the number of sessions without a disturbance.
	otherSessionCount = 8

	// isolationRequestInterval is how often each requester sends a request, and
	// disturbancePeriod for how long.
	isolationRequestInterval = 4 * time.Millisecond
	disturbancePeriod        = 3 * time.Second

	// printInterval is how often a printing kernel prints printedBytes bytes.
	printInterval = 2500 * time.Microsecond
	printedBytes  = 16 << 10
)

// disturbedSession is session 0 of a live server, in which the disturbances happen, with
// the requesters whose round trips are measured meanwhile.
type disturbedSession struct {
	*liveServer
	kernel          protocol.Conn
	otherRequesters []*requester // in the other sessions: a console sends queries to the agent
	ownRequester    *requester   // in session 0: the agent asks for the notebook
	cellRunCount    int
}

// disturbance is something that goes wrong in session 0, and the round trips that were
// measured while it lasted.
type disturbance struct {
	name           string
	referenceIndex int // index of the disturbance whose times are the reference
	start          func(t *testing.T) (end func())
	aim            string

	otherTimes, ownTimes measurement
	maxQueuedBytes       int // longest send queue of a peer of session 0, in bytes
}

// measureIsolation measures whether a slow peer in one session delays that session or
// others.
func measureIsolation(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	s := newDisturbedSession(t, p)
	stalled := func(path, hello string) func(t *testing.T) func() {
		return func(t *testing.T) func() {
			t.Helper()
			connectPassiveConsole(t, s.address, path, hello)
			return s.startPrinting(t)
		}
	}
	nothing := func(*testing.T) func() { return func() {} }
	disturbances := []disturbance{
		{name: "nothing", start: nothing},
		{name: "nothing, again (noise)", start: nothing},
		{name: fmt.Sprintf("kernel busy: %d requests pending", pendingKernelRequests), start: s.keepKernelBusy, aim: "1.00 x"},
		{name: "kernel prints, all consoles read", start: s.startPrinting}, // work, but not a disturbance; the reference of the next two
		{name: "kernel prints, a console at /run reads nothing", referenceIndex: 3, start: stalled("/run?session=0", runHello), aim: "1.00 x"},
		{name: "kernel prints, a watcher reads nothing", referenceIndex: 3, start: stalled("/watch?session=0", ""), aim: "1.00 x"},
	}
	for range 3 {
		for i := range disturbances {
			o := &disturbances[i]
			t.Run(o.name, func(t *testing.T) { s.measureDuring(t, o) })
		}
	}
	table := [][]string{{"disturbance of one session", "compared with", "others p50", "p99", "p99 ratio", "spread", "same session p50", "p99", "p99 ratio", "spread", "aim", "longest queue"}}
	for i, o := range disturbances {
		row := []string{o.name, "", o.otherTimes.formatPercentile(50), o.otherTimes.formatPercentile(99), "", "", o.ownTimes.formatPercentile(50), o.ownTimes.formatPercentile(99), "", "", "", fmt.Sprintf("%d KiB", o.maxQueuedBytes>>10)}
		if i > 0 {
			row[1], row[10] = disturbances[o.referenceIndex].name, o.aim
			row[4], row[5] = compareRounds(o.otherTimes.percentileByRound(99), disturbances[o.referenceIndex].otherTimes.percentileByRound(99))
			row[8], row[9] = compareRounds(o.ownTimes.percentileByRound(99), disturbances[o.referenceIndex].ownTimes.percentileByRound(99))
		}
		table = append(table, row)
	}
	r.addSection("Isolation between sessions",
		fmt.Sprintf("%d sessions, in each of which a console sends a query (200 B) to the agent every %v, and one more, the *same session*, in\n"+
			"which the disturbance happens and whose agent asks for the notebook at the same interval, while a view of it reads\n"+
			"everything. Each disturbance lasts %v; 3 rounds of all of them. A kernel that prints writes %d KiB every %v. A console\n"+
			"that reads nothing is disconnected when 8 MiB wait for it.",
			otherSessionCount, isolationRequestInterval, disturbancePeriod, printedBytes>>10, printInterval))
	r.addTable(table...)
}

// newDisturbedSession starts a live server with session 0 and the others, and connects
// all requesters.
func newDisturbedSession(t *testing.T, p *assayProgram) *disturbedSession {
	t.Helper()
	h := startLiveServer(t, p, otherSessionCount+1)
	s := &disturbedSession{liveServer: h, kernel: h.session(0).kernel.openConn(t)}
	query := roundTripKinds()[0]
	s.otherRequesters = query.newRequesters(t, otherSessionCount, func(i int) peerConns { return h.connectPeers(t, i+1, query.consoleHello) })
	for _, r := range s.otherRequesters {
		r.frame = query.newRequestFrame(200)
	}
	reader := h.connectConsole(t, 0, "agent", viewHello) // as no console is a holder, the server holds the notebook
	_, err := reader.Read()
	require.NoError(t, err)
	runTasksUntilCleanup(t, []protocol.Conn{reader}, func() { copyFrames(reader, discardConn{}) })
	s.ownRequester = &requester{conn: h.session(0).agent.openConn(t), frame: newContextFrame()}
	return s
}

// discardConn is a connection that accepts every frame and drops it.
type discardConn struct{ protocol.Conn }

// Write drops a frame.
func (discardConn) Write([]byte) error { return nil }

// measureDuring starts a disturbance, measures the round trips for disturbancePeriod, and
// ends it.
func (s *disturbedSession) measureDuring(t *testing.T, o *disturbance) {
	t.Helper()
	defer o.start(t)()
	var others, same []time.Duration
	waited := 0
	var all errgroup.Group
	all.Go(func() (err error) {
		others, err = timePacedRoundTrips(s.otherRequesters, isolationRequestInterval, disturbancePeriod)
		return err
	})
	all.Go(func() (err error) {
		same, err = timePacedRoundTrips([]*requester{s.ownRequester}, isolationRequestInterval, disturbancePeriod)
		return err
	})
	all.Go(func() error { waited = s.watchLongestQueue(disturbancePeriod); return nil })
	require.NoError(t, all.Wait())
	o.otherTimes.timesByRound, o.ownTimes.timesByRound = append(o.otherTimes.timesByRound, others), append(o.ownTimes.timesByRound, same)
	o.maxQueuedBytes = max(o.maxQueuedBytes, waited)
	t.Logf("p99 of others %s, of the same session %s; longest queue %d KiB", formatDuration(percentile(others, 99)), formatDuration(percentile(same, 99)), waited>>10)
}

// watchLongestQueue samples the send queues of session 0 every 50 ms for a period and
// returns the longest that it saw, in bytes.
func (s *disturbedSession) watchLongestQueue(period time.Duration) (longest int) {
	const every = 50 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range period / every {
		<-tick.C
		for _, depth := range s.session(0).Router().QueueDepths() {
			longest = max(longest, depth.Bytes)
		}
	}
	return longest
}

// keepKernelBusy sends requests of the agent to the kernel, which answers them when end
// is called.
func (s *disturbedSession) keepKernelBusy(t *testing.T) (end func()) {
	t.Helper()
	for i := range pendingKernelRequests {
		require.NoError(t, s.ownRequester.conn.Write(fmt.Appendf(nil,
			`{"type":"agent_action","action":"get_global_info","params":{"key":"x"},"tx_id":"busy_%d"}`, i)))
	}
	asked := make([]string, 0, pendingKernelRequests)
	for len(asked) < pendingKernelRequests {
		frame, err := s.kernel.Read()
		require.NoError(t, err)
		env, err := protocol.NewEnvelopeDecoder().Decode(frame)
		require.NoError(t, err)
		if env.Type == protocol.TypeGetGlobalInfo {
			asked = append(asked, env.AgentTxID)
		}
	}
	return func() {
		for _, id := range asked {
			require.NoError(t, s.kernel.Write(fmt.Appendf(nil, `{"type":"get_global_info_response","agent_tx_id":%q,"status":"success","info":{}}`, id)))
		}
	}
}

// startPrinting has the kernel print printedBytes bytes every printInterval until end is
// called.
func (s *disturbedSession) startPrinting(t *testing.T) (end func()) {
	t.Helper()
	s.cellRunCount++
	begin := fmt.Sprintf(`{"type":"start_cell","cell_id":"c","run_sequencer":%d}`, s.cellRunCount)
	text := fmt.Sprintf(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":%q}`, strings.Repeat("total 12345678\n", printedBytes/15))
	result := fmt.Sprintf(`{"type":"cell_result","cell_id":"c","run_sequencer":%d,"status":"ok","has_exception":false}`, s.cellRunCount)
	stop, printing := make(chan struct{}), errgroup.Group{}
	printing.Go(func() error {
		tick := time.NewTicker(printInterval)
		defer tick.Stop()
		for frame := begin; ; frame = text {
			if err := s.kernel.Write([]byte(frame)); err != nil {
				return err
			}
			select {
			case <-tick.C:
			case <-stop:
				return s.kernel.Write([]byte(result))
			}
		}
	})
	return func() {
		close(stop)
		require.NoError(t, printing.Wait())
	}
}
