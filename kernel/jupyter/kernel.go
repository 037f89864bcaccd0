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

// kernel is one process of a Jupyter kernel and the channels to it. Everything that
// comes from it is put into events. The caller of launch must stop it.
type kernel struct {
	spec           Spec
	language       language
	events         *eventQueue
	signer         signer
	connectionFile *connectionFile
	process        *process

	shell, control, stdin, iopub *channel

	readers sync.WaitGroup
	console io.Writer // gets what it prints while it starts
}

// launchKernel starts a kernel and waits until it can be used. It connects by Unix sockets
// or, if the kernel exits at that, by TCP ports. The error is an [*ExitError] if the
// kernel exited, and the cause of ctx if that ended first. console gets what the kernel
// prints meanwhile, and a notice if the start is slow.
func launchKernel(ctx context.Context, spec Spec, environ []string, console io.Writer) (*kernel, error) {
	k, err := launchWith(ctx, transportIPC, spec, environ, console)
	var exited *ExitError
	if !errors.As(err, &exited) || exited.Signal != 0 {
		return k, err
	}
	printNotice(console, "%v before it could be used: trying again with TCP, in case it does not support Unix sockets", err)
	return launchWith(ctx, transportTCP, spec, environ, console)
}

// launchWith is launch with one transport: transportIPC or transportTCP.
func launchWith(ctx context.Context, transport string, spec Spec, environ []string, console io.Writer) (*kernel, error) {
	k := &kernel{spec: spec, events: newEventQueue(), signer: newSigner(), console: console}
	var err error
	if k.connectionFile, err = newConnectionFile(tempDir(environ), transport, spec.Name, k.signer.key); err != nil {
		return nil, err
	}
	if k.process, err = startProcess(spec, environ, k.connectionFile.path(), k.addPrinted); err != nil {
		return nil, errors.Join(err, k.connectionFile.remove())
	}
	if err := k.awaitUsable(ctx); err != nil {
		err = errors.Join(err, k.stop())
		k.printRest()
		return nil, err
	}
	return k, nil
}

// readChannel puts messages of a channel into events until the channel ends.
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

func (k *kernel) addPrinted(stream string, text []byte) {
	k.events.add(kernelEvent{stream: stream, text: text})
}

// sendRequest sends a request on a channel and returns its id, which answers carry as
// parentID.
func (k *kernel) sendRequest(c *channel, kind string, content any) (id string, err error) {
	m, err := newRequest(kind, content)
	if err != nil {
		return "", err
	}
	return m.id, k.sendMessage(c, m)
}

func (k *kernel) sendMessage(c *channel, m message) error {
	frames, err := k.signer.encode(m)
	if err != nil {
		return err
	}
	return c.send(frames)
}

// interrupt interrupts what the kernel runs, by message or signal as its kernelspec
// says.
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

// readRest waits for the last messages of a dead kernel and reads what is left in its
// pipes.
func (k *kernel) readRest() {
	late := time.AfterFunc(lastMessagesTimeout, k.closeChannels)
	defer late.Stop()
	k.readers.Wait()
	k.process.drain()
}

// printRest writes text that the kernel has printed and that nothing else will handle
// to console.
func (k *kernel) printRest() {
	for _, e := range k.events.takeAll() {
		if e.stream != "" {
			_, _ = k.console.Write(e.text) // there is no other place for an error
		}
	}
}

func (k *kernel) closeChannels() {
	for _, c := range []*channel{k.shell, k.control, k.stdin, k.iopub} {
		if c != nil {
			_ = c.close() // an error does not matter any more
		}
	}
}

// stop ends the kernel: it asks it to shut down and kills it after stopGrace. Then it
// closes and removes everything that the kernel had.
func (k *kernel) stop() error {
	if k.control != nil {
		_, _ = k.sendRequest(k.control, "shutdown_request", map[string]bool{"restart": false}) // fails if the kernel is dead
	}
	err := k.process.stop()
	k.closeChannels()
	k.readers.Wait()
	return errors.Join(err, k.connectionFile.remove())
}

// tempDir returns the TMPDIR of environ, or /tmp.
func tempDir(environ []string) string {
	if folder := lookupEnv(environ, "TMPDIR"); folder != "" {
		return folder
	}
	return "/tmp"
}

// printNotice writes a line for people to the output that also gets what the kernel
// prints.
func printNotice(to io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(to, "assay jupyter: "+format+"\n", args...) // there is no other place for an error
}
