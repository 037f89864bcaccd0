// Package terminal writes to terminals: text without control characters, lines that
// stay at the bottom, and a writer that never waits for a terminal that is stopped.
package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether stream, what a program reads from or writes to, is a
// terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// terminalSize returns the size of the terminal out in characters, or 80 by 24 if out is no
// terminal or has no size.
func terminalSize(out io.Writer) (columns, rows int) {
	if file, ok := out.(*os.File); ok {
		if columns, rows, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return 80, 24
}
