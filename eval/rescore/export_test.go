package rescore

import (
	"errors"
	"fmt"
	"io"
)

// ReadLines cuts in into lines of at most longest bytes, and tells of each its
// number and its length, or that it is too long.
func ReadLines(in io.Reader, longest int) (told []string, err error) {
	lines := newLineReader(in)
	lines.longest = longest
	for {
		l, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return told, nil
		case err != nil:
			return told, err
		case l.tooLong:
			told = append(told, fmt.Sprintf("%d: too long", l.n))
		default:
			told = append(told, fmt.Sprintf("%d: %d", l.n, len(l.text)))
		}
	}
}
