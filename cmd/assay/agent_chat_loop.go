package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"assay/agent/builtin/blocks"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// longestLine is the longest line of input that is taken, in bytes.
const longestLine = 1 << 20

// errQuit ends a chat as if the input had ended, and waits for nothing.
var errQuit = errors.New("quit")

// chat is a conversation with the agent of an own session. One goroutine does all
// that can be seen; others read the input and wait for the kernel.
type chat struct {
	own      *own
	view     *view
	strategy string
	label    string // of the prompt before; empty: there was none

	turns    []*turn // that are under way; in an ordered view also those that wait to be shown
	asked    int     // prompts, for their ids
	waits    bool    // no line is taken before all turns have ended
	warned   bool    // Ctrl-C was pressed, and no line came since
	replaced bool    // it was told already that the kernel ends
	usage    string  // tokens and cost, as the agent has told them last
	told     string  // the same, as they were shown last

	lastCode <-chan struct{} // closed when the last :py has ended; nil: there was none
	work     sync.WaitGroup  // those who wait for the kernel
	done     chan func()     // what is to be done when they have
	over     chan struct{}   // closed when nobody takes from done any more
}

// turn is a prompt, or a command that takes its time.
type turn struct {
	label   string
	name    string   // of the work on a prompt
	request string   // the id of a prompt; empty: it is a command
	cancel  func()   // ends a command
	begun   bool     // the agent has taken the prompt up
	ended   bool     // and waits to be shown
	held    []string // lines that wait until those before it have ended
}

func newChat(o *own, strategy string) *chat {
	return &chat{
		own: o, view: newView(o.host.p), strategy: strategy,
		done: make(chan func()), over: make(chan struct{}),
	}
}

// run talks until the input has ended and all that was asked for too, or :quit or
// a signal ends it, or the agent dies.
func (c *chat) run(signals <-chan os.Signal) error {
	defer c.view.end()
	defer c.work.Wait()
	defer c.leave()
	follow := c.own.session.Journal().Follow()
	lines := readLines(c.own.host.p.in, c.over)
	c.greet()
	for {
		if err := c.observeAll(follow); err != nil {
			return err
		}
		if len(c.turns) == 0 {
			c.waits = false
			if lines == nil {
				return c.interrupted()
			}
		}
		if err := c.next(&lines, follow, signals); errors.Is(err, errQuit) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// leave lets go of all that is under way.
func (c *chat) leave() {
	close(c.over)
	for _, t := range c.turns {
		if t.cancel != nil {
			t.cancel()
		}
	}
}

// next waits for something to happen, and deals with it. lines is nil after the
// last one.
func (c *chat) next(lines *<-chan input, follow *trace.Follower, signals <-chan os.Signal) error {
	in := *lines
	if c.waits {
		in = nil
	}
	select {
	case line, more := <-in:
		if !more {
			*lines = nil
			return nil
		}
		return c.take(line)
	case <-follow.ReadyChannel():
		return nil
	case do := <-c.done:
		do()
		return nil
	case sig := <-signals:
		return c.interrupt(sig)
	}
}

// interrupt cancels what is under way when Ctrl-C is pressed, and ends the chat
// when that was done already, and at other signals.
func (c *chat) interrupt(sig os.Signal) error {
	if number, ok := sig.(syscall.Signal); ok && (number != syscall.SIGINT || c.warned) {
		return &statusError{status: 128 + int(number)}
	}
	c.warned = true
	c.cancel("")
	c.view.remark("Ctrl-C once more ends the chat")
	return nil
}

// interrupted is how a chat ends whose last prompts Ctrl-C has ended.
func (c *chat) interrupted() error {
	if c.warned {
		return &statusError{status: 128 + int(syscall.SIGINT)}
	}
	return nil
}

// greet says what there is to talk to.
func (c *chat) greet() {
	ready := c.own.session.KernelReady()
	where := "trace: " + filepath.Join(c.own.dir, "trace.jsonl")
	if c.own.temporary {
		where += " (goes when this ends; --out keeps one)"
	}
	c.view.remark(printable(strings.TrimSpace("kernel: "+ready.Language+" "+ready.Version)), where)
}

// take takes a line of input.
func (c *chat) take(line input) error {
	c.warned = false
	c.view.again()
	switch {
	case line.err != nil:
		return usage(fmt.Errorf("the input cannot be read: %w", line.err))
	case strings.HasPrefix(line.text, ":"):
		return c.command(line.text)
	case strings.TrimSpace(line.text) == "":
		return nil
	default:
		return c.prompt(line.text)
	}
}

// prompt gives the agent a prompt.
func (c *chat) prompt(line string) error {
	c.asked++
	t := &turn{request: fmt.Sprintf("chat-%d", c.asked)}
	t.label, t.name = blocks.NameTask(line, c.label, c.strategy == blocks.StrategyName)
	c.label = t.label
	c.turns = append(c.turns, t)
	if err := c.own.session.SendQuery(protocol.AgentQuery{Query: line, RequestID: t.request}); err != nil {
		return broken(err)
	}
	return nil
}

// say shows lines of a turn on stdout; nil: of none.
func (c *chat) say(t *turn, lines ...string) {
	if t != nil && c.view.ordered && t != c.turns[0] {
		t.held = append(t.held, lines...)
		return
	}
	c.view.say(lines...)
}

// end ends a turn, and shows what has waited for that.
func (c *chat) end(t *turn) {
	t.ended = true
	if !c.view.ordered {
		c.turns = slices.DeleteFunc(c.turns, func(other *turn) bool { return other == t })
		return
	}
	for len(c.turns) > 0 && c.turns[0].ended {
		c.turns = c.turns[1:]
		if len(c.turns) > 0 {
			c.view.say(c.turns[0].held...)
			c.turns[0].held = nil
		}
	}
}

// input is a line, or why there are no more.
type input struct {
	text string
	err  error
}

// readLines reads lines until the input ends, and then closes the channel. A read
// that is stuck is left to the end of the process.
func readLines(in io.Reader, over <-chan struct{}) <-chan input {
	lines := make(chan input)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, longestLine)
		for more := true; more; {
			more = scanner.Scan()
			next := input{text: scanner.Text(), err: scanner.Err()}
			if !more && next.err == nil {
				return
			}
			select {
			case lines <- next:
			case <-over:
				return
			}
		}
	}()
	return lines
}
