// Package jupyter puts an installed Jupyter kernel behind Assay's kernel protocol. The
// server finds one with [FindSpec] and runs [Serve] in a process between itself and the
// kernel. To the server this process is a kernel like any other; to the kernel it is a
// Jupyter client.
//
//	server ── kernel protocol ── Serve ── Jupyter's messages, over Unix sockets ── kernel
//
// One goroutine owns all state. The others only read: from the server, from each
// channel of the kernel, and from its stdout and stderr.
//
// If the kernel ends by itself, Serve returns an [*ExitError] and the process ends in
// the same way. If the server closes its socket, Serve ends the kernel within about a
// second. If the kernel cannot be restarted when globals are reset, Serve returns the
// error.
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
	// kernelProtocolVersion is the version of the kernel protocol in the ready
	// message.
	kernelProtocolVersion = 1

	// interruptInterval is the time between two interrupts of a stopped run that goes on.
	interruptInterval = time.Second

	// endTimeout is how long a run waits for the second of the two messages that end it, the
	// execute_reply and the status idle, counted from the first and from the last message
	// received on the channel of the second. A kernel that publishes more than its ZeroMQ
	// buffers loses messages, and the status may be among them. ipykernel sends no reply if an
	// interrupt comes just before or after the code.
	endTimeout = 10 * time.Second
)

// errServerClosed is the reason for a normal end of the adapter: the server has closed its
// socket.
var errServerClosed = errors.New("the server has closed its socket")

// Config configures [Serve]. The zero value gives the kernel an empty environment and discards
// what it prints.
type Config struct {
	// Environ is the kernel's environment; its kernelspec may add variables. The folder
	// of the kernel's sockets is made in TMPDIR, by default /tmp.
	Environ []string

	// Stderr gets what the kernel prints while nothing runs, and notices for people. It
	// must be safe for concurrent use. nil discards.
	Stderr io.Writer
}

// Serve starts the Jupyter kernel of spec in the current folder, sends the ready message on
// conn and handles the server's requests until the server closes conn or ctx ends. It then
// ends the kernel within about a second and returns nil. If the kernel ends by itself the
// error is an [*ExitError]; any other error says why the kernel could not be used. Serve
// closes conn. While it runs, this process ignores SIGINT, which is meant for the kernel.
func Serve(ctx context.Context, conn protocol.Conn, spec Spec, cfg Config) error {
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	ignored := make(chan os.Signal, 1) // never received from
	signal.Notify(ignored, syscall.SIGINT)
	defer signal.Stop(ignored)

	serveCtx, cancel := context.WithCancelCause(ctx)
	a := &adapter{spec: spec, cfg: cfg, requests: make(chan []byte), restarts: make(chan restartResult, 1)}
	a.server = &serverWriter{conn: conn, onFailure: cancel}
	a.tasks = taskQueue{server: a.server, idleAnnounced: true}
	var reader sync.WaitGroup
	reader.Go(func() { cancel(a.readServerRequests(serveCtx, conn)) })
	err := a.serve(serveCtx)
	cancel(err)
	err = errors.Join(err, a.close(), conn.Close(protocol.CloseNormal, ""))
	reader.Wait()
	if ctx.Err() != nil || errors.Is(err, errServerClosed) {
		return nil
	}
	return err
}

// adapter translates between the server's kernel protocol and the messages of one Jupyter
// kernel. Only the goroutine that runs serve uses it, except where a field says otherwise.
type adapter struct {
	spec               Spec
	cfg                Config
	server             *serverWriter
	tasks              taskQueue
	kernel             *kernel    // nil while it is restarted
	canDescribeGlobals bool       // whether the kernel's language has a summary of its globals
	current            currentRun // what the kernel runs
	channelErr         error      // why a channel to the kernel has ended; nil: all are open
	lastText           []byte     // the newest text of the current or last run, for the report of a crash

	requests   chan []byte        // messages from the server
	restarting bool               // a restart is in progress; its result comes on restarts
	restarts   chan restartResult // holds the result of one restart
}

// restartResult is the result of restarting the kernel: the new kernel, or the error that
// prevented its start.
type restartResult struct {
	kernel *kernel
	err    error
}

// readServerRequests reads messages from the server and hands each to serve through the channel
// requests. It returns the reason why it stopped: errServerClosed, another read error, or nil
// if ctx ended.
func (a *adapter) readServerRequests(ctx context.Context, conn protocol.Conn) error {
	for {
		body, err := conn.Read()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET): // the latter if frames of ours were unread
			return errServerClosed
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

// serve starts the kernel and then handles requests from the server and events from the
// kernel. It returns the cause of ctx when ctx ends, an [*ExitError] if the kernel exits, or
// another error if the kernel cannot be started or its connection breaks.
func (a *adapter) serve(ctx context.Context) (err error) {
	if a.kernel, err = launchKernel(ctx, a.spec, a.cfg.Environ, a.cfg.Stderr); err != nil {
		return err
	}
	a.canDescribeGlobals = a.kernel.language.globalsRequest != nil
	a.sendReady()
	for {
		a.startNextTask(ctx)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case body := <-a.requests:
			a.handleRequest(body)
		case <-a.eventsReady():
			a.handleEvents()
			if a.channelErr != nil {
				return a.channelEndError()
			}
		case <-a.kernelExited():
			return a.kernelExitError()
		case restarted := <-a.restarts:
			a.restarting = false
			if restarted.err != nil {
				return restarted.err
			}
			a.adoptRestartedKernel(restarted.kernel)
		case <-a.current.nextInterrupt:
			a.interruptRun()
		case <-a.current.timeLimitOver:
			a.stopRun()
		case <-a.current.endTimeoutOver:
			a.finishRunWithoutSecondMessage()
		}
	}
}

// eventsReady returns the channel that receives an item when the kernel has new events. It
// returns nil, which blocks forever, while the kernel is restarted.
func (a *adapter) eventsReady() <-chan struct{} {
	if a.kernel == nil {
		return nil
	}
	return a.kernel.events.ready
}

// kernelExited returns a channel that is closed when the kernel process has exited. It returns
// nil, which blocks forever, while the kernel is restarted.
func (a *adapter) kernelExited() <-chan struct{} {
	if a.kernel == nil {
		return nil
	}
	return a.kernel.process.exited
}

// sendReady sends the server the ready message: language, version, process id and the features
// that the kernel lacks.
func (a *adapter) sendReady() {
	l := a.kernel.language
	a.server.send(protocol.Ready{
		Type: protocol.TypeReady, Language: l.name, Version: l.version, PID: a.kernel.process.pid(),
		Protocol: kernelProtocolVersion, Unsupported: l.unsupportedFeatures(),
	})
}

// channelEndError returns the error to report after a channel to the kernel has ended: an
// [*ExitError] if the kernel exits within kernelExitTimeout, otherwise the error of the
// channel.
func (a *adapter) channelEndError() error {
	select {
	case <-a.kernelExited():
		return a.kernelExitError()
	case <-time.After(kernelExitTimeout):
		return fmt.Errorf("the Jupyter kernel %s: %w", a.spec.Name, a.channelErr)
	}
}

// kernelExitError handles the last messages and text of a kernel that has exited, prints the
// last text of its run to Config.Stderr, and returns the kernel's [*ExitError].
func (a *adapter) kernelExitError() error {
	a.kernel.readFinalOutput()
	a.handleEvents()
	if len(a.lastText) > 0 {
		_, _ = fmt.Fprintf(a.cfg.Stderr, "%s\n", a.lastText) // there is no other place for an error
	}
	return a.kernel.process.exit
}

// startRestart stops the kernel and starts a new one, both in the background. The new kernel
// or the error comes on the channel restarts.
func (a *adapter) startRestart(ctx context.Context) {
	old := a.kernel
	a.kernel, a.restarting = nil, true
	printNotice(a.cfg.Stderr, "the kernel %s is restarted to reset its globals", a.spec.Name)
	go func() { // serve or close waits for its result
		if err := old.stop(); err != nil {
			printNotice(a.cfg.Stderr, "stop the old kernel: %v", err)
		}
		k, err := launchKernel(ctx, a.spec, a.cfg.Environ, a.cfg.Stderr)
		a.restarts <- restartResult{k, err}
	}()
}

// adoptRestartedKernel makes k, a newly started kernel, the current one and finishes the reset
// of globals for which the kernel was restarted.
func (a *adapter) adoptRestartedKernel(k *kernel) {
	a.kernel, a.channelErr = k, nil
	a.canDescribeGlobals = k.language.globalsRequest != nil
	a.finishRun()
}

// close stops the kernel, if there is one, after waiting for a restart in progress. The
// context of serve must have ended.
func (a *adapter) close() error {
	if a.restarting {
		a.kernel = (<-a.restarts).kernel
	}
	if a.kernel == nil {
		return nil
	}
	err := a.kernel.stop()
	a.kernel.printUnhandledText()
	return err
}
