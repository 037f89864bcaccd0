// Package exit has the exit statuses of the program, and errors that carry one.
package exit

import (
	"errors"
	"fmt"
	"syscall"
)

// Exit statuses of every subcommand. A command that a signal ended has 128 plus the
// signal's number.
const (
	StatusOK     = 0
	StatusFailed = 1 // something did not pass
	StatusUsage  = 2 // the command line or its input is wrong
	StatusBroken = 3 // the harness or its environment failed
)

// Error ends the program with an exit status.
type Error struct {
	Status int
	Err    error // printed on stderr; nil prints nothing
}

// Error returns the text of Err, or names the status if Err is nil.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// FailedError returns an error with StatusFailed that prints nothing.
func FailedError() error { return &Error{Status: StatusFailed} }

// UsageError returns err with StatusUsage.
func UsageError(err error) error { return &Error{StatusUsage, err} }

// BrokenError returns err with StatusBroken.
func BrokenError(err error) error { return &Error{StatusBroken, err} }

// SignalError returns an error with the status of a command that sig ended. It prints
// nothing.
func SignalError(sig syscall.Signal) error { return &Error{Status: 128 + int(sig)} }

// FirstErrorOrBroken returns the first [Error] in the tree of err. If there is none it returns
// err with StatusBroken, or nil if err is nil.
func FirstErrorOrBroken(err error) error {
	if err == nil {
		return nil
	}
	if status, ok := errors.AsType[*Error](err); ok {
		return status
	}
	return BrokenError(err)
}
