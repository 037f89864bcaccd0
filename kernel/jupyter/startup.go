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

// kernelInfo is the content of a kernel_info_reply.
type kernelInfo struct {
	Implementation string `json:"implementation"`
	Language       struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"language_info"`
}

// awaitUsable connects to the kernel and waits until it answers and its language is set
// up. It fails if the process exits.
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
	if err := k.withSlowNotice(ctx, "its sockets", k.connect); err != nil {
		return err
	}
	if err := k.withSlowNotice(ctx, "its answer to kernel_info_request", k.awaitKernelInfo); err != nil {
		return err
	}
	return k.withSlowNotice(ctx, "the end of its setup", k.runSetup)
}

// withSlowNotice runs a step of the start. If it takes longer than slowStartDelay, a
// notice says what is waited for.
func (k *kernel) withSlowNotice(ctx context.Context, awaited string, step func(context.Context) error) error {
	notice := time.AfterFunc(slowStartDelay, func() {
		printNotice(k.console, "the kernel %s takes more than %v to start: waiting for %s", k.spec.Name, slowStartDelay, awaited)
	})
	defer notice.Stop()
	return step(ctx)
}

// connect opens the channels.
func (k *kernel) connect(ctx context.Context) (err error) {
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
		opened, err := dialChannel(ctx, spec.name, spec.kind, identity, c.addressesOf(spec.port))
		if err != nil {
			return err
		}
		*spec.field = opened
		k.readers.Go(func() { k.readChannel(opened) })
	}
	return nil
}

// awaitKernelInfo waits for the kernel's answer to kernel_info_request and sets
// language.
func (k *kernel) awaitKernelInfo(ctx context.Context) error {
	ticker := time.NewTicker(kernelInfoInterval)
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

// runSetup runs the code that the language needs for summaries, if it needs any. If
// that fails, a notice says so and the kernel is used without summaries.
func (k *kernel) runSetup(ctx context.Context) error {
	if k.language.setupRequest == nil {
		return nil
	}
	m, err := k.call(ctx, "execute_request", k.language.setupRequest, nil)
	if err != nil {
		return err
	}
	done := parseExecuteReply(m.content)
	answer := done.Expressions[answerExpression].Data["application/json"]
	if answer == nil {
		printNotice(k.console, "the kernel %s cannot run the code that summaries need: %s", k.spec.Name, newRaisedError(done.EName, done.EValue, nil).oneLine())
		k.language = language{name: k.language.name, version: k.language.version}
		return nil
	}
	var helperState struct{ Echoes bool }
	_ = json.Unmarshal(answer, &helperState) // helper.py writes valid JSON
	k.language.echoesDescriptors = helperState.Echoes
	return nil
}

// exitNoticeTimeout is how long the error of a channel waits for the kernel's exit,
// which usually is its cause.
const exitNoticeTimeout = time.Second

// pendingCall is a request whose answer is waited for while the kernel starts.
type pendingCall struct {
	requestIDs map[string]bool // one for each time that it was sent
	reply      message
	isIdle     bool // the kernel has said that it is idle again
}

func (c *pendingCall) isDone() bool { return c.isIdle && c.reply.kind != "" }

// call sends a request on the shell channel and waits for its reply and until the
// kernel is idle again. It sends the request again whenever repeat ticks.
func (k *kernel) call(ctx context.Context, kind string, content any, repeat <-chan time.Time) (message, error) {
	c := &pendingCall{requestIDs: map[string]bool{}}
	for {
		id, err := k.sendRequest(k.shell, kind, content)
		if err != nil {
			return message{}, exitCauseOr(ctx, err)
		}
		c.requestIDs[id] = true
		if err := k.awaitAnswer(ctx, c, repeat); err != nil || c.isDone() {
			return c.reply, err
		}
	}
}

// awaitAnswer handles events until the call is done, or returns nil early when the
// request must be repeated.
func (k *kernel) awaitAnswer(ctx context.Context, c *pendingCall, repeat <-chan time.Time) error {
	for !c.isDone() {
		select {
		case <-k.events.ready:
			for _, e := range k.events.takeAll() {
				if e.channelEnded {
					return exitCauseOr(ctx, e.err)
				}
				k.handleCallEvent(c, e)
			}
		case <-repeat:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (k *kernel) handleCallEvent(c *pendingCall, e kernelEvent) {
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

// exitCauseOr returns the cause of ctx, which is the kernel's exit if that is why a
// channel ended. If ctx does not end within exitNoticeTimeout it returns err.
func exitCauseOr(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(exitNoticeTimeout):
		return err
	}
}
