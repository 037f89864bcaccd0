// Package jupyter puts an installed Jupyter kernel behind Assay's kernel
// protocol. [FindSpec] finds one, in the server; [Serve] is a process of its own
// between the server and the kernel: to the server it is a kernel like any
// other, to the kernel a Jupyter client.
//
//	server ── protocol ── Serve ── Jupyter's messages, over Unix sockets ── kernel
//
// One goroutine does everything that has an order. Others only read: from the
// server, from each channel of the kernel, from its output descriptors.
package jupyter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"assay/internal/protocol"
)

const (
	// protocolVersion is the one of the kernel protocol, for ready.
	protocolVersion = 1

	// strikeEvery is how long a run that was interrupted has until it is
	// interrupted again.
	strikeEvery = time.Second

	// idlePatience is how long after its reply, and after the last that was heard,
	// a run waits to be told that it is over: a kernel that publishes more than its
	// ZeroMQ holds loses messages, that one included.
	idlePatience = 10 * time.Second
)

// errServerGone is the end that is wanted: the server has closed its socket.
var errServerGone = errors.New("the server has closed its socket")

// Config says where a kernel runs. Its zero value is an empty environment.
type Config struct {
	// Environ is the kernel's environment, to which its kernelspec adds. The
	// folder of its sockets is made in its TMPDIR, default /tmp.
	Environ []string

	// Stderr gets what the kernel prints while nothing runs, and remarks for
	// people; nil drops it. It must be safe for concurrent use.
	Stderr io.Writer
}

// Serve starts the kernel in the working folder of this process, says ready on
// conn, and runs what it is asked there until the server closes conn or ctx is
// done; it then returns nil, with the kernel ended, within about a second. When
// the kernel ends by itself the error is an [*ExitError]; any other says why it
// could not be used. It closes conn. While it runs this process takes no notice
// of SIGINT, which is for the kernel.
func Serve(ctx context.Context, conn protocol.Conn, spec Spec, cfg Config) error {
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	unheard := make(chan os.Signal, 1) // nobody takes from it: overflow is dropped
	signal.Notify(unheard, syscall.SIGINT)
	defer signal.Stop(unheard)

	life, cancel := context.WithCancelCause(ctx)
	a := &adapter{spec: spec, cfg: cfg, requests: make(chan []byte), launched: make(chan launched, 1)}
	a.out = &sender{conn: conn, failed: cancel}
	a.schedule = schedule{out: a.out, idle: true}
	var reader sync.WaitGroup
	reader.Go(func() { cancel(a.read(life, conn)) })
	err := a.serve(life)
	cancel(err)
	err = errors.Join(err, a.close(), conn.Close(protocol.CloseNormal, ""))
	reader.Wait()
	if ctx.Err() != nil || errors.Is(err, errServerGone) {
		return nil
	}
	return err
}

// adapter is one kernel's way through the protocol. All of it belongs to the
// goroutine that is in serve.
type adapter struct {
	spec     Spec
	cfg      Config
	out      *sender
	schedule schedule
	kernel   *kernel // nil while it is started anew
	tells    bool    // of its globals
	run      run     // what runs
	broken   error   // with which a channel ended
	last     []byte  // the newest text of what ran last, for a post-mortem

	requests  chan []byte   // of the server
	launching bool          // something is to come on launched
	launched  chan launched // the kernel that was started anew; holds one
}

// launched is what came of starting the kernel anew.
type launched struct {
	kernel *kernel
	err    error
}

// read hands over what the server sends, and returns why that is over.
func (a *adapter) read(ctx context.Context, conn protocol.Conn) error {
	for {
		body, err := conn.Read()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET): // which is an end too, with frames unread
			return errServerGone
		case err != nil:
			return fmt.Errorf("read from the server: %w", err)
		}
		select {
		case a.requests <- body:
		case <-ctx.Done():
			return nil
		}
	}
}

// serve is the adapter's life.
func (a *adapter) serve(ctx context.Context) (err error) {
	if a.kernel, err = launch(ctx, a.spec, a.cfg.Environ, a.cfg.Stderr); err != nil {
		return err
	}
	a.tells = a.kernel.language.about != nil
	a.ready()
	for {
		a.advance(ctx)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case body := <-a.requests:
			a.handle(body)
		case <-a.bell():
			a.takeIn()
			if a.broken != nil {
				return a.channelEnded()
			}
		case <-a.exited():
			return a.died()
		case fresh := <-a.launched:
			a.launching = false
			if fresh.err != nil {
				return fresh.err
			}
			a.restarted(fresh.kernel)
		case <-a.run.strike:
			a.interrupt()
		case <-a.run.overdue:
			a.stop()
		case <-a.run.patience:
			a.giveUp()
		}
	}
}

// bell rings when there is something in the kernel's inbox.
func (a *adapter) bell() <-chan struct{} {
	if a.kernel == nil {
		return nil
	}
	return a.kernel.inbox.bell
}

// exited is closed when the kernel has ended.
func (a *adapter) exited() <-chan struct{} {
	if a.kernel == nil {
		return nil
	}
	return a.kernel.process.exited
}

func (a *adapter) ready() {
	l := a.kernel.language
	a.out.send(protocol.Ready{
		Type: protocol.TypeReady, Language: l.name, Version: l.version, PID: a.kernel.process.pid(),
		Protocol: protocolVersion, Unsupported: l.lacks(),
	})
}

// channelEnded is what ends the adapter when a channel of the kernel has: the
// kernel's exit, or, where it lives on and can no longer be used, just that.
func (a *adapter) channelEnded() error {
	select {
	case <-a.exited():
		return a.died()
	case <-time.After(endNotice):
		return fmt.Errorf("the Jupyter kernel %s: %w", a.spec.Name, a.broken)
	}
}

// died passes on what the kernel has said last, and returns how it ended.
func (a *adapter) died() error {
	a.kernel.finish()
	a.takeIn()
	if len(a.last) > 0 {
		_, _ = fmt.Fprintf(a.cfg.Stderr, "%s\n", a.last) // there is nobody to tell
	}
	return a.kernel.process.exit
}

// restart begins to start the kernel anew.
func (a *adapter) restart(ctx context.Context) {
	old := a.kernel
	a.kernel, a.launching = nil, true
	remark(a.cfg.Stderr, "the kernel %s is started anew, as was asked", a.spec.Name)
	go func() { // close waits for it, or serve
		if err := old.stop(); err != nil {
			remark(a.cfg.Stderr, "the old kernel: %v", err)
		}
		k, err := launch(ctx, a.spec, a.cfg.Environ, a.cfg.Stderr)
		a.launched <- launched{k, err}
	}()
}

func (a *adapter) restarted(k *kernel) {
	a.kernel, a.broken = k, nil
	a.tells = k.language.about != nil
	a.finish()
}

// close ends the kernel. Its context must be done.
func (a *adapter) close() error {
	if a.launching {
		a.kernel = (<-a.launched).kernel
	}
	if a.kernel == nil {
		return nil
	}
	err := a.kernel.stop()
	a.kernel.spill()
	return err
}
