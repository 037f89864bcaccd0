package jupyter

import (
	"context"
	"strings"
	"time"
)

// endNotice is how long the end of a channel waits to become the kernel's exit.
const endNotice = time.Second

// call is a request of which the answer is waited for, before there is anything
// else to do.
type call struct {
	ids   map[string]bool // it may be asked more than once
	reply message
	idle  bool // the kernel has said that it is done with it
}

func (c *call) done() bool { return c.idle && c.reply.kind != "" }

// call sends a request on the shell and waits for its reply and until the
// kernel is idle again. It is sent again whenever repeat ticks.
func (k *kernel) call(ctx context.Context, kind string, content any, repeat <-chan time.Time) (message, error) {
	c := &call{ids: map[string]bool{}}
	for {
		id, err := k.ask(k.shell, kind, content)
		if err != nil {
			return message{}, exitOr(ctx, err)
		}
		c.ids[id] = true
		if err := k.follow(ctx, c, repeat); err != nil || c.done() {
			return c.reply, err
		}
	}
}

// follow takes in what comes until c is done or is to be asked again.
func (k *kernel) follow(ctx context.Context, c *call, repeat <-chan time.Time) error {
	for !c.done() {
		select {
		case <-k.inbox.bell:
			for _, e := range k.inbox.take() {
				if e.ended {
					return exitOr(ctx, e.err)
				}
				k.note(c, e)
			}
		case <-repeat:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// note takes in one event.
func (k *kernel) note(c *call, e event) {
	switch {
	case e.err != nil:
		remark(k.aside, "%v", e.err)
	case e.stream != "":
		_, _ = k.aside.Write(e.text) // there is nobody to tell
	case !c.ids[e.message.parent]:
	case strings.HasSuffix(e.message.kind, "_reply"):
		c.reply = e.message
	case saysIdle(e.message):
		c.idle = true
	}
}

// exitOr is the cause of ctx, which is the kernel's exit where that is why a
// channel ended with err, and err where it is not.
func exitOr(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(endNotice):
		return err
	}
}
