package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/internal/protocol"
)

// chatHelp lists the commands of a chat.
const chatHelp = `  :py CODE          runs CODE in the same kernel, whatever its language
  :wait             takes no further line before all that is under way has ended
  :cancel [LABEL]   cancels what is under way, or only what LABEL works on
  :restart          starts another kernel, which knows nothing
  :quit             ends the chat and waits for nothing
  :help             lists this
`

// codeLabel is what the output of :py stands behind.
const codeLabel = ":py"

// command carries out a line that begins with a colon.
func (c *chat) command(line string) error {
	name, argument, _ := strings.Cut(line, " ")
	argument = strings.TrimSpace(argument)
	switch {
	case name == codeLabel && argument != "":
		c.execute(argument)
	case name == ":cancel":
		c.cancel(argument)
	case argument != "":
		c.view.complain(fmt.Sprintf("%s: it takes nothing behind it", name))
	case name == ":wait":
		c.waits = true
	case name == ":restart":
		c.restart()
	case name == ":quit":
		return errQuit
	case name == ":help":
		c.view.remark(strings.Split(strings.TrimRight(chatHelp, "\n"), "\n")...)
	case name == codeLabel:
		c.view.complain(":py: code is missing")
	default:
		c.view.complain(fmt.Sprintf("%s: there is no such command; :help lists them", name))
	}
	return nil
}

// cancel cancels what is under way under a label, or empty, all.
func (c *chat) cancel(label string) {
	for _, t := range c.turns {
		switch {
		case t.ended, label != "" && label != t.label:
		case t.cancel != nil:
			t.cancel()
		default:
			// An agent that is not there has ended its work.
			_ = c.own.session.Router().SendToAgent(protocol.AgentCommand{Type: protocol.TypeAgentCancel, RequestID: t.request})
		}
	}
}

// begin starts a command that waits for the kernel; work returns how its end is
// shown.
func (c *chat) begin(label string, work func(context.Context) (show func(*turn))) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &turn{label: label, cancel: cancel}
	c.turns = append(c.turns, t)
	c.work.Go(func() {
		defer cancel()
		show := work(ctx)
		select {
		case c.done <- func() { show(t); c.end(t) }:
		case <-c.over:
		}
	})
}

// execute runs a line of code in the kernel, behind those before it.
func (c *chat) execute(code string) {
	before := c.lastCode
	over := make(chan struct{})
	c.lastCode = over
	c.begin(codeLabel, func(ctx context.Context) func(*turn) {
		defer close(over)
		if before != nil {
			<-before
		}
		var answer protocol.ExecuteCodeResponse
		err := ctx.Err()
		if err == nil {
			answer, err = c.own.session.Execute(ctx, code, c.own.cellLimit())
		}
		return func(t *turn) {
			switch {
			case errors.Is(err, context.Canceled):
				c.view.remark(codeLabel + " was cancelled")
			case err != nil:
				c.view.complain(err.Error())
			default:
				c.say(t, labelled(codeLabel, outputOf(answer))...)
			}
		}
	})
}

// outputOf is what code has left: what it printed, then its value or why it
// failed.
func outputOf(answer protocol.ExecuteCodeResponse) string {
	var parts []string
	add := func(text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			parts = append(parts, text)
		}
	}
	add(answer.Stdout)
	add(answer.Stderr)
	if answer.Result != nil {
		add(*answer.Result)
	}
	add(answer.Exception)
	if len(parts) == 0 {
		return "(no output)"
	}
	return strings.Join(parts, "\n")
}

// restart puts another kernel in the place of this one.
func (c *chat) restart() {
	c.replaced = c.own.session.IsKernelAlive()
	c.begin(":restart", func(ctx context.Context) func(*turn) {
		began := time.Now()
		err := c.own.session.RestartChild(ctx, "kernel")
		return func(*turn) {
			if err != nil {
				c.view.complain("there is no kernel: " + err.Error())
				return
			}
			c.view.remark(fmt.Sprintf("another kernel is there, after %v", time.Since(began).Round(time.Millisecond)))
		}
	})
}
