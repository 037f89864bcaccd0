package jupyter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// kernelInfoInterval is the time between two kernel_info_requests to a kernel that
	// starts. They are repeated until the answer has come and the channel of outputs
	// was heard too, because what is published before our subscription has arrived is
	// lost.
	kernelInfoInterval = 500 * time.Millisecond

	// slowStartDelay is how long a step of the start may take before a notice says
	// what is waited for.
	slowStartDelay = 5 * time.Second

	// lastMessagesTimeout is how long the channels of a dead kernel may stay open. A
	// process that it has forked may hold them.
	lastMessagesTimeout = 100 * time.Millisecond
)

// kernel is one running process of a Jupyter kernel with the channels to it. All its messages
// and printed text are put into the queue events. The caller of launchKernel must call stop.
type kernel struct {
	spec           Spec
	language       languageSupport
	events         *eventQueue
	signer         signer
	connectionFile *connectionFile
	process        *process

	shell, control, stdin, iopub *channel

	readers sync.WaitGroup
	console io.Writer // gets what it prints while it starts
}

// launchKernel starts a Jupyter kernel and waits until it can run code. It connects by Unix
// sockets; if the kernel exits by itself meanwhile, it is started a second time with TCP
// ports. console gets what the kernel prints during the start, and a notice if a step takes
// longer than slowStartDelay. The error is an [*ExitError] if the kernel exited, or the cause
// of ctx if that ended first; then no process is left.
func launchKernel(ctx context.Context, spec Spec, environ []string, console io.Writer) (*kernel, error) {
	k, err := launchWithTransport(ctx, transportIPC, spec, environ, console)
	var exited *ExitError
	if !errors.As(err, &exited) || exited.Signal != 0 {
		return k, err
	}
	printNotice(console, "%v before it could be used: trying again with TCP, in case it does not support Unix sockets", err)
	return launchWithTransport(ctx, transportTCP, spec, environ, console)
}

// launchWithTransport starts a Jupyter kernel with one transport, transportIPC (Unix sockets)
// or transportTCP, and waits until it can run code. On an error the kernel is stopped.
func launchWithTransport(ctx context.Context, transport string, spec Spec, environ []string, console io.Writer) (*kernel, error) {
	k := &kernel{spec: spec, events: newEventQueue(), signer: newSigner(), console: console}
	var err error
	if k.connectionFile, err = newConnectionFile(tempDirFromEnv(environ), transport, spec.Name, k.signer.key); err != nil {
		return nil, err
	}
	if k.process, err = startProcess(spec, environ, k.connectionFile.path(), k.addPipeText); err != nil {
		return nil, errors.Join(err, k.connectionFile.remove())
	}
	if err := k.awaitUsable(ctx); err != nil {
		err = errors.Join(err, k.stop())
		k.printUnhandledText()
		return nil, err
	}
	return k, nil
}

// readChannel reads messages from a channel and puts each into events, until the channel ends.
// A malformed message becomes an event with an error.
func (k *kernel) readChannel(c *channel) {
	for {
		frames, err := c.receive()
		if err != nil {
			k.events.add(kernelEvent{err: err, channelEnded: true})
			return
		}
		m, err := k.signer.decode(frames)
		if err != nil {
			err = fmt.Errorf("ignored a message on the channel %s: %w", c.name, err)
		}
		k.events.add(kernelEvent{message: m, err: err})
	}
}

// addPipeText puts text that the kernel process wrote to its stdout or stderr into events.
func (k *kernel) addPipeText(stream string, text []byte) {
	k.events.add(kernelEvent{stream: stream, text: text})
}

// sendRequest sends a new message of this kind on a channel and returns its id. The kernel's
// answers carry that id as parentID.
func (k *kernel) sendRequest(c *channel, kind string, content any) (id string, err error) {
	m, err := newRequest(kind, content)
	if err != nil {
		return "", err
	}
	return m.id, k.sendMessage(c, m)
}

// sendMessage signs a message and sends it on a channel.
func (k *kernel) sendMessage(c *channel, m message) error {
	frames, err := k.signer.encode(m)
	if err != nil {
		return err
	}
	return c.send(frames)
}

// interrupt interrupts the code that the kernel runs: with an interrupt_request or with
// SIGINT, as its kernelspec says. It does not wait for an effect.
func (k *kernel) interrupt() error {
	if k.spec.interruptByMessage {
		_, err := k.sendRequest(k.control, "interrupt_request", struct{}{})
		return err
	}
	err := k.process.interrupt()
	if k.language.needsWakeUp {
		_, asked := k.sendRequest(k.shell, "kernel_info_request", struct{}{})
		err = errors.Join(err, asked)
	}
	return err
}

// readFinalOutput waits for the last messages of a kernel that has exited, at most
// lastMessagesTimeout, and reads what is left in its stdout and stderr pipes.
func (k *kernel) readFinalOutput() {
	late := time.AfterFunc(lastMessagesTimeout, k.closeChannels)
	defer late.Stop()
	k.readers.Wait()
	k.process.readAvailable()
}

// printUnhandledText writes the text among the queued events to console and drops the other
// events. It is for a kernel whose events nothing else will handle.
func (k *kernel) printUnhandledText() {
	for _, e := range k.events.takeAll() {
		if e.stream != "" {
			_, _ = k.console.Write(e.text) // there is no other place for an error
		}
	}
}

// closeChannels closes those of the four channels that are open.
func (k *kernel) closeChannels() {
	for _, c := range []*channel{k.shell, k.control, k.stdin, k.iopub} {
		if c != nil {
			_ = c.close() // an error does not matter any more
		}
	}
}

// stop sends the kernel a shutdown_request and kills it if it has not exited after stopGrace.
// Then it closes the channels and removes the connection file.
func (k *kernel) stop() error {
	if k.control != nil {
		_, _ = k.sendRequest(k.control, "shutdown_request", map[string]bool{"restart": false}) // fails if the kernel is dead
	}
	err := k.process.stop()
	k.closeChannels()
	k.readers.Wait()
	return errors.Join(err, k.connectionFile.remove())
}

// tempDirFromEnv returns the folder for temporary files that environ names in TMPDIR, or /tmp.
func tempDirFromEnv(environ []string) string {
	if folder := lookupEnv(environ, "TMPDIR"); folder != "" {
		return folder
	}
	return "/tmp"
}

// printNotice writes a line that starts with "assay jupyter: " to the output that also gets
// what the kernel prints. Errors of the writer are ignored.
func printNotice(to io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(to, "assay jupyter: "+format+"\n", args...) // there is no other place for an error
}
