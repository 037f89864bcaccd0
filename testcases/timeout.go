package testcases

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"time"

	"assay/testcases/grading/pyvalue"
)

// maxDigits is the longest text that is read as a whole number.
const maxDigits = 4300

// timeout reads whole seconds of the public format, which also come as text, as
// a float without a fraction or as a boolean.
func (f *fields) timeout(name string) time.Duration {
	v := f.get(name)
	if v == nil {
		return 0
	}
	n, ok := wholeNumber(v)
	if !ok {
		f.fail(name, "want a whole number of seconds, found %s", pyvalue.Text(v))
	}
	return seconds(n)
}

// wholeNumber converts v to a whole number by the rules of the public format:
// a float must have no fraction and fit 64 bits, a text may have white space
// around it, a sign, underscores between digits, and a fraction of zeros.
func wholeNumber(v pyvalue.Value) (n float64, ok bool) {
	switch v := v.(type) {
	case pyvalue.Bool:
		return map[pyvalue.Bool]float64{true: 1}[v], true
	case pyvalue.Int:
		return nearestFloat(v.Big()), true
	case pyvalue.Float:
		n = float64(v)
		return n, n == math.Trunc(n) && math.Abs(n) < 1<<63
	case pyvalue.String:
		return wholeText(string(v))
	default:
		return 0, false
	}
}

func wholeText(text string) (n float64, ok bool) {
	if len(text) > maxDigits || !regexp.MustCompile(`^[+-]?\d+(_\d+)*(\.0+)?$`).MatchString(strings.TrimSpace(text)) {
		return 0, false
	}
	digits, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), ".")
	i, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return 0, false
	}
	return nearestFloat(i), true
}

// nearestFloat is an infinity for what is beyond a float.
func nearestFloat(i *big.Int) float64 {
	n, _ := new(big.Float).SetInt(i).Float64()
	return n
}
