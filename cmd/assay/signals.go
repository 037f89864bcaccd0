package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// interruption is the signals that end a command.
type interruption struct {
	signals chan os.Signal
	done    chan struct{}
	over    sync.WaitGroup
	mu      sync.Mutex
	first   syscall.Signal
}

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP cancels; the
// second ends the program at once, and the helper what it has started. Whoever
// called it must stop the interruption.
func (p *process) untilSignal(ctx context.Context) (context.Context, *interruption) {
	ctx, cancel := context.WithCancelCause(ctx)
	i := &interruption{signals: make(chan os.Signal, 2), done: make(chan struct{})}
	signal.Notify(i.signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	i.over.Go(func() {
		defer cancel(nil)
		for {
			select {
			case sig := <-i.signals:
				i.take(sig, cancel, p)
			case <-i.done:
				return
			}
		}
	})
	return ctx, i
}

func (i *interruption) take(sig os.Signal, cancel context.CancelCauseFunc, p *process) {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return
	}
	if i.status() != 0 {
		os.Exit(128 + int(number))
	}
	i.mu.Lock()
	i.first = number
	i.mu.Unlock()
	cancel(fmt.Errorf("interrupted by %s", unix.SignalName(number)))
	_, _ = fmt.Fprintf(p.err, "assay: %s: ending what runs (once more to end at once)\n", unix.SignalName(number))
}

// status is the exit status of an interrupted command, 0 when it was not.
func (i *interruption) status() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.first == 0 {
		return 0
	}
	return 128 + int(i.first)
}

func (i *interruption) stop() {
	signal.Stop(i.signals)
	close(i.done)
	i.over.Wait()
}
