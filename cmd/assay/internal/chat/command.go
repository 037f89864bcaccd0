package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/internal/protocol"
)

// CommandHelp lists the commands of a chat, one per line.
const CommandHelp = `  :py CODE          run CODE in the same kernel, whatever its language
  :wait             read no further line until all work has ended
  :cancel [LABEL]   cancel all work, or only that of LABEL
  :restart          start a new kernel; variables are lost
  :quit             end the chat without waiting for work
  :help             list these commands
`

// codeLabel is the command that runs code, and the label of its output.
const codeLabel = ":py"

// runCommand runs a line that begins with a colon. It returns errQuit for :quit.
func (c *chat) runCommand(line string) error {
	name, argument, _ := strings.Cut(line, " ")
	argument = strings.TrimSpace(argument)
	switch {
	case name == codeLabel && argument != "":
		c.executeCode(argument)
	case name == ":cancel":
		c.cancelTurns(argument)
	case argument != "":
		c.view.showError(fmt.Sprintf("%s takes no argument", name))
	case name == ":wait":
		c.isInputPaused = true
	case name == ":restart":
		c.restartKernel()
	case name == ":quit":
		return errQuit
	case name == ":help":
		c.view.showRemark(strings.Split(strings.TrimRight(CommandHelp, "\n"), "\n")...)
	case name == codeLabel:
		c.view.showError(":py: code is missing")
	default:
		c.view.showError(fmt.Sprintf("%s: no such command; :help lists them", name))
	}
	return nil
}

// cancelTurns cancels the running turns with that label, or all if label is "".
func (c *chat) cancelTurns(label string) {
	for _, t := range c.turns {
		switch {
		case t.isEnded, label != "" && label != t.label:
		case t.cancel != nil:
			t.cancel()
		default:
			// An error means that there is no agent; then its work has ended.
			_ = c.cfg.Session.Router().SendToAgent(protocol.AgentCommand{Type: protocol.TypeAgentCancel, RequestID: t.requestID})
		}
	}
}

// startCommand adds a turn for a command that waits for the kernel. work runs in a
// goroutine until its context is cancelled, and returns a function that shows its result.
func (c *chat) startCommand(label string, work func(context.Context) (show func(*turn))) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &turn{label: label, cancel: cancel}
	c.turns = append(c.turns, t)
	c.commands.Go(func() {
		defer cancel()
		show := work(ctx)
		select {
		case c.commandResults <- func() { show(t); c.endTurn(t) }:
		case <-c.runEnded:
		}
	})
}

// executeCode runs a line of code in the kernel, after the code of earlier lines.
func (c *chat) executeCode(code string) {
	previous := c.lastExecution
	ended := make(chan struct{})
	c.lastExecution = ended
	c.startCommand(codeLabel, func(ctx context.Context) func(*turn) {
		defer close(ended)
		if previous != nil {
			<-previous
		}
		var response protocol.ExecuteCodeResponse
		err := ctx.Err()
		if err == nil {
			response, err = c.cfg.Session.Execute(ctx, code, c.cfg.CellTimeout)
		}
		return func(t *turn) {
			switch {
			case errors.Is(err, context.Canceled):
				c.view.showRemark(codeLabel + " was cancelled")
			case err != nil:
				c.view.showError(err.Error())
			default:
				c.showTurnLines(t, labeledLines(codeLabel, outputText(response))...)
			}
		}
	})
}

// outputText returns what code has printed, then its value or its exception; "(no
// output)" if there is none of these.
func outputText(response protocol.ExecuteCodeResponse) string {
	var parts []string
	add := func(text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			parts = append(parts, text)
		}
	}
	add(response.Stdout)
	add(response.Stderr)
	if response.Result != nil {
		add(*response.Result)
	}
	add(response.Exception)
	if len(parts) == 0 {
		return "(no output)"
	}
	return strings.Join(parts, "\n")
}

// restartKernel stops the kernel and starts a new one.
func (c *chat) restartKernel() {
	c.expectKernelEnd = c.cfg.Session.IsKernelAlive()
	c.startCommand(":restart", func(ctx context.Context) func(*turn) {
		start := time.Now()
		err := c.cfg.Session.RestartChild(ctx, "kernel")
		return func(*turn) {
			if err != nil {
				c.view.showError("there is no kernel: " + err.Error())
				return
			}
			c.view.showRemark(fmt.Sprintf("the new kernel was ready after %v", time.Since(start).Round(time.Millisecond)))
		}
	})
}
