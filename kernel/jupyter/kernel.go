package jupyter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/google/uuid"
)

const (
	// helloEvery is how often a kernel that starts is asked who it is, until the
	// answer has come and the channel of outputs is heard too: what is published
	// before our subscription has arrived is lost.
	helloEvery = 500 * time.Millisecond

	// remarkAfter is how long a start may take before it is said what it waits for.
	remarkAfter = 5 * time.Second

	// lastMessages is how long the channels of a dead kernel may stay open, by
	// what it has forked.
	lastMessages = 100 * time.Millisecond
)

// kernel is one life of a Jupyter kernel: its process, and the channels to it.
// Whatever comes from it is put into inbox. Whoever launched it must stop it.
type kernel struct {
	spec       Spec
	language   language
	inbox      *inbox
	signer     signer
	connection *connection
	process    *process

	shell, control, stdin, iopub *channel

	readers sync.WaitGroup
	aside   io.Writer // for what it prints while it starts
}

// kernelInfo is what a kernel says of itself.
type kernelInfo struct {
	Implementation string `json:"implementation"`
	Language       struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"language_info"`
}

// launch starts a kernel and waits until it can be used: by Unix sockets, or,
// when it exits at that, by ports. The error is an [*ExitError] when it has
// exited; the cause of ctx when that was done first. aside gets what it prints
// meanwhile, and a remark when it takes long.
func launch(ctx context.Context, spec Spec, environ []string, aside io.Writer) (*kernel, error) {
	k, err := launchBy(ctx, ipc, spec, environ, aside)
	var exited *ExitError
	if !errors.As(err, &exited) || exited.Signal != 0 {
		return k, err
	}
	remark(aside, "%v before it could be used: once more, by TCP, in case it knows no Unix sockets", err)
	return launchBy(ctx, tcp, spec, environ, aside)
}

func launchBy(ctx context.Context, transport string, spec Spec, environ []string, aside io.Writer) (*kernel, error) {
	k := &kernel{spec: spec, inbox: newInbox(), signer: newSigner(), aside: aside}
	var err error
	if k.connection, err = newConnection(temporary(environ), transport, spec.Name, k.signer.key); err != nil {
		return nil, err
	}
	if k.process, err = startProcess(spec, environ, k.connection.file(), k.printed); err != nil {
		return nil, errors.Join(err, k.connection.remove())
	}
	if err := k.begin(ctx); err != nil {
		err = errors.Join(err, k.stop())
		k.spill()
		return nil, err
	}
	return k, nil
}

// begin connects and waits until the kernel answers. A process that exits ends it.
func (k *kernel) begin(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-k.process.exited:
			cancel(k.process.exit)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	if err := k.during(ctx, "its sockets", k.connect); err != nil {
		return err
	}
	if err := k.during(ctx, "its answer to kernel_info_request", k.hello); err != nil {
		return err
	}
	return k.during(ctx, "the end of its first run", k.prepare)
}

// during does a step, and says what is waited for when it takes long.
func (k *kernel) during(ctx context.Context, what string, step func(context.Context) error) error {
	late := time.AfterFunc(remarkAfter, func() {
		remark(k.aside, "the kernel %s takes more than %v to start: waiting for %s", k.spec.Name, remarkAfter, what)
	})
	defer late.Stop()
	return step(ctx)
}

// connect opens the channels.
func (k *kernel) connect(ctx context.Context) (err error) {
	identity := uuid.NewString()
	c := k.connection
	for _, one := range []struct {
		name string
		kind zmq4.SocketType
		port int
		at   **channel
	}{
		{"shell", zmq4.Dealer, c.Shell, &k.shell},
		{"control", zmq4.Dealer, c.Control, &k.control},
		{"stdin", zmq4.Dealer, c.Stdin, &k.stdin},
		{"iopub", zmq4.Sub, c.IOPub, &k.iopub},
	} {
		opened, err := dial(ctx, one.name, one.kind, identity, c.at(one.port))
		if err != nil {
			return err
		}
		*one.at = opened
		k.readers.Go(func() { k.read(opened) })
	}
	return nil
}

// read puts what comes on a channel into the inbox until the channel ends.
func (k *kernel) read(c *channel) {
	for {
		frames, err := c.receive()
		if err != nil {
			k.inbox.put(event{err: err, ended: true})
			return
		}
		m, err := k.signer.decode(frames)
		if err != nil {
			err = fmt.Errorf("a message on the channel %s is ignored: %w", c.name, err)
		}
		k.inbox.put(event{message: m, err: err})
	}
}

func (k *kernel) printed(stream string, text []byte) {
	k.inbox.put(event{stream: stream, text: text})
}

// ask sends a request and returns its id, which the answers have as parent.
func (k *kernel) ask(c *channel, kind string, content any) (id string, err error) {
	m, err := request(kind, content)
	if err != nil {
		return "", err
	}
	return m.id, k.send(c, m)
}

func (k *kernel) send(c *channel, m message) error {
	frames, err := k.signer.encode(m)
	if err != nil {
		return err
	}
	return c.send(frames)
}

// interrupt interrupts what the kernel runs.
func (k *kernel) interrupt() error {
	if k.spec.byMessage {
		_, err := k.ask(k.control, "interrupt_request", struct{}{})
		return err
	}
	err := k.process.interrupt()
	if k.language.dozes {
		_, asked := k.ask(k.shell, "kernel_info_request", struct{}{})
		err = errors.Join(err, asked)
	}
	return err
}

// hello asks the kernel who it is.
func (k *kernel) hello(ctx context.Context) error {
	ticker := time.NewTicker(helloEvery)
	defer ticker.Stop()
	reply, err := k.call(ctx, "kernel_info_request", struct{}{}, ticker.C)
	if err != nil {
		return err
	}
	var info kernelInfo
	if err := json.Unmarshal(reply.content, &info); err != nil {
		return fmt.Errorf("the kernel_info_reply of %s: %w", k.spec.Name, err)
	}
	k.language = languageOf(info)
	return nil
}

// prepare runs what the language needs.
func (k *kernel) prepare(ctx context.Context) error {
	if k.language.prepare == nil {
		return nil
	}
	m, err := k.call(ctx, "execute_request", k.language.prepare, nil)
	if err != nil {
		return err
	}
	done := parseReply(m.content)
	answer := done.Expressions[answerName].Data["application/json"]
	if answer == nil {
		remark(k.aside, "the kernel %s cannot run what summaries need: %s", k.spec.Name, newFailure(done.EName, done.EValue, nil).line())
		k.language = language{name: k.language.name, version: k.language.version}
		return nil
	}
	var told struct{ Echoes bool }
	_ = json.Unmarshal(answer, &told) // the helper's
	k.language.echoes = told.Echoes
	return nil
}

// finish waits for the last that a dead kernel has sent.
func (k *kernel) finish() {
	late := time.AfterFunc(lastMessages, k.hangUp)
	defer late.Stop()
	k.readers.Wait()
	k.process.drain()
}

// spill passes on what the kernel has printed, when there is nothing else to be
// done with it.
func (k *kernel) spill() {
	for _, e := range k.inbox.take() {
		if e.stream != "" {
			_, _ = k.aside.Write(e.text) // there is nobody to tell
		}
	}
}

func (k *kernel) hangUp() {
	for _, c := range []*channel{k.shell, k.control, k.stdin, k.iopub} {
		if c != nil {
			_ = c.close() // it is not needed any more
		}
	}
}

// stop ends the kernel, politely first, and lets go of all that it had. It
// takes a little more than [stopGrace] at most.
func (k *kernel) stop() error {
	if k.control != nil {
		_, _ = k.ask(k.control, "shutdown_request", map[string]bool{"restart": false}) // it may be dead
	}
	err := k.process.stop()
	k.hangUp()
	k.readers.Wait()
	return errors.Join(err, k.connection.remove())
}

// temporary is the folder for temporary files that environ names.
func temporary(environ []string) string {
	if folder := lookup(environ, "TMPDIR"); folder != "" {
		return folder
	}
	return "/tmp"
}

// remark writes a line for people, who find it behind what the kernel printed.
func remark(to io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(to, "assay jupyter: "+format+"\n", args...) // there is nobody to tell
}
