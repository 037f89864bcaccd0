package protocol

import (
	"bufio"
	"errors"
	"fmt"
)

// LineTooLongError is the error of [ReadLine] for a line of more than MaxBytes.
type LineTooLongError struct{ MaxBytes int }

// Error names the limit.
func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("a message of more than %d bytes", e.MaxBytes)
}

// ReadLine reads a line of at most maxBytes, with its newline; a longer one is a
// [*LineTooLongError]. With an error of in, such as io.EOF, it returns what came before it.
func ReadLine(in *bufio.Reader, maxBytes int) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxBytes {
			return nil, &LineTooLongError{maxBytes}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
