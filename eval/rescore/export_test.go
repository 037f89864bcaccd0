package rescore

import (
	"errors"
	"fmt"
	"io"
)

// SplitLinesForTest splits in into lines as GradeAnswerLines does, with maxBytes instead of
// MaxLineBytes. It returns "number: length" for each line that is not blank, or "number: too
// long".
func SplitLinesForTest(in io.Reader, maxBytes int) (lines []string, err error) {
	reader := newLineReader(in)
	reader.maxBytes = maxBytes
	for {
		l, err := reader.nextLine()
		switch {
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return lines, err
		case l.isTooLong:
			lines = append(lines, fmt.Sprintf("%d: too long", l.number))
		default:
			lines = append(lines, fmt.Sprintf("%d: %d", l.number, len(l.text)))
		}
	}
}
