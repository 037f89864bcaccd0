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
	// otherSessionCount are the other sessions.
	otherSessionCount = 8

	// isolationRequestInterval is how often somebody asks, and disturbancePeriod for how long.
	isolationRequestInterval = 4 * time.Millisecond
	disturbancePeriod        = 3 * time.Second

	// printInterval is how often a kernel prints printedBytes bytes.
	printInterval = 2500 * time.Microsecond
	printedBytes  = 16 << 10
)

// disturbedSession is session 0 of a live server, in which the disturbances happen, with
// the requesters whose round trips are measured meanwhile.
type disturbedSession struct {
	*liveServer
	kernel          protocol.Conn
	otherRequesters []*requester // of the other sessions: a console asks the agent
	ownRequester    *requester   // of this one: the agent asks for the notebook
	cellRunCount    int
}

// disturbance is something that goes wrong in session 0, and the round trips that were
// measured while it lasted.
type disturbance struct {
	name           string
	referenceIndex int
	start          func(t *testing.T) (end func())
	aim            string

	otherTimes, ownTimes measurement
	maxQueuedBytes       int // for one of the session, at most, in bytes
}

// measureIsolation measures whether a slow peer in one session delays that session or
// others.
func measureIsolation(t *testing.T, r *report, p *program) {
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
	ordeals := []disturbance{
		{name: "nothing", start: nothing},
		{name: "nothing, again: the noise", start: nothing},
		{name: fmt.Sprintf("its kernel is busy: %d requests wait", pendingKernelRequests), start: s.keepKernelBusy, aim: "1.00 x"},
		{name: "its kernel prints, everybody reads", start: s.startPrinting}, // which is work, and no trouble
		{name: "its kernel prints, a console at /run reads nothing", referenceIndex: 3, start: stalled("/run?session=0", runHello), aim: "1.00 x"},
		{name: "its kernel prints, a watcher reads nothing", referenceIndex: 3, start: stalled("/watch?session=0", ""), aim: "1.00 x"},
	}
	for range 3 {
		for i := range ordeals {
			o := &ordeals[i]
			t.Run(o.name, func(t *testing.T) { s.measureDuring(t, o) })
		}
	}
	table := [][]string{{"one session's trouble", "beside", "others p50", "p99", "p99 ratio", "spread", "same session p50", "p99", "p99 ratio", "spread", "aim", "waited for one"}}
	for i, o := range ordeals {
		row := []string{o.name, "", o.otherTimes.formatPercentile(50), o.otherTimes.formatPercentile(99), "", "", o.ownTimes.formatPercentile(50), o.ownTimes.formatPercentile(99), "", "", "", fmt.Sprintf("%d KiB", o.maxQueuedBytes>>10)}
		if i > 0 {
			row[1], row[10] = ordeals[o.referenceIndex].name, o.aim
			row[4], row[5] = compareRounds(o.otherTimes.percentileByRound(99), ordeals[o.referenceIndex].otherTimes.percentileByRound(99))
			row[8], row[9] = compareRounds(o.ownTimes.percentileByRound(99), ordeals[o.referenceIndex].ownTimes.percentileByRound(99))
		}
		table = append(table, row)
	}
	r.addSection("Who is slow, and who is not slowed",
		fmt.Sprintf("%d sessions, in each of which a console asks the agent (*query*, 200 B) every %v, and one more, which has trouble and whose agent\n"+
			"asks for the notebook as often (*same session*); a view of it reads what comes. Each trouble lasts %v; 3 rounds of all of them. A\n"+
			"kernel that prints prints %d KiB every %v. A console that reads nothing is sent away when 8 MiB wait for it.",
			otherSessionCount, isolationRequestInterval, disturbancePeriod, printedBytes>>10, printInterval))
	r.addTable(table...)
}

// newDisturbedSession starts a live server with session 0 and the others, and connects
// all requesters.
func newDisturbedSession(t *testing.T, p *program) *disturbedSession {
	t.Helper()
	h := startLiveServer(t, p, otherSessionCount+1)
	s := &disturbedSession{liveServer: h, kernel: h.session(0).kernel.openConn(t)}
	query := conversations()[0]
	s.otherRequesters = query.newRequesters(t, otherSessionCount, func(i int) peerConns { return h.connectPeers(t, i+1, query.consoleHello) })
	for _, l := range s.otherRequesters {
		l.frame = query.newRequestFrame(200)
	}
	reader := h.connectConsole(t, 0, "agent", viewHello) // and so the server holds the notebook
	_, err := reader.Read()
	require.NoError(t, err)
	runUntilCleanup(t, []protocol.Conn{reader}, func() { copyFrames(reader, discardConn{}) })
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
	t.Logf("others %s, same session %s; %d KiB waited for one", formatDuration(percentile(others, 99)), formatDuration(percentile(same, 99)), waited>>10)
}

// watchLongestQueue samples the send queues of session 0 every 50 ms for a period and
// returns the longest that it saw, in bytes.
func (s *disturbedSession) watchLongestQueue(within time.Duration) (longest int) {
	const every = 50 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range within / every {
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
