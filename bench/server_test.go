//go:build bench

package bench_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// measureServerTraffic measures conversations between consoles and agents through the
// whole server, and how many sessions it can hold.
func measureServerTraffic(t *testing.T, r *report, p *program) {
	t.Helper()
	trips := [][]string{{"conversation", "frame", "sessions", "echo p50", "p99", "copy p50", "Assay p50", "p99", "to echo", "spread", "aim", "to copy"}}
	rates := [][]string{{
		"conversation", "frame", "sessions", "echo", "copy", "Assay", "plain", "to plain", "spread", "aim", "CPU: echo", "copy", "Assay", "plain",
	}}
	var load [][]string
	for _, c := range conversations() {
		for _, sessions := range c.sessionCounts {
			t.Run(fmt.Sprintf("%s, %d", c.name, sessions), func(t *testing.T) {
				a := newServerComparison(t, p, c, sessions)
				for _, size := range []int{200, 100 << 10} {
					trip, rate := a.measureFrameSize(t, size)
					trips, rates = append(trips, trip), append(rates, rate)
				}
				if sessions == maxSessions && load == nil {
					load = a.measureSessionsHeld(t)
				}
			})
		}
	}
	r.addSection("Consoles and agents through the server",
		"A console at `/agent` over a WebSocket on loopback, and its session's agent on a Unix socket. *query*: the console sends\n"+
			"`agent_query`, the agent answers with `agent_status` of the same size, and the console holds the notebook or is a view. *action*: the\n"+
			"agent asks `edit_cell`, the console, which holds the notebook, answers. Each session asks again when it is answered. Traces go to\n"+
			"files, the log to the null device. *echo* is a server over the same WebSocket library that answers itself, with one connection in\n"+
			"place of the two; *copy* one that copies frames between both connections and decodes nothing. But for the sessions' processes,\n"+
			"which sleep, all run in one process.")
	r.addTable(trips...)
	r.WriteString("\nFrames that came in and left again a second, two for each round trip, in the same rounds. *plain* is the asyncio server\n" +
		"`bench/asyncio_server.py`, a process of its own, with the same consoles and agents: it decodes each frame and keeps no trace. *CPU* is what\n" +
		"a round trip takes of all processors, of console and agent too, until the trace is written; what else runs here does not change it\n" +
		"much. Medians.\n\n")
	r.addTable(rates...)
	fmt.Fprintf(r, "\nSessions held: each console asks every %v (200 B, *query, holder*). They are held while the p99 of the round trips, from when one\n"+
		"was due if that was not kept, is below that in one of three tries.\n\n", heldSessionInterval)
	r.addTable(load...)
}

// maxSessions is the largest measured number of sessions. One process has file
// descriptors for no more, and at this number not for the copying server either.
const maxSessions = 1000

// serverComparison holds the servers that run the same conversation.
type serverComparison struct {
	conversation               conversation
	echo, copy, assay, asyncio []*requester // copy and plain are empty where they cannot be measured
	waitForTraces              func()
	asyncioCPU                 func() time.Duration
}

// newServerComparison starts all servers and connects the given number of sessions to
// each.
func newServerComparison(t *testing.T, p *program, c conversation, sessions int) *serverComparison {
	t.Helper()
	h := startLiveServer(t, p, sessions)
	a := &serverComparison{conversation: c, echo: c.newEchoRequesters(t, sessions), waitForTraces: h.newTraceWaiter(t, sessions)}
	if sessions < maxSessions {
		a.copy = c.newCopyRequesters(t, sessions)
	}
	a.assay = c.newRequesters(t, sessions, func(i int) peerConns { return h.connectPeers(t, i, c.consoleHello) })
	if server, missing := startAsyncioServer(t); missing == "" {
		a.asyncio = c.newRequesters(t, sessions, func(i int) peerConns { return server.connectPeers(t, i) })
		a.asyncioCPU = server.cpuTime
	}
	return a
}

// measureFrameSize measures frames of size bytes. It returns a row of round trip times
// and a row of frames per second.
func (a *serverComparison) measureFrameSize(t *testing.T, size int) (trip, rate []string) {
	t.Helper()
	asks, rounds := 3000, 5
	if size > 1<<10 {
		asks = 200
	}
	turn := func(lines []*requester, part int) func() []time.Duration {
		for _, l := range lines {
			l.frame = a.conversation.newRequestFrame(size)
		}
		return roundTripRound(t, lines, max(1, asks/part/max(1, len(lines))))
	}
	all := measureInTurns(rounds,
		candidate{runRound: turn(a.echo, 1)},
		candidate{runRound: turn(a.copy, 1)},
		candidate{runRound: turn(a.assay, 1), waitForPendingWork: a.waitForTraces},
		candidate{runRound: turn(a.asyncio, 3), otherProcessesCPU: a.asyncioCPU}, // a third: it is slow
	)
	echo, copied, assay, plain := all[0], all[1], all[2], all[3]
	frame, sessions := strconv.Itoa(size)+" B", strconv.Itoa(len(a.assay))
	if size > 1<<10 {
		frame = strconv.Itoa(size>>10) + " KiB"
	}
	ratio, spread := compareRounds(assay.percentileByRound(50), echo.percentileByRound(50))
	trip = []string{
		a.conversation.name, frame, sessions, echo.formatPercentile(50), echo.formatPercentile(99), "", assay.formatPercentile(50), assay.formatPercentile(99), ratio, spread, "1.5 x", "",
	}
	rate = []string{
		a.conversation.name, frame, sessions, formatFramesPerSecond(echo), "", formatFramesPerSecond(assay), "not measured", "", "", "10 x",
		formatDuration(median(echo.cpuPerOperation)), "", formatDuration(median(assay.cpuPerOperation)), "",
	}
	if len(a.copy) > 0 {
		trip[5], rate[4], rate[11] = copied.formatPercentile(50), formatFramesPerSecond(copied), formatDuration(median(copied.cpuPerOperation))
		trip[11], _ = compareRounds(assay.percentileByRound(50), copied.percentileByRound(50))
	}
	if len(a.asyncio) > 0 {
		rate[6], rate[13] = formatFramesPerSecond(plain), formatDuration(median(plain.cpuPerOperation))
		rate[7], rate[8] = compareRounds(assay.ratesPerSecond, plain.ratesPerSecond)
	}
	t.Log(trip, rate[3:])
	return trip, rate
}

// formatFramesPerSecond returns the median number of frames per second; a round trip has
// two frames.
func formatFramesPerSecond(s measurement) string {
	return strconv.Itoa(int(2 * median(s.ratesPerSecond)))
}

// heldSessionInterval is how often each session sends a request while the number of held
// sessions is measured.
const heldSessionInterval = 20 * time.Millisecond

// measureSessionsHeld returns the table of how many sessions each server holds at a
// request every heldSessionInterval.
func (a *serverComparison) measureSessionsHeld(t *testing.T) [][]string {
	t.Helper()
	table := [][]string{{"server", "sessions held", "p50", "p99", "with more", "p99"}}
	held := map[string]int{}
	for _, one := range []struct {
		name  string
		lines []*requester
	}{{"echo", a.echo}, {"Assay", a.assay}, {"plain", a.asyncio}} {
		for _, l := range one.lines {
			l.frame = a.conversation.newRequestFrame(200)
		}
		row := []string{one.name, "none", "", "", "", ""}
		for _, n := range []int{5, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000} {
			if n > len(one.lines) {
				break
			}
			times, p99 := bestPacedRoundTrips(t, one.lines[:n])
			if p99 > heldSessionInterval {
				row[4], row[5] = strconv.Itoa(n), formatDuration(p99)
				break
			}
			held[one.name] = n
			row[1], row[2], row[3] = strconv.Itoa(n), formatDuration(median(times)), formatDuration(p99)
		}
		t.Log(row)
		table = append(table, row)
	}
	ratio := "not measured"
	if held["plain"] > 0 {
		ratio = fmt.Sprintf("%.1f x", float64(held["Assay"])/float64(held["plain"]))
	}
	return append(table, []string{"Assay to plain", ratio, "aim 10 x", "", "", ""})
}

// bestPacedRoundTrips measures paced round trips for one second, at most three times,
// until their p99 is at most heldSessionInterval. It returns the best of the
// measurements. Other load on the machine should not count.
func bestPacedRoundTrips(t *testing.T, lines []*requester) (times []time.Duration, p99 time.Duration) {
	t.Helper()
	p99 = math.MaxInt64
	for try := 0; try < 3 && p99 > heldSessionInterval; try++ {
		now, err := timePacedRoundTrips(lines, heldSessionInterval, time.Second)
		require.NoError(t, err)
		if at := percentile(now, 99); at < p99 {
			times, p99 = now, at
		}
	}
	return times, p99
}
