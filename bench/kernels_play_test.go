//go:build bench

package bench_test

import (
	"context"
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

// The players that are measured in turns.
const (
	alone      = iota // our kernel
	behind            // our kernel behind `assay serve`, and a console
	adapter           // an ipykernel behind `assay jupyter`
	client            // an ipykernel that jupyter_client drives
	web               // an ipykernel behind Jupyter's server
	barest            // barekernel.py
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
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), k.python.Executable, "barekernel.py", "3")
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
