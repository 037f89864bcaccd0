package testcases

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/testcases/grading/pyvalue"
)

// fieldReader reads the members of an object and collects what is wrong with them.
// A member that is absent or null reads as the zero value.
type fieldReader struct {
	object     *pyvalue.Object
	prefix     string // of the names in messages
	faults     []FieldError
	nameOwners map[string]string // names in the sandbox to the fields they come from
}

// FieldError is what is wrong with one field of a case.
type FieldError struct {
	Field, Text string
	WrongKind   bool // a member is of another kind than wanted
	LoadsAnyway bool // the case loads all the same, as it does elsewhere, but cannot be run
}

func (f FieldError) Error() string { return "field " + f.Field + ": " + f.Text }

func (f *fieldReader) addFault(name, format string, args ...any) {
	f.faults = append(f.faults, FieldError{Field: f.prefix + name, Text: fmt.Sprintf(format, args...)})
}

func (f *fieldReader) addLateFault(name, format string, args ...any) {
	f.addFault(name, format, args...)
	f.faults[len(f.faults)-1].LoadsAnyway = true
}

func (f *fieldReader) claimName(name, field string) {
	if f.nameOwners == nil {
		f.nameOwners = map[string]string{}
	}
	f.nameOwners[name] = field
}

// addWrongKind reports a member of another kind than wanted.
func (f *fieldReader) addWrongKind(name, want string, found pyvalue.Value) {
	f.addFault(name, "want %s, found %s", want, pyvalue.KindOf(found))
	f.faults[len(f.faults)-1].WrongKind = true
}

// get returns a member, nil when it is absent or null.
func (f *fieldReader) get(name string) pyvalue.Value {
	v := f.object.Get(name)
	if v == (pyvalue.Null{}) {
		return nil
	}
	return v
}

// getRequiredText reads a string that must be there.
func (f *fieldReader) getRequiredText(name string) string {
	if f.object.Get(name) == nil {
		f.addFault(name, "missing")
		return ""
	}
	if f.get(name) == nil {
		f.addWrongKind(name, "a string", pyvalue.Null{})
	}
	return f.getText(name)
}

func (f *fieldReader) getText(name string) string {
	v := f.get(name)
	s, ok := v.(pyvalue.String)
	if v != nil && !ok {
		f.addWrongKind(name, "a string", v)
	}
	return string(s)
}

func (f *fieldReader) getObject(name string) *pyvalue.Object {
	v := f.get(name)
	o, ok := v.(*pyvalue.Object)
	if v != nil && !ok {
		f.addWrongKind(name, "an object", v)
	}
	return o
}

func (f *fieldReader) getList(name string) pyvalue.List {
	v := f.get(name)
	l, ok := v.(pyvalue.List)
	if v != nil && !ok {
		f.addWrongKind(name, "a list", v)
	}
	return l
}

// getTexts reads a list of strings.
func (f *fieldReader) getTexts(name string) []string {
	var out []string
	for i, item := range f.getList(name) {
		s, ok := item.(pyvalue.String)
		if !ok {
			f.addWrongKind(fmt.Sprintf("%s[%d]", name, i), "a string", item)
		}
		out = append(out, string(s))
	}
	return out
}

// getCount reads a whole number above 0.
func (f *fieldReader) getCount(name string) int64 {
	v := f.get(name)
	if v == nil {
		return 0
	}
	i, ok := v.(pyvalue.Int)
	if !ok || i.Big().Sign() <= 0 || !i.Big().IsInt64() {
		f.addFault(name, "want a whole number above 0, found %s", pyvalue.Text(v))
		return 0
	}
	return i.Big().Int64()
}

// getAmount reads a finite number above 0.
func (f *fieldReader) getAmount(name string) float64 {
	v := f.get(name)
	if v == nil {
		return 0
	}
	n := math.NaN()
	switch v := v.(type) {
	case pyvalue.Int:
		n = toFloat(v.Big())
	case pyvalue.Float:
		n = float64(v)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) || n <= 0 {
		f.addFault(name, "want a number above 0, found %s", pyvalue.Text(v))
		return 0
	}
	return n
}

// getDuration reads an amount of seconds.
func (f *fieldReader) getDuration(name string) time.Duration {
	return toDuration(f.getAmount(name))
}

// toDuration converts; what lasts longer than any duration is the longest.
func toDuration(n float64) time.Duration {
	const most = float64(math.MaxInt64 / time.Second)
	return time.Duration(max(-most, min(n, most)) * float64(time.Second))
}

// rejectUnknownKeys reports members that are not known.
func (f *fieldReader) rejectUnknownKeys(known ...string) {
	for key := range f.object.All() {
		if !slices.Contains(known, key) {
			f.addFault(key, "unknown; known are %s", strings.Join(known, ", "))
		}
	}
}

// maxDigits is the longest text that is read as a whole number.
const maxDigits = 4300

// getTimeout reads whole seconds of the public format, which also come as text, as
// a float without a fraction or as a boolean.
func (f *fieldReader) getTimeout(name string) time.Duration {
	v := f.get(name)
	if v == nil {
		return 0
	}
	n, ok := parseWholeNumber(v)
	if !ok {
		f.addFault(name, "want a whole number of seconds, found %s", pyvalue.Text(v))
	}
	return toDuration(n)
}

// parseWholeNumber converts v to a whole number by the rules of the public format:
// a float must have no fraction and fit 64 bits, a text may have white space
// around it, a sign, underscores between digits, and a fraction of zeros.
func parseWholeNumber(v pyvalue.Value) (n float64, ok bool) {
	switch v := v.(type) {
	case pyvalue.Bool:
		return map[pyvalue.Bool]float64{true: 1}[v], true
	case pyvalue.Int:
		return toFloat(v.Big()), true
	case pyvalue.Float:
		n = float64(v)
		return n, n == math.Trunc(n) && math.Abs(n) < 1<<63
	case pyvalue.String:
		return parseWholeText(string(v))
	default:
		return 0, false
	}
}

func parseWholeText(text string) (n float64, ok bool) {
	if len(text) > maxDigits || !regexp.MustCompile(`^[+-]?\d+(_\d+)*(\.0+)?$`).MatchString(strings.TrimSpace(text)) {
		return 0, false
	}
	digits, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), ".")
	i, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return 0, false
	}
	return toFloat(i), true
}

// toFloat is an infinity for what is beyond a float.
func toFloat(i *big.Int) float64 {
	n, _ := new(big.Float).SetInt(i).Float64()
	return n
}
