package grading

// What the tests compare with Python directly.

func ParseFloat(s string) (float64, bool) { return parseFloat(s) }
func Upper(s string) string               { return upper(s) }
func Trim(s string) string                { return trim(s) }
func Repr(v Value) string                 { return repr(v) }
func Equal(a, b Value) bool               { return equal(a, b) }
func AtMost(a, b Value) (bool, error)     { return atMost(a, b) }
func AppendRune(dst []byte, r rune) []byte {
	return appendRune(dst, r)
}
