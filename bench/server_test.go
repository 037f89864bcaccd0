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

// measureWire measures conversations between consoles and agents through the
// whole server, and how many sessions it holds.
func measureWire(t *testing.T, r *report, p *program) {
	t.Helper()
	trips := [][]string{{"conversation", "frame", "sessions", "echo p50", "p99", "copy p50", "Assay p50", "p99", "to echo", "spread", "aim", "to copy"}}
	rates := [][]string{{
		"conversation", "frame", "sessions", "echo", "copy", "Assay", "plain", "to plain", "spread", "aim", "CPU: echo", "copy", "Assay", "plain",
	}}
	var load [][]string
	for _, c := range conversations() {
		for _, sessions := range c.sessions {
			t.Run(fmt.Sprintf("%s, %d", c.name, sessions), func(t *testing.T) {
				a := gather(t, p, c, sessions)
				for _, size := range []int{200, 100 << 10} {
					trip, rate := a.measure(t, size)
					trips, rates = append(trips, trip), append(rates, rate)
				}
				if sessions == mostSessions && load == nil {
					load = a.measureHeld(t)
				}
			})
		}
	}
	r.section("Consoles and agents through the server",
		"A console at `/agent` over a WebSocket on loopback, and its session's agent on a Unix socket. *query*: the console sends\n"+
			"`agent_query`, the agent answers with `agent_status` of the same size, and the console holds the notebook or is a view. *action*: the\n"+
			"agent asks `edit_cell`, the console, which holds the notebook, answers. Each session asks again when it is answered. Traces go to\n"+
			"files, the log to the null device. *echo* is a server over the same WebSocket library that answers itself, with one connection in\n"+
			"place of the two; *copy* one that copies frames between both connections and decodes nothing. But for the sessions' processes,\n"+
			"which sleep, all run in one process.")
	r.table(trips...)
	r.WriteString("\nFrames that came in and left again a second, two for each round trip, in the same rounds. *plain* is the asyncio server\n" +
		"`bench/asyncio_server.py`, a process of its own, with the same consoles and agents: it decodes each frame and keeps no trace. *CPU* is what\n" +
		"a round trip takes of all processors, of console and agent too, until the trace is written; what else runs here does not change it\n" +
		"much. Medians.\n\n")
	r.table(rates...)
	fmt.Fprintf(r, "\nSessions held: each console asks every %v (200 B, *query, holder*). They are held while the p99 of the round trips, from when one\n"+
		"was due if that was not kept, is below that in one of three tries.\n\n", pace)
	r.table(load...)
}

// mostSessions is as many as the descriptors of one process suffice for, and
// that without the copying server.
const mostSessions = 1000

// arena is contestants with the same conversation.
type arena struct {
	c                       conversation
	echo, copy, ours, plain []*line // copy and plain are empty where they cannot be measured
	settle                  func()
	plainCPU                func() time.Duration
}

func gather(t *testing.T, p *program, c conversation, sessions int) *arena {
	t.Helper()
	h := newHouse(t, p, sessions)
	a := &arena{c: c, echo: c.echo(t, sessions), settle: h.settle(t, sessions)}
	if sessions < mostSessions {
		a.copy = c.copying(t, sessions)
	}
	a.ours = c.lines(t, sessions, func(i int) ends { return h.ends(t, i, c.hello) })
	if server, missing := startBaseline(t); missing == "" {
		a.plain = c.lines(t, sessions, func(i int) ends { return server.ends(t, i) })
		a.plainCPU = server.cpu
	}
	return a
}

// measure returns a row of round trips and one of frames a second.
func (a *arena) measure(t *testing.T, size int) (trip, rate []string) {
	t.Helper()
	asks, rounds := 3000, 5
	if size > 1<<10 {
		asks = 200
	}
	turn := func(lines []*line, part int) func() []time.Duration {
		for _, l := range lines {
			l.frame = a.c.frame(size)
		}
		return ask(t, lines, max(1, asks/part/max(1, len(lines))))
	}
	all := inTurns(rounds,
		contestant{turn: turn(a.echo, 1)},
		contestant{turn: turn(a.copy, 1)},
		contestant{turn: turn(a.ours, 1), settle: a.settle},
		contestant{turn: turn(a.plain, 3), cpu: a.plainCPU}, // a third: it is slow
	)
	echo, copied, assay, plain := all[0], all[1], all[2], all[3]
	frame, sessions := strconv.Itoa(size)+" B", strconv.Itoa(len(a.ours))
	if size > 1<<10 {
		frame = strconv.Itoa(size>>10) + " KiB"
	}
	ratio, spread := over(assay.each(50), echo.each(50))
	trip = []string{
		a.c.name, frame, sessions, echo.show(50), echo.show(99), "", assay.show(50), assay.show(99), ratio, spread, "1.5 x", "",
	}
	rate = []string{
		a.c.name, frame, sessions, framesOf(echo), "", framesOf(assay), "not measured", "", "", "10 x",
		show(median(echo.cpu)), "", show(median(assay.cpu)), "",
	}
	if len(a.copy) > 0 {
		trip[5], rate[4], rate[11] = copied.show(50), framesOf(copied), show(median(copied.cpu))
		trip[11], _ = over(assay.each(50), copied.each(50))
	}
	if len(a.plain) > 0 {
		rate[6], rate[13] = framesOf(plain), show(median(plain.cpu))
		rate[7], rate[8] = over(assay.rates, plain.rates)
	}
	t.Log(trip, rate[3:])
	return trip, rate
}

// framesOf is how many frames went through a second.
func framesOf(s series) string { return strconv.Itoa(int(2 * median(s.rates))) }

// pace is how often each session asks where it is found out how many are held.
const pace = 20 * time.Millisecond

// measureHeld finds out how many sessions can ask at that pace.
func (a *arena) measureHeld(t *testing.T) [][]string {
	t.Helper()
	table := [][]string{{"server", "sessions held", "p50", "p99", "with more", "p99"}}
	held := map[string]int{}
	for _, one := range []struct {
		name  string
		lines []*line
	}{{"echo", a.echo}, {"Assay", a.ours}, {"plain", a.plain}} {
		for _, l := range one.lines {
			l.frame = a.c.frame(200)
		}
		row := []string{one.name, "none", "", "", "", ""}
		for _, n := range []int{5, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000} {
			if n > len(one.lines) {
				break
			}
			times, p99 := bestPaced(t, one.lines[:n])
			if p99 > pace {
				row[4], row[5] = strconv.Itoa(n), show(p99)
				break
			}
			held[one.name] = n
			row[1], row[2], row[3] = strconv.Itoa(n), show(median(times)), show(p99)
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

// bestPaced lets lines ask at the pace until their p99 is below it, but at most
// three times: what else the machine does is not theirs.
func bestPaced(t *testing.T, lines []*line) (times []time.Duration, p99 time.Duration) {
	t.Helper()
	p99 = math.MaxInt64
	for try := 0; try < 3 && p99 > pace; try++ {
		now, err := paced(lines, pace, time.Second)
		require.NoError(t, err)
		if at := percentile(now, 99); at < p99 {
			times, p99 = now, at
		}
	}
	return times, p99
}
