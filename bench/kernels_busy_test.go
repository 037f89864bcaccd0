//go:build bench

package bench_test

import (
	"fmt"
	"testing"
	"time"

	"assay/kernel"
)

// measureCells measures what kernels do with cells once they are there.
func (k *kit) measureCells(t *testing.T) (beside, floors [][]string) {
	t.Helper()
	p := k.players(t)
	runs := p.inTurns(5, 50, player.run, oneAndOne)
	p[barest] = nil // it can do nothing else
	firsts := p.inTurns(3, 3, player.first, thenSleeps)
	stops := p.inTurns(3, 5, player.interrupt, busyLoop)
	beside = [][]string{
		rival("`1 + 1` and back", "0.3 ms", runs[alone], "jupyter_client", runs[client]),
		rival("the same, console and server", "0.6 ms", runs[behind], "jupyter_server", runs[web]),
		rival("first text of a running cell", "15 ms", firsts[alone], "jupyter_client", firsts[client]),
		rival("the same, console and server", "15 ms", firsts[behind], "jupyter_server", firsts[web]),
		rival("busy loop stopped", "5 ms", stops[alone], "jupyter_client", stops[client]),
		rival("the same, console and server", "", stops[behind], "jupyter_server", stops[web]),
	}
	floors = [][]string{
		above("`1 + 1` and back, bare loop", "", runs[barest], runs[barest]),
		above("the same, kernel", "3 x", runs[alone], runs[barest]),
	}
	if k.beside {
		floors = append(floors,
			above("`1 + 1` and back, ipykernel by jupyter_client", "", runs[client], runs[client]),
			above("the same, ipykernel by `assay jupyter`", "", runs[adapter], runs[client]))
	}
	return beside, floors
}

// measureSummaries measures how long a kernel takes to tell of its names while
// it is busy.
func (k *kit) measureSummaries(t *testing.T) (beside, floors [][]string) {
	t.Helper()
	const rounds, times = 5, 100
	numbers, lists := k.lasting(t, kernel.Config{}), k.lasting(t, kernel.Config{})
	numbers.run(fmt.Sprintf(fiftyNames, "i"))
	lists.run(fmt.Sprintf(fiftyNames, "list(range(1000))"))
	theirs := absent
	if k.beside {
		driven := newJupyterClient(t)
		driven.start(oneAndOne)
		theirs = func() []time.Duration { return driven.asked(busyLoop, times) }
	}
	all := inTurns(rounds,
		contestant{turn: func() []time.Duration { return numbers.summaries(busyLoop, times) }},
		contestant{turn: func() []time.Duration { return lists.summaries(busyLoop, times) }},
		contestant{turn: theirs},
	)
	return [][]string{
		rival("summary beside a busy loop, numbers", "5 ms, p99 25 ms", all[0], "jupyter_client, `kernel_info`", all[2]),
		rival("the same, lists", "5 ms, p99 25 ms", all[1], "jupyter_client, `kernel_info`", all[2]),
	}, nil
}
