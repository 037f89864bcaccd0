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

// fieldReader reads the members of a case's JSON object and collects what is wrong with
// them. A member that is absent, null or wrong is read as the zero value.
type fieldReader struct {
	object     *pyvalue.Object
	prefix     string // of the names in faults
	faults     []FieldError
	nameOwners map[string]string // names in the sandbox, with the fields that claim them
}

// FieldError says what is wrong with one field of a case.
type FieldError struct {
	Field, Text string
	WrongKind   bool // a value has the wrong JSON kind
	LoadsAnyway bool // the case loads, as it does in other harnesses, but cannot be run
}

func (f FieldError) Error() string { return "field " + f.Field + ": " + f.Text }

// addFault records that a field is wrong, with a formatted text.
func (f *fieldReader) addFault(name, format string, args ...any) {
	f.faults = append(f.faults, FieldError{Field: f.prefix + name, Text: fmt.Sprintf(format, args...)})
}

// addFaultOfRunOnly records that a field is wrong in a way that prevents only a run, not the
// loading of the case.
func (f *fieldReader) addFaultOfRunOnly(name, format string, args ...any) {
	f.addFault(name, format, args...)
	f.faults[len(f.faults)-1].LoadsAnyway = true
}

// recordSandboxFile records that a field puts a file of this name into the sandbox.
func (f *fieldReader) recordSandboxFile(name, field string) {
	if f.nameOwners == nil {
		f.nameOwners = map[string]string{}
	}
	f.nameOwners[name] = field
}

// addWrongKindFault records that a field has a value of the wrong kind. want describes the
// right kind.
func (f *fieldReader) addWrongKindFault(name, want string, found pyvalue.Value) {
	f.addFault(name, "want %s, found %s", want, pyvalue.KindOf(found))
	f.faults[len(f.faults)-1].WrongKind = true
}

// getMember returns the value of a field, or nil if it is absent or null.
func (f *fieldReader) getMember(name string) pyvalue.Value {
	v := f.object.Get(name)
	if v == (pyvalue.Null{}) {
		return nil
	}
	return v
}

// getRequiredText returns the string value of a field. It records an error if the field
// is absent, null or no string.
func (f *fieldReader) getRequiredText(name string) string {
	if f.object.Get(name) == nil {
		f.addFault(name, "missing")
		return ""
	}
	if f.getMember(name) == nil {
		f.addWrongKindFault(name, "a string", pyvalue.Null{})
	}
	return f.getText(name)
}

// getText returns the string value of a field, or "" if it is absent or null. It
// records an error for another kind of value.
func (f *fieldReader) getText(name string) string {
	v := f.getMember(name)
	s, ok := v.(pyvalue.String)
	if v != nil && !ok {
		f.addWrongKindFault(name, "a string", v)
	}
	return string(s)
}

// getObject returns the object value of a field, or nil if it is absent or null. It
// records an error for another kind of value.
func (f *fieldReader) getObject(name string) *pyvalue.Object {
	v := f.getMember(name)
	o, ok := v.(*pyvalue.Object)
	if v != nil && !ok {
		f.addWrongKindFault(name, "an object", v)
	}
	return o
}

// getList returns the list value of a field, or nil if it is absent or null. It records
// an error for another kind of value.
func (f *fieldReader) getList(name string) pyvalue.List {
	v := f.getMember(name)
	l, ok := v.(pyvalue.List)
	if v != nil && !ok {
		f.addWrongKindFault(name, "a list", v)
	}
	return l
}

// getStringList returns the strings of a field that is a list of strings. It records an
// error for each item that is not a string.
func (f *fieldReader) getStringList(name string) []string {
	var out []string
	for i, item := range f.getList(name) {
		s, ok := item.(pyvalue.String)
		if !ok {
			f.addWrongKindFault(fmt.Sprintf("%s[%d]", name, i), "a string", item)
		}
		out = append(out, string(s))
	}
	return out
}

// getPositiveInteger returns the value of a field that is an integer above 0, or 0 if it is
// absent or null. It records an error for any other value.
func (f *fieldReader) getPositiveInteger(name string) int64 {
	v := f.getMember(name)
	if v == nil {
		return 0
	}
	i, ok := v.(pyvalue.Int)
	if !ok || i.Big().Sign() <= 0 || !i.Big().IsInt64() {
		f.addFault(name, "want a whole number above 0, found %s", pyvalue.Str(v))
		return 0
	}
	return i.Big().Int64()
}

// getPositiveNumber returns the value of a field that is a finite number above 0, or 0 if it is
// absent or null. It records an error for any other value.
func (f *fieldReader) getPositiveNumber(name string) float64 {
	v := f.getMember(name)
	if v == nil {
		return 0
	}
	n := math.NaN()
	switch v := v.(type) {
	case pyvalue.Int:
		n = bigIntToFloat(v.Big())
	case pyvalue.Float:
		n = float64(v)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) || n <= 0 {
		f.addFault(name, "want a number above 0, found %s", pyvalue.Str(v))
		return 0
	}
	return n
}

// getDuration returns the value of a field that is a number of seconds above 0. It
// records an error for any other value.
func (f *fieldReader) getDuration(name string) time.Duration {
	return secondsToDuration(f.getPositiveNumber(name))
}

// secondsToDuration converts a number of seconds to a duration. Numbers out of range
// become the longest duration of their sign.
func secondsToDuration(n float64) time.Duration {
	const most = float64(math.MaxInt64 / time.Second)
	return time.Duration(max(-most, min(n, most)) * float64(time.Second))
}

// rejectUnknownKeys records an error for each member of the object whose name is not in
// known.
func (f *fieldReader) rejectUnknownKeys(known ...string) {
	for key := range f.object.All() {
		if !slices.Contains(known, key) {
			f.addFault(key, "unknown; known are %s", strings.Join(known, ", "))
		}
	}
}

// maxWholeNumberChars is the length, in bytes, of the longest text that is parsed as a
// whole number.
const maxWholeNumberChars = 4300

// getTimeout returns the value of a field that is a whole number of seconds by the
// rules of parseWholeNumber. It returns 0 if the field is absent or null, and records
// an error for any other value.
func (f *fieldReader) getTimeout(name string) time.Duration {
	v := f.getMember(name)
	if v == nil {
		return 0
	}
	n, ok := parseWholeNumber(v)
	if !ok {
		f.addFault(name, "want a whole number of seconds, found %s", pyvalue.Str(v))
	}
	return secondsToDuration(n)
}

// parseWholeNumber converts a value to a whole number by the rules of the public
// format. It accepts an integer; a boolean, as 0 or 1; a float without a fraction that
// fits 64 bits; or a text with optional white space around it, a sign, underscores
// between digits, and a fraction of zeros. ok is false for any other value.
func parseWholeNumber(v pyvalue.Value) (n float64, ok bool) {
	switch v := v.(type) {
	case pyvalue.Bool:
		return map[pyvalue.Bool]float64{true: 1}[v], true
	case pyvalue.Int:
		return bigIntToFloat(v.Big()), true
	case pyvalue.Float:
		n = float64(v)
		return n, n == math.Trunc(n) && math.Abs(n) < 1<<63
	case pyvalue.String:
		return parseWholeText(string(v))
	default:
		return 0, false
	}
}

// parseWholeText parses a text as a whole number: optional white space around it, a
// sign, underscores between digits, and a fraction of zeros. ok is false for any other
// text and for more than 4300 characters.
func parseWholeText(text string) (n float64, ok bool) {
	if len(text) > maxWholeNumberChars || !regexp.MustCompile(`^[+-]?\d+(_\d+)*(\.0+)?$`).MatchString(strings.TrimSpace(text)) {
		return 0, false
	}
	digits, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), ".")
	i, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return 0, false
	}
	return bigIntToFloat(i), true
}

// bigIntToFloat converts an integer to a float64, which is infinite if the integer is
// out of range.
func bigIntToFloat(i *big.Int) float64 {
	n, _ := new(big.Float).SetInt(i).Float64()
	return n
}
