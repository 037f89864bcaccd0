package jupyter

import (
	"context"
	"fmt"
	"time"

	"assay/internal/protocol"
)

// run is what the kernel is doing. Its zero value is nothing.
type run struct {
	work  work
	id    string // of its execute_request
	reply *reply
	idle  bool // the kernel has said that it is over

	stopping bool
	strike   <-chan time.Time // it is interrupted again
	overdue  <-chan time.Time // it is stopped
	patience <-chan time.Time // it is taken to be over
}

// advance begins the next work when nothing runs.
func (a *adapter) advance(ctx context.Context) {
	for a.run.work == nil {
		next := a.schedule.take()
		if next == nil {
			return
		}
		a.run, a.last = run{work: next}, nil
		if _, ok := next.(*reset); ok {
			a.restart(ctx)
			return
		}
		a.execute()
	}
}

// execute asks the kernel for what is to run.
func (a *adapter) execute() {
	request := a.run.work.request(a.kernel.language)
	id, err := a.kernel.ask(a.kernel.shell, "execute_request", request)
	a.run.id = id
	if err != nil {
		a.broken = err // as the reader of the channel will find
	}
	if limit := a.run.work.limit(); limit > 0 {
		a.run.overdue = time.After(limit)
	}
}

// takeIn takes in all that has come from the kernel.
func (a *adapter) takeIn() {
	for _, e := range a.kernel.inbox.take() {
		a.event(e)
	}
	a.settle()
}

// settle ends what runs when it is over: its reply has come, and it is known
// that nothing will come behind it. What was written to the descriptors is
// fetched first.
func (a *adapter) settle() {
	if a.run.reply == nil {
		return
	}
	if !a.run.idle {
		a.run.patience = time.After(idlePatience)
		return
	}
	a.kernel.process.drain()
	for _, e := range a.kernel.inbox.take() {
		a.event(e)
	}
	if lost := a.kernel.inbox.lost(); lost > 0 {
		a.text(protocol.Stderr, fmt.Appendf(nil, "\n[… %d bytes of output are left out: they came faster than they could be passed on …]\n", lost))
	}
	a.finish()
}

// giveUp takes what runs to be over when nothing is heard of it any more.
func (a *adapter) giveUp() {
	if a.kernel.iopub.hears(idlePatience) {
		a.run.patience = time.After(idlePatience)
		return
	}
	remark(a.cfg.Stderr, "the kernel %s did not say that a run was over: some of its output may be lost", a.spec.Name)
	a.run.idle = true
	a.settle()
}

// finish ends what runs.
func (a *adapter) finish() {
	over := a.run
	a.run = run{}
	if over.reply == nil {
		over.reply = &reply{Status: "ok"}
	}
	over.work.end(*over.reply, over.stopping)
}

// stop interrupts what runs, now and each second until it is over.
func (a *adapter) stop() {
	if a.run.work == nil || a.run.stopping {
		return
	}
	a.run.stopping = true
	a.interrupt()
}

func (a *adapter) interrupt() {
	a.run.strike = time.After(strikeEvery)
	if a.kernel == nil {
		return // it is started anew, which nothing interrupts
	}
	if err := a.kernel.interrupt(); err != nil {
		remark(a.cfg.Stderr, "interrupt the kernel %s: %v", a.spec.Name, err)
	}
}
