package jupyter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/google/uuid"
)

// kernelInfo is the content of a kernel_info_reply: the kernel's implementation and its
// language.
type kernelInfo struct {
	Implementation string `json:"implementation"`
	Language       struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"language_info"`
}

// awaitUsable connects to a kernel process that was just started, waits for its
// kernel_info_reply, and runs the setup code of its language. It fails with an [*ExitError] if
// the process exits, or with the cause of ctx.
func (k *kernel) awaitUsable(ctx context.Context) error {
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
	if err := k.runStartStep(ctx, "its sockets", k.connectChannels); err != nil {
		return err
	}
	if err := k.runStartStep(ctx, "its answer to kernel_info_request", k.awaitKernelInfo); err != nil {
		return err
	}
	return k.runStartStep(ctx, "the end of its setup", k.runLanguageSetup)
}

// runStartStep calls one step of the kernel's start. If the step takes longer than
// slowStartDelay, a notice says that the kernel waits for awaited.
func (k *kernel) runStartStep(ctx context.Context, awaited string, step func(context.Context) error) error {
	notice := time.AfterFunc(slowStartDelay, func() {
		printNotice(k.console, "the kernel %s takes more than %v to start: waiting for %s", k.spec.Name, slowStartDelay, awaited)
	})
	defer notice.Stop()
	return step(ctx)
}

// connectChannels opens the channels shell, control, stdin and iopub and starts a goroutine
// that reads each. It fails if ctx ends before the kernel accepts the connections.
func (k *kernel) connectChannels(ctx context.Context) (err error) {
	identity := uuid.NewString()
	c := k.connectionFile
	for _, spec := range []struct {
		name  string
		kind  zmq4.SocketType
		port  int
		field **channel
	}{
		{"shell", zmq4.Dealer, c.ShellPort, &k.shell},
		{"control", zmq4.Dealer, c.ControlPort, &k.control},
		{"stdin", zmq4.Dealer, c.StdinPort, &k.stdin},
		{"iopub", zmq4.Sub, c.IOPubPort, &k.iopub},
	} {
		opened, err := dialChannel(ctx, spec.name, spec.kind, identity, c.socketAddresses(spec.port))
		if err != nil {
			return err
		}
		*spec.field = opened
		k.readers.Go(func() { k.readChannel(opened) })
	}
	return nil
}

// awaitKernelInfo sends kernel_info_request every kernelInfoInterval until the kernel answers,
// and sets language from the answer.
func (k *kernel) awaitKernelInfo(ctx context.Context) error {
	ticker := time.NewTicker(kernelInfoInterval)
	defer ticker.Stop()
	reply, err := k.callDuringStart(ctx, "kernel_info_request", struct{}{}, ticker.C)
	if err != nil {
		return err
	}
	var info kernelInfo
	if err := json.Unmarshal(reply.content, &info); err != nil {
		return fmt.Errorf("the kernel_info_reply of %s: %w", k.spec.Name, err)
	}
	k.language = detectLanguageSupport(info)
	return nil
}

// runLanguageSetup runs the code that the language needs for summaries of globals, if it needs
// any. If the code fails in the kernel, a notice says so and the kernel is used without
// summaries. The error is only for a lost connection.
func (k *kernel) runLanguageSetup(ctx context.Context) error {
	if k.language.setupRequest == nil {
		return nil
	}
	m, err := k.callDuringStart(ctx, "execute_request", k.language.setupRequest, nil)
	if err != nil {
		return err
	}
	done := parseExecuteReply(m.content)
	if done.Expressions[answerExpressionKey].Data["application/json"] == nil {
		printNotice(k.console, "the kernel %s cannot run the code that summaries need: %s", k.spec.Name, newRaisedError(done.EName, done.EValue, nil).summaryLine())
		k.language = languageSupport{name: k.language.name, version: k.language.version}
	}
	return nil
}

// kernelExitTimeout is how long to wait for the kernel's exit after a channel has ended with
// an error: the exit usually is the cause and makes a better error.
const kernelExitTimeout = time.Second

// pendingCall is a request, sent while the kernel starts, with what has come of its answer so
// far.
type pendingCall struct {
	requestIDs map[string]bool // one for each time that it was sent
	reply      message
	isIdle     bool // the kernel has said that it is idle again
}

// isDone reports whether the reply has come and the kernel has said that it is idle again.
func (c *pendingCall) isDone() bool { return c.isIdle && c.reply.kind != "" }

// callDuringStart sends a request on the shell channel and returns its reply, once the kernel
// is idle again. It sends the request again whenever repeat ticks (nil: never). It fails if
// the kernel exits or ctx ends.
func (k *kernel) callDuringStart(ctx context.Context, kind string, content any, repeat <-chan time.Time) (message, error) {
	c := &pendingCall{requestIDs: map[string]bool{}}
	for {
		id, err := k.sendRequest(k.shell, kind, content)
		if err != nil {
			return message{}, exitCauseOrError(ctx, err)
		}
		c.requestIDs[id] = true
		if err := k.awaitCallDone(ctx, c, repeat); err != nil || c.isDone() {
			return c.reply, err
		}
	}
}

// awaitCallDone handles events until the call is done. It also returns nil, before the call is
// done, when repeat ticks and the request must be sent again. It fails if a channel or ctx
// ends.
func (k *kernel) awaitCallDone(ctx context.Context, c *pendingCall, repeat <-chan time.Time) error {
	for !c.isDone() {
		select {
		case <-k.events.ready:
			for _, e := range k.events.takeAll() {
				if e.channelEnded {
					return exitCauseOrError(ctx, e.err)
				}
				k.handleStartEvent(c, e)
			}
		case <-repeat:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// handleStartEvent handles one event of a kernel that starts: it prints text and errors to
// console, and stores the reply or the idle status of the call c. It ignores other messages.
func (k *kernel) handleStartEvent(c *pendingCall, e kernelEvent) {
	switch {
	case e.err != nil:
		printNotice(k.console, "%v", e.err)
	case e.stream != "":
		_, _ = k.console.Write(e.text) // there is no other place for an error
	case !c.requestIDs[e.message.parentID]:
	case strings.HasSuffix(e.message.kind, "_reply"):
		c.reply = e.message
	case isIdleStatus(e.message):
		c.isIdle = true
	}
}

// exitCauseOrError returns the cause of ctx, which is an [*ExitError] if the kernel exited,
// after a channel has ended with err. If ctx does not end within kernelExitTimeout it returns
// err.
func exitCauseOrError(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(kernelExitTimeout):
		return err
	}
}
