//go:build bench

package bench_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// actionRoute is a way of an action to the peer that answers it, and the cheapest
// implementation of it (the floor).
type actionRoute struct {
	name                                 string
	newFloorRequester, newAssayRequester func(t *testing.T, size int) *requester
}

// actionLoad defines the size and the number of the actions of a measurement.
type actionLoad struct {
	name             string
	frameBytes       int
	requestsPerRound int // of all sessions together; at least one per session
	rounds           int
	aim              string
}

// measureRouterRoundTrips measures round trips of edit_cell through a router, at several
// sizes and numbers of sessions.
func measureRouterRoundTrips(t *testing.T, r *report, _ *assayProgram) {
	t.Helper()
	r.addSection("Round trip of an action",
		"The agent sends `edit_cell` on its Unix socket and waits for the answer, with the session's trace written to a file, at 1, 10\n"+
			"and 100 sessions at once. *document*: the server's own document answers; the floor is an echo on the agent's socket, which\n"+
			"reads a frame and answers with one of the same size as the document's answer. *holder*: a console on another Unix socket\n"+
			"answers; the floor is a loop that copies frames between both sockets without decoding them. All peers run in one process.")
	t.Run("floor", checkFloorAnswer)
	table := [][]string{{"answered by", "action size", "sessions", "floor p50", "floor p99", "Assay p50", "Assay p99", "ratio", "spread", "aim"}}
	for _, way := range []actionRoute{{"document", newEchoRequester, newDocumentRequester}, {"holder", newCopyRequester, newHolderRequester}} {
		for _, l := range []actionLoad{
			{"200 B", 200, 6000, 15, "1.5 x"},
			{"1 MiB", 1 << 20, 40, 11, "5 x"},
		} {
			for _, sessions := range []int{1, 10, 100} {
				table = append(table, measureActionRoundTrips(t, way, l, sessions))
			}
		}
	}
	r.addTable(table...)
}

// measureActionRoundTrips measures one row of the table.
func measureActionRoundTrips(t *testing.T, way actionRoute, l actionLoad, sessions int) []string {
	t.Helper()
	var c pairedMeasurement
	name := fmt.Sprintf("%s, %s, %d", way.name, l.name, sessions)
	t.Run(name, func(t *testing.T) {
		floor, ours := make([]*requester, sessions), make([]*requester, sessions)
		for i := range sessions {
			floor[i], ours[i] = way.newFloorRequester(t, l.frameBytes), way.newAssayRequester(t, l.frameBytes)
		}
		n := max(1, l.requestsPerRound/sessions)
		c = measureAlternately(l.rounds, roundTripRound(t, floor, n), roundTripRound(t, ours, n))
	})
	require.NotEmpty(t, c.roundRatios)
	t.Logf("%s: %s to %s, %s", name, formatDuration(median(c.floorTimes)), formatDuration(median(c.assayTimes)), c.formatRatio())
	return []string{
		way.name, l.name, strconv.Itoa(sessions),
		formatDuration(median(c.floorTimes)), formatDuration(percentile(c.floorTimes, 99)), formatDuration(median(c.assayTimes)), formatDuration(percentile(c.assayTimes, 99)),
		c.formatRatio(), c.formatSpread(), l.aim,
	}
}

// newEchoRequester returns a requester to a peer that answers on the agent's own socket.
func newEchoRequester(t *testing.T, size int) *requester {
	t.Helper()
	agent, peer := socketPair(t)
	runTasksUntilCleanup(t, []protocol.Conn{peer}, func() { answerEdits(peer) })
	return &requester{conn: agent, frame: newEditCellRequest(size)}
}

// newCopyRequester returns a requester to a holder behind a loop that copies frames.
func newCopyRequester(t *testing.T, size int) *requester {
	t.Helper()
	agent, near := socketPair(t)
	far, holder := socketPair(t)
	runTasksUntilCleanup(t, []protocol.Conn{near, far, holder},
		func() { copyFrames(near, far) },
		func() { copyFrames(far, near) },
		func() { answerEdits(holder) })
	return &requester{conn: agent, frame: newEditCellRequest(size)}
}

// newDocumentRequester returns a requester to the server's document of a session.
func newDocumentRequester(t *testing.T, size int) *requester {
	t.Helper()
	s := newBareSession(t)
	s.attachDocument(1)
	return &requester{conn: s.attachAgent(), frame: newEditCellRequest(size), waitForTrace: s.waitForTrace}
}

// newHolderRequester returns a requester to a console that holds a session's document.
func newHolderRequester(t *testing.T, size int) *requester {
	t.Helper()
	s := newBareSession(t)
	s.attachHolder()
	return &requester{conn: s.attachAgent(), frame: newEditCellRequest(size), waitForTrace: s.waitForTrace}
}

// checkFloorAnswer checks that the floor's answers equal those of the server's document,
// so that both move the same number of bytes.
func checkFloorAnswer(t *testing.T) {
	t.Helper()
	l := newDocumentRequester(t, 200)
	require.Len(t, l.frame, 200)
	require.NoError(t, l.conn.Write(l.frame))
	answer, err := l.conn.Read()
	require.NoError(t, err)
	require.Equal(t, string(editAnswer(txIDOf(l.frame))), string(answer))
}
