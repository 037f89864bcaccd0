package trace

import "bytes"

// LineWithoutMessage is a line of a trace less what its frame carries, msg, which stands last
// in it. A line that has none, such as the header, is returned as it is. No text
// in a line can look like the name that is searched for, as its quotes would be
// escaped. The result shares nothing with line.
func LineWithoutMessage(line []byte) []byte {
	outside, _, found := cutAtMessage(line)
	if !found {
		return bytes.Clone(line)
	}
	return append(bytes.Clone(outside), '}')
}

// LineMessage is what the frame of a line carries; nil: the line has none. It is
// part of line.
func LineMessage(line []byte) []byte {
	_, message, _ := cutAtMessage(line)
	return bytes.TrimSuffix(message, []byte("}"))
}

// cutAtMessage parts a line where its message begins.
func cutAtMessage(line []byte) (outside, message []byte, found bool) {
	return bytes.Cut(line, []byte(`,"msg":`))
}
