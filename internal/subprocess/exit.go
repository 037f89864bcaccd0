package subprocess

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit is how a child ended.
type Exit struct {
	Code       int    // exit status; -1 when a signal ended it, or Lost
	Signal     string // "SIGKILL"; empty when it exited by itself
	Lost       bool   // nobody can tell how it ended: the process that had forked it is gone
	LastOutput string // the last lines it printed
}

func newExit(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: status.ExitStatus()}
}

// String is one line: how it ended, without what it printed.
func (e Exit) String() string {
	switch {
	case e.Lost:
		return "ended, nobody can tell how"
	case e.Signal != "":
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
	return withTail(fmt.Errorf("%s %s", e.Name, e.Exit), e.Exit.LastOutput).Error()
}

// withTail adds the last thing that a child printed to an error.
func withTail(err error, tail string) error {
	tail = strings.TrimSpace(tail)
	if tail == "" {
		return err
	}
	return fmt.Errorf("%w; it printed last: %s", err, tail)
}
