package rescore

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// MaxLineBytes is the length in bytes, newline included, of the longest line that [GradeAnswerLines]
// grades. A longer one is skipped and answered with an error.
const MaxLineBytes = 64 << 20

// inputLine is one line of the input of GradeAnswerLines.
type inputLine struct {
	number    int64  // from 1
	text      string // with its newline, if it has one; empty if isTooLong
	isTooLong bool   // the line is longer than MaxLineBytes
}

// lineReader splits the input of GradeAnswerLines into lines. The last one may lack its newline. It
// is not safe for concurrent use.
type lineReader struct {
	input      *bufio.Reader
	maxBytes   int
	lineNumber int64
}

// newLineReader returns a reader of the lines of in that have at most MaxLineBytes.
func newLineReader(in io.Reader) *lineReader {
	return &lineReader{input: bufio.NewReaderSize(in, 64<<10), maxBytes: MaxLineBytes}
}

// nextLine returns the next line of the input that is not blank. It fails with io.EOF after the
// last line, and if reading fails.
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

// readLine reads one line of the input. It returns the text with its newline, and its length in
// bytes; the text is empty if the line is longer than maxBytes. It returns io.EOF together with
// a last line that has no newline.
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

// isBlank reports whether text has only characters that JSON treats as white space.
func isBlank(text string) bool { return strings.Trim(text, " \t\r\n") == "" }
