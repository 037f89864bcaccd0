package pyvalue

import "fmt"

// Error is the reason why a value could not be decoded, used or graded. Kind is for
// programs: type_error, value_error, key_error, overflow, recursion_error, not_json (of
// a probe's value), kernel, notebook, command, model (of the judge), unknown_grader or
// panic.
type Error struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

func (e *Error) Error() string { return e.Kind + ": " + e.Text }

// TypeError returns an [Error] of kind type_error with a formatted text.
func TypeError(format string, args ...any) *Error {
	return &Error{Kind: "type_error", Text: fmt.Sprintf(format, args...)}
}

// ValueError returns an [Error] of kind value_error with a formatted text.
func ValueError(format string, args ...any) *Error {
	return &Error{Kind: "value_error", Text: fmt.Sprintf(format, args...)}
}
