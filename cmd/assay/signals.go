package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"assay/cmd/assay/internal/exit"
)

// interruptHandler waits for the signals that end a command: SIGINT, SIGTERM and SIGHUP.
type interruptHandler struct {
	signals chan os.Signal
	stopped chan struct{} // closed by stop
	waiter  sync.WaitGroup

	mu    sync.Mutex
	first syscall.Signal // 0 if there was none
}

// cancelOnSignal returns a context that the first SIGINT, SIGTERM or SIGHUP cancels. The
// second one ends the program at once, and the cleanup helper stops what it has started.
// The caller must stop the interruption.
func (p *cli) cancelOnSignal(ctx context.Context) (context.Context, *interruptHandler) {
	ctx, cancel := context.WithCancelCause(ctx)
	i := &interruptHandler{signals: make(chan os.Signal, 2), stopped: make(chan struct{})}
	signal.Notify(i.signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	i.waiter.Go(func() {
		defer cancel(nil)
		for {
			select {
			case sig := <-i.signals:
				i.handle(sig, cancel, p)
			case <-i.stopped:
				return
			}
		}
	})
	return ctx, i
}

// handle cancels the command at the first signal, and ends the program at the second one.
func (i *interruptHandler) handle(sig os.Signal, cancel context.CancelCauseFunc, p *cli) {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return
	}
	i.mu.Lock()
	isFirst := i.first == 0
	if isFirst {
		i.first = number
	}
	i.mu.Unlock()
	if !isFirst {
		os.Exit(128 + int(number))
	}
	cancel(fmt.Errorf("interrupted by %s", unix.SignalName(number)))
	_, _ = fmt.Fprintf(p.stderr, "assay: %s: ending what runs (once more to end at once)\n", unix.SignalName(number))
}

// exitError returns an error with the exit status of a command that was interrupted, or
// nil if it was not.
func (i *interruptHandler) exitError() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.first == 0 {
		return nil
	}
	return exit.SignalError(i.first)
}

// exitErrorOr returns exitError if the command was interrupted, otherwise err.
func (i *interruptHandler) exitErrorOr(err error) error {
	if interrupted := i.exitError(); interrupted != nil {
		return interrupted
	}
	return err
}

// stop waits for no more signals. Their default actions are in force again.
func (i *interruptHandler) stop() {
	signal.Stop(i.signals)
	close(i.stopped)
	i.waiter.Wait()
}
