// Package chat lets a user talk to the agent of a session: it reads prompts and commands
// line by line, and shows what the agent and the code say.
//
// One goroutine, the caller of [Run], changes the state and writes all output. One more
// goroutine reads the input, and one runs per command that waits for the kernel.
package chat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay/agent/builtin/blocks"
	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/terminal"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// maxLineBytes is the length of the longest line of input.
const maxLineBytes = 1 << 20

// errQuit ends a chat without waiting for running turns.
var errQuit = errors.New("quit")

// Config configures [Run].
type Config struct {
	Session     *session.Session // with a kernel and an agent that are ready
	Strategy    string           // of the built-in agent
	CellTimeout time.Duration    // of code that the user runs
	TracePath   string           // shown at the start
	KeepTrace   bool             // the trace stays after the session

	In  io.Reader
	Out io.Writer // what the agent and the code say
	Err io.Writer // remarks and errors

	ErrIsTerminal bool // Err ends at a terminal
	Color         bool // remarks on a terminal may be faint
}

// chat is the state of a conversation. Only the goroutine of Run uses it, except for
// commandResults and runEnded.
type chat struct {
	cfg   Config
	view  *view
	label string // of the last prompt; "" before the first

	turns           []*turn // running; in an ordered view also those that wait to be shown
	promptCount     int     // for the ids of prompts
	isInputPaused   bool    // after :wait: read no line until all turns have ended
	isInterrupted   bool    // Ctrl-C was pressed since the last line of input
	expectKernelEnd bool    // do not show the kernel's next end: the user knows about it
	usageText       string  // last tokens and cost of the agent, as text
	shownUsageText  string  // the usage that was shown last

	lastExecution  <-chan struct{} // closed when the last :py has ended; nil if there was none
	commands       sync.WaitGroup  // goroutines of commands
	commandResults chan func()     // functions that show results; Run calls them
	runEnded       chan struct{}   // closed when Run receives nothing more from commandResults
}

// turn is a prompt, or a command that waits for the kernel.
type turn struct {
	label     string
	title     string   // of the work on a prompt
	requestID string   // of a prompt; "" for a command
	cancel    func()   // cancels a command; nil for a prompt
	isStarted bool     // the agent has started to work on the prompt
	isEnded   bool     // but is not shown completely yet
	heldLines []string // lines to show when all earlier turns have ended
}

// Run talks to the agent until the input has ended and all turns too, or until :quit, a
// signal, or the end of the agent. SIGINT cancels the running turns; a second one
// without a line of input in between ends the chat, and so does any other signal. Its
// errors carry an exit status.
func Run(cfg Config, signals <-chan os.Signal) error {
	c := &chat{cfg: cfg, view: newView(cfg), commandResults: make(chan func()), runEnded: make(chan struct{})}
	defer c.view.removePrompt()
	defer c.commands.Wait()
	defer c.close()
	follower := cfg.Session.Journal().Follow()
	lines := readInputLines(cfg.In, c.runEnded)
	c.showSession()
	for {
		if err := c.handleNewTraceEntries(follower); err != nil {
			return err
		}
		if len(c.turns) == 0 {
			c.isInputPaused = false
			if lines == nil {
				return c.endOfInput()
			}
		}
		if err := c.handleNextEvent(&lines, follower, signals); errors.Is(err, errQuit) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// close cancels all commands and discards their results.
func (c *chat) close() {
	close(c.runEnded)
	for _, t := range c.turns {
		if t.cancel != nil {
			t.cancel()
		}
	}
}

// handleNextEvent waits for a line, a trace entry, the end of a command or a signal, and
// handles it. It sets lines to nil after the last line.
func (c *chat) handleNextEvent(lines *<-chan inputLine, follower *trace.Follower, signals <-chan os.Signal) error {
	in := *lines
	if c.isInputPaused {
		in = nil
	}
	select {
	case line, ok := <-in:
		if !ok {
			*lines = nil
			return nil
		}
		return c.handleLine(line)
	case <-follower.ReadyChannel():
		return nil
	case finish := <-c.commandResults:
		finish()
		return nil
	case sig := <-signals:
		return c.handleSignal(sig)
	}
}

// handleSignal cancels all turns at the first SIGINT, and ends the chat at the second one
// and at any other signal.
func (c *chat) handleSignal(sig os.Signal) error {
	if number, ok := sig.(syscall.Signal); ok && (number != syscall.SIGINT || c.isInterrupted) {
		return exit.SignalError(number)
	}
	c.isInterrupted = true
	c.cancelTurns("")
	c.view.showRemark("press Ctrl-C again to end the chat")
	return nil
}

// endOfInput returns how the chat ends after its last line: with the status of SIGINT if
// Ctrl-C has cancelled the last turns.
func (c *chat) endOfInput() error {
	if c.isInterrupted {
		return exit.SignalError(syscall.SIGINT)
	}
	return nil
}

// showSession shows the kernel and the path of the trace.
func (c *chat) showSession() {
	ready := c.cfg.Session.KernelReady()
	path := "trace: " + c.cfg.TracePath
	if !c.cfg.KeepTrace {
		path += " (removed at the end; --out keeps it)"
	}
	c.view.showRemark(terminal.Printable(strings.TrimSpace("kernel: "+ready.Language+" "+ready.Version)), path)
}

// handleLine runs a command, or sends the agent a prompt.
func (c *chat) handleLine(line inputLine) error {
	c.isInterrupted = false
	c.view.showPrompt()
	switch {
	case line.err != nil:
		return exit.UsageError(fmt.Errorf("the input cannot be read: %w", line.err))
	case strings.HasPrefix(line.text, ":"):
		return c.runCommand(line.text)
	case strings.TrimSpace(line.text) == "":
		return nil
	default:
		return c.sendPrompt(line.text)
	}
}

// sendPrompt sends the agent a prompt.
func (c *chat) sendPrompt(line string) error {
	c.promptCount++
	t := &turn{requestID: fmt.Sprintf("chat-%d", c.promptCount)}
	t.label, t.title = blocks.LabelAndTaskName(line, c.label, c.supportsLabels())
	c.label = t.label
	c.turns = append(c.turns, t)
	if err := c.cfg.Session.SendQuery(protocol.AgentQuery{Query: line, RequestID: t.requestID}); err != nil {
		return exit.BrokenError(err)
	}
	return nil
}

// supportsLabels reports whether prompts may begin with a label, @LABEL.
func (c *chat) supportsLabels() bool { return c.cfg.Strategy == blocks.StrategyName }

// showTurnLines shows lines of a turn on stdout. In an ordered view it holds them until all
// earlier turns have ended. t is nil for lines that belong to no turn.
func (c *chat) showTurnLines(t *turn, lines ...string) {
	if t != nil && c.view.ordered && t != c.turns[0] {
		t.heldLines = append(t.heldLines, lines...)
		return
	}
	c.view.showLines(lines...)
}

// endTurn ends a turn. In an ordered view it also shows the held lines of the turn that is
// first now.
func (c *chat) endTurn(t *turn) {
	t.isEnded = true
	if !c.view.ordered {
		c.turns = slices.DeleteFunc(c.turns, func(other *turn) bool { return other == t })
		return
	}
	for len(c.turns) > 0 && c.turns[0].isEnded {
		c.turns = c.turns[1:]
		if len(c.turns) > 0 {
			c.view.showLines(c.turns[0].heldLines...)
			c.turns[0].heldLines = nil
		}
	}
}

// inputLine is a line of input, or the error that ends the input.
type inputLine struct {
	text string
	err  error
}

// readInputLines reads lines until the input ends, and then closes the channel it returns. A
// read that does not return is left to the end of the process.
func readInputLines(in io.Reader, closed <-chan struct{}) <-chan inputLine {
	lines := make(chan inputLine)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLineBytes)
		for more := true; more; {
			more = scanner.Scan()
			line := inputLine{text: scanner.Text(), err: scanner.Err()}
			if !more && line.err == nil {
				return
			}
			select {
			case lines <- line:
			case <-closed:
				return
			}
		}
	}()
	return lines
}
