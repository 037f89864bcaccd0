package jupyter_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"assay/internal/protocol"
	"assay/internal/subprocess/subprocesstest"
	"assay/kernel/jupyter"
)

// TestMain runs the adapter instead of the tests if the process was started like "assay
// jupyter".
func TestMain(m *testing.M) {
	subprocesstest.RunTestsOrRole(m, map[string]subprocesstest.Role{"jupyter": func(args []string) int { return runAdapterProcess(args[0], args[1]) }})
}

// runAdapterProcess is the main function of an adapter process: path is its kernel.json,
// number the descriptor of its socket. It returns the exit status.
func runAdapterProcess(path, number string) int {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return 2
	}
	socket, err := net.FileConn(os.NewFile(uintptr(fd), "server"))
	if err != nil {
		return 2
	}
	spec, err := jupyter.ReadSpec(path, os.Environ())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err = jupyter.Serve(ctx, protocol.NewStream(socket, 0), spec, jupyter.Config{Environ: os.Environ(), Stderr: os.Stderr})
	var died *jupyter.ExitError
	switch {
	case errors.As(err, &died):
		fmt.Fprintln(os.Stderr, died)
		died.ReraiseSignal()
		return died.Status
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 3
	default:
		return goroutineLeakStatus()
	}
}

// goroutineLeakStatus returns the exit status 9 if Serve has left goroutines running,
// otherwise 0.
func goroutineLeakStatus() int {
	if err := goleak.Find(goleak.IgnoreTopFunction("os/signal.loop"), goleak.IgnoreTopFunction("os/signal.NotifyContext.func1")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	return 0
}
