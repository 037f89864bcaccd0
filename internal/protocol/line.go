package protocol

import (
	"bufio"
	"errors"
	"fmt"
)

// ReadLine reads a line of at most maxBytes, with its newline; a longer one is an error. With an error
// of in, such as io.EOF, it returns what came before it.
func ReadLine(in *bufio.Reader, maxBytes int) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxBytes {
			return nil, fmt.Errorf("a message of more than %d bytes", maxBytes)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
