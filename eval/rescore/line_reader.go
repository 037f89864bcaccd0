package rescore

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// MaxLineBytes is how long a line may be that [GradeLines] grades, with its newline. A longer one
// is skipped and answered with an error.
const MaxLineBytes = 64 << 20

// inputLine is a line of GradeLines' input.
type inputLine struct {
	number    int64  // from 1
	text      string // without its end
	isTooLong bool   // there is no text, as it would have passed MaxLineBytes
}

// lineReader splits a text into lines. The last one may lack its newline. It is not safe for
// concurrent use.
type lineReader struct {
	input      *bufio.Reader
	maxBytes   int
	lineNumber int64
}

// newLineReader returns a reader of lines of at most MaxLineBytes.
func newLineReader(in io.Reader) *lineReader {
	return &lineReader{input: bufio.NewReaderSize(in, 64<<10), maxBytes: MaxLineBytes}
}

// nextLine returns the next line that is not blank, and io.EOF after the last. It fails if the text
// cannot be read.
func (r *lineReader) nextLine() (inputLine, error) {
	for {
		r.lineNumber++
		text, size, err := r.readLine()
		if err != nil && (size == 0 || !errors.Is(err, io.EOF)) {
			return inputLine{}, err
		}
		l := inputLine{number: r.lineNumber, text: text, isTooLong: size > r.maxBytes}
		if l.isTooLong || !isBlank(text) {
			return l, nil
		}
	}
}

// readLine reads one line and returns its text with the newline and its length in bytes. The text
// of a line longer than maxBytes is empty. It returns io.EOF with the last line if that has no
// newline.
func (r *lineReader) readLine() (text string, size int, err error) {
	var kept strings.Builder
	for {
		part, err := r.input.ReadSlice('\n')
		if size += len(part); size > r.maxBytes {
			kept.Reset()
		} else {
			_, _ = kept.Write(part)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return kept.String(), size, err
		}
	}
}

// isBlank reports whether text has only the white space of JSON.
func isBlank(text string) bool { return strings.Trim(text, " \t\r\n") == "" }
