package rescore

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// MaxLineBytes bounds a line of [GradeLines], in bytes. A longer one is read past.
const MaxLineBytes = 64 << 20

// inputLine is a line of the input.
type inputLine struct {
	number    int64  // from 1
	text      string // without its end
	isTooLong bool   // there is no text, as it would have passed MaxLineBytes
}

// lineReader cuts the input into lines, which end with \n or the input. It is
// not safe for concurrent use.
type lineReader struct {
	in         *bufio.Reader
	maxBytes   int
	lineNumber int64
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), maxBytes: MaxLineBytes}
}

// nextLine returns the next line that is not blank, io.EOF after the last.
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

// readLine reads up to the end of a line and tells how many bytes that were. Of a
// line that is too long it keeps nothing.
func (r *lineReader) readLine() (text string, size int, err error) {
	var kept strings.Builder
	for {
		part, err := r.in.ReadSlice('\n')
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

// isBlank says whether nothing is there but the white space of JSON.
func isBlank(text string) bool { return strings.Trim(text, " \t\r\n") == "" }
