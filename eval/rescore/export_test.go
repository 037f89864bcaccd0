package rescore

import (
	"errors"
	"fmt"
	"io"
)

// DescribeLines cuts in into lines of at most longest bytes, and tells of each its
// number and its length, or that it is too long.
func DescribeLines(in io.Reader, longest int) (told []string, err error) {
	lines := newLineReader(in)
	lines.maxBytes = longest
	for {
		l, err := lines.nextLine()
		switch {
		case errors.Is(err, io.EOF):
			return told, nil
		case err != nil:
			return told, err
		case l.isTooLong:
			told = append(told, fmt.Sprintf("%d: too long", l.number))
		default:
			told = append(told, fmt.Sprintf("%d: %d", l.number, len(l.text)))
		}
	}
}
