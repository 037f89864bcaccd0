package grading

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// parseFloat reads a number as Python's float does: white space around it, the
// decimal digits of any script, single underscores between digits, inf and nan
// in any case. A value out of range is an infinity.
func parseFloat(s string) (float64, bool) {
	s = strings.Trim(asciiDigits(s), " \t\n\r\v\f")
	if f, ok := nonFinite(s); ok {
		return f, true
	}
	if strings.Trim(s, "0123456789.+-eE_") != "" || !underscoresFit(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// asciiDigits makes every decimal digit an ASCII one and white space beyond
// ASCII a space. What else is beyond ASCII stays, and is no number.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Nd, r):
			return '0' + digitValue(r)
		}
		return r
	}, s)
}

// digitValue returns the value of a decimal digit: Unicode lists the digits of
// a script in runs of ten that begin with zero.
func digitValue(r rune) rune {
	n := rune(0)
	for unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return n % 10
}

func nonFinite(s string) (float64, bool) {
	sign := 1
	if s != "" && (s[0] == '+' || s[0] == '-') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	switch strings.ToLower(s) {
	case "inf", "infinity":
		return math.Inf(sign), true
	case "nan":
		return math.NaN(), true
	}
	return 0, false
}

func underscoresFit(s string) bool {
	digit := func(i int) bool { return i >= 0 && i < len(s) && '0' <= s[i] && s[i] <= '9' }
	for i := range len(s) {
		if s[i] == '_' && (!digit(i-1) || !digit(i+1)) {
			return false
		}
	}
	return true
}
