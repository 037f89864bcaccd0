//go:build bench

package bench_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// route is a way of an action to its answer, and the least that way costs.
type route struct {
	name        string
	floor, ours func(t *testing.T, size int) *line
}

// load is how large actions are, and how often they are asked in a round.
type load struct {
	name   string
	size   int // bytes
	asks   int // of all sessions together, but at least one of each
	rounds int
	aim    string
}

func measureRoundTrips(t *testing.T, r *report, _ *program) {
	t.Helper()
	r.section("Round trip of an action",
		"`edit_cell` from the agent's Unix socket to whoever holds the document and its answer back, with the session's trace written to a\n"+
			"file, at 1, 10 and 100 sessions at once. *document*: the server's own document answers; the floor is an echo on the agent's socket,\n"+
			"which reads a frame and answers with one of the size of the document's answer. *holder*: a console at another Unix socket answers;\n"+
			"the floor is a loop that copies frames between both sockets and decodes nothing. All peers share one process.")
	t.Run("floor", checkFloor)
	table := [][]string{{"answered by", "action", "sessions", "floor p50", "floor p99", "Assay p50", "Assay p99", "ratio", "spread", "aim"}}
	for _, way := range []route{{"document", echoed, toDocument}, {"holder", copied, toHolder}} {
		for _, l := range []load{
			{"200 B", 200, 6000, 15, "1.5 x"},
			{"1 MiB", 1 << 20, 40, 11, "5 x"},
		} {
			for _, sessions := range []int{1, 10, 100} {
				table = append(table, measureRoute(t, way, l, sessions))
			}
		}
	}
	r.table(table...)
}

// measureRoute measures one row of the table.
func measureRoute(t *testing.T, way route, l load, sessions int) []string {
	t.Helper()
	var c contest
	name := fmt.Sprintf("%s, %s, %d", way.name, l.name, sessions)
	t.Run(name, func(t *testing.T) {
		floor, ours := make([]*line, sessions), make([]*line, sessions)
		for i := range sessions {
			floor[i], ours[i] = way.floor(t, l.size), way.ours(t, l.size)
		}
		n := max(1, l.asks/sessions)
		c = alternate(l.rounds, ask(t, floor, n), ask(t, ours, n))
	})
	require.NotEmpty(t, c.ratios)
	t.Logf("%s: %s to %s, %s", name, show(median(c.floor)), show(median(c.ours)), c.ratio())
	return []string{
		way.name, l.name, strconv.Itoa(sessions),
		show(median(c.floor)), show(percentile(c.floor, 99)), show(median(c.ours)), show(percentile(c.ours, 99)),
		c.ratio(), c.spread(), l.aim,
	}
}

// echoed is a line to a peer that answers on the agent's own socket.
func echoed(t *testing.T, size int) *line {
	t.Helper()
	agent, peer := sockets(t)
	inBackground(t, []protocol.Conn{peer}, func() { answerEdits(peer) })
	return &line{asker: agent, frame: editFrame(size)}
}

// copied is a line to a holder behind a loop that copies.
func copied(t *testing.T, size int) *line {
	t.Helper()
	agent, near := sockets(t)
	far, holder := sockets(t)
	inBackground(t, []protocol.Conn{near, far, holder},
		func() { copyFrames(near, far) },
		func() { copyFrames(far, near) },
		func() { answerEdits(holder) })
	return &line{asker: agent, frame: editFrame(size)}
}

// toDocument is a line to a session's own document.
func toDocument(t *testing.T, size int) *line {
	t.Helper()
	s := newBare(t)
	s.document(1)
	return &line{asker: s.agent(), frame: editFrame(size), settle: s.settle}
}

// toHolder is a line to a console that holds a session's document.
func toHolder(t *testing.T, size int) *line {
	t.Helper()
	s := newBare(t)
	s.holder()
	return &line{asker: s.agent(), frame: editFrame(size), settle: s.settle}
}

// checkFloor makes sure that the floor answers with as much as the document.
func checkFloor(t *testing.T) {
	t.Helper()
	l := toDocument(t, 200)
	require.Len(t, l.frame, 200)
	require.NoError(t, l.asker.Write(l.frame))
	answer, err := l.asker.Read()
	require.NoError(t, err)
	require.Equal(t, string(editAnswer(txOf(l.frame))), string(answer))
}
