//go:build bench

package bench_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/kernel"
	"assay/kernel/jupyter"
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

// The players that are measured in turns.
const (
	alone      = iota // our kernel
	behind            // our kernel behind `assay serve`, and a console
	adapter           // an ipykernel behind `assay jupyter`
	client            // an ipykernel that jupyter_client drives
	web               // an ipykernel behind Jupyter's server
	barest            // minimal_kernel.py
	allPlayers        // how many
)

// players are kernels that wait for cells; nil: it cannot be measured.
type players [allPlayers]player

func (k *kit) players(t *testing.T) players {
	t.Helper()
	console, _ := k.serve(t).open(t)
	p := players{alone: k.lasting(t, kernel.Config{}), behind: console, barest: k.bare(t)}
	if k.beside {
		p[adapter] = k.lasting(t, kernel.Config{Command: k.adapter(t)})
		driven := newJupyterClient(t)
		driven.start(oneAndOne)
		p[client], p[web] = driven, newJupyterServer(t).start(t)
	}
	return p
}

// inTurns lets those who are there do the same n times in each round.
func (p players) inTurns(rounds, n int, play func(player, string) time.Duration, code string) []series {
	contestants := make([]contestant, len(p))
	for i, one := range p {
		contestants[i].turn = absent
		if one != nil {
			contestants[i].turn = turns(n, func(code string) time.Duration { return play(one, code) }, code)
		}
	}
	return inTurns(rounds, contestants...)
}

// lasting is a kernel that is there until the test ends.
func (k *kit) lasting(t *testing.T, cfg kernel.Config) *cells {
	t.Helper()
	one := k.start(t, cfg)
	t.Cleanup(func() { one.stop(t) })
	return one.cells
}

// adapter is the command of an ipykernel as `--kernel jupyter:python3` starts it.
func (k *kit) adapter(t *testing.T) []string {
	t.Helper()
	spec, err := jupyter.FindSpec(t.Context(), "python3", []string{"PATH=/usr/bin:/bin"})
	require.NoError(t, err)
	return []string{k.path, "jupyter", spec.Path}
}

// bare starts the least that runs cells.
func (k *kit) bare(t *testing.T) *cells {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), k.python.Executable, "minimal_kernel.py", "3")
	cmd.ExtraFiles = []*os.File{theirs}
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	socket, err := net.FileConn(ours)
	require.NoError(t, err)
	require.NoError(t, ours.Close())
	conn := protocol.NewStream(socket, 0)
	t.Cleanup(func() {
		_ = conn.Close(protocol.CloseNormal, "") // it ends at that
		_ = cmd.Wait()
	})
	return newCells(t, conn)
}
