package child

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit is how a child ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal ended it
	Signal string // "SIGKILL"; empty when it exited by itself
	Tail   string // the last lines it printed
}

func newExit(state *os.ProcessState, tail string) Exit {
	exit := Exit{Code: state.ExitCode(), Tail: tail}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = unix.SignalName(status.Signal())
	}
	return exit
}

// String is one line: how it ended, without what it printed.
func (e Exit) String() string {
	if e.Signal != "" {
		return "was killed by " + e.Signal
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// ExitError says that a child has died.
type ExitError struct {
	Name string
	Exit Exit
}

func (e *ExitError) Error() string {
	return withTail(fmt.Errorf("%s %s", e.Name, e.Exit), e.Exit.Tail).Error()
}

// withTail adds the last thing that a child printed to an error.
func withTail(err error, tail string) error {
	tail = strings.TrimSpace(tail)
	if tail == "" {
		return err
	}
	return fmt.Errorf("%w; it printed last: %s", err, tail)
}
