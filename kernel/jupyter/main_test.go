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
	"assay/kernel/jupyter"
)

// TestMain runs playAdapter if the arguments are those of "assay jupyter".
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "jupyter" {
		os.Exit(playAdapter(os.Args[2], os.Args[3]))
	}
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// playAdapter is the main function of the adapter's process; it returns the exit status.
func playAdapter(path, number string) int {
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
		return statusOfLeaks()
	}
}

// statusOfLeaks returns exit status 9 if Serve has left goroutines running, otherwise 0.
func statusOfLeaks() int {
	if err := goleak.Find(goleak.IgnoreTopFunction("os/signal.loop"), goleak.IgnoreTopFunction("os/signal.NotifyContext.func1")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 9
	}
	return 0
}
