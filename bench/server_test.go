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
func measureServerTraffic(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	trips := [][]string{{"conversation", "frame", "sessions", "echo p50", "p99", "copy p50", "Assay p50", "p99", "ratio to echo", "spread", "aim", "ratio to copy"}}
	rates := [][]string{{
		"conversation", "frame", "sessions", "echo", "copy", "Assay", "asyncio", "ratio to asyncio", "spread", "aim", "CPU: echo", "copy", "Assay", "asyncio",
	}}
	var load [][]string
	for _, c := range roundTripKinds() {
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
			"`agent_query` and the agent answers with `agent_status` of the same size; the console is the notebook's holder or a view.\n"+
			"*action*: the agent sends `edit_cell` and the console, as the holder, answers. Each session sends its next request as soon as\n"+
			"it has the answer. Traces go to files, the log to the null device. *echo* is a server with the same WebSocket library that\n"+
			"answers itself, over one connection instead of two; *copy* is one that copies frames between both connections without\n"+
			"decoding them. Everything runs in one process, except the sessions' own processes, which sleep.")
	r.addTable(trips...)
	r.WriteString("\nFrames per second in the same rounds, two for each round trip: a frame that comes in and goes out again counts once.\n" +
		"*asyncio* is `bench/asyncio_server.py`, a separate process with the same consoles and agents: it decodes each frame and keeps\n" +
		"no trace. *CPU* is the CPU time of one round trip, including console and agent, until the trace is written; other load on the\n" +
		"machine changes it little. All figures are medians.\n\n")
	r.addTable(rates...)
	fmt.Fprintf(r, "\nSessions held: each console sends a request every %v (200 B, *query, holder*). A number of sessions is held if the p99 of\n"+
		"the round trips is at most that interval in one of three tries. A request that is sent late counts from when it was due.\n\n", heldSessionInterval)
	r.addTable(load...)
}

// maxSessions is the largest measured number of sessions. One process has file
// descriptors for no more, and at this number not for the copying server either.
const maxSessions = 1000

// serverComparison holds the servers that run the same conversation.
type serverComparison struct {
	conversation               roundTripKind
	echo, copy, assay, asyncio []*requester // copy and asyncio are empty if they cannot be measured
	waitForTraces              func()
	asyncioCPU                 func() time.Duration
}

// newServerComparison starts all servers and connects the given number of sessions to
// each.
func newServerComparison(t *testing.T, p *assayProgram, c roundTripKind, sessions int) *serverComparison {
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
	turn := func(requesters []*requester, part int) func() []time.Duration {
		for _, r := range requesters {
			r.frame = a.conversation.newRequestFrame(size)
		}
		return roundTripRound(t, requesters, max(1, asks/part/max(1, len(requesters))))
	}
	all := measureInTurns(rounds,
		measuredSystem{runRound: turn(a.echo, 1)},
		measuredSystem{runRound: turn(a.copy, 1)},
		measuredSystem{runRound: turn(a.assay, 1), waitForPendingWork: a.waitForTraces},
		measuredSystem{runRound: turn(a.asyncio, 3), otherProcessesCPU: a.asyncioCPU}, // a third of the requests, because it is slow
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
	table := [][]string{{"server", "sessions held", "p50", "p99", "first number not held", "p99"}}
	held := map[string]int{}
	for _, one := range []struct {
		name       string
		requesters []*requester
	}{{"echo", a.echo}, {"Assay", a.assay}, {"asyncio", a.asyncio}} {
		for _, r := range one.requesters {
			r.frame = a.conversation.newRequestFrame(200)
		}
		row := []string{one.name, "none", "", "", "", ""}
		for _, n := range []int{5, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000} {
			if n > len(one.requesters) {
				break
			}
			times, p99 := bestPacedRoundTrips(t, one.requesters[:n])
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
	if held["asyncio"] > 0 {
		ratio = fmt.Sprintf("%.1f x", float64(held["Assay"])/float64(held["asyncio"]))
	}
	return append(table, []string{"Assay / asyncio", ratio, "aim 10 x", "", "", ""})
}

// bestPacedRoundTrips measures paced round trips for one second, at most three times,
// until their p99 is at most heldSessionInterval. It returns the best of the
// measurements. Other load on the machine should not count.
func bestPacedRoundTrips(t *testing.T, requesters []*requester) (times []time.Duration, p99 time.Duration) {
	t.Helper()
	p99 = math.MaxInt64
	for try := 0; try < 3 && p99 > heldSessionInterval; try++ {
		now, err := timePacedRoundTrips(requesters, heldSessionInterval, time.Second)
		require.NoError(t, err)
		if at := percentile(now, 99); at < p99 {
			times, p99 = now, at
		}
	}
	return times, p99
}
