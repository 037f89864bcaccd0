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

// fieldReader reads the members of an object and collects their faults. A member that
// is absent or null, or has a fault, is read as the zero value.
type fieldReader struct {
	object     *pyvalue.Object
	prefix     string // of the names in faults
	faults     []FieldError
	nameOwners map[string]string // names in the sandbox, with the fields that claim them
}

// FieldError is what is wrong with one field of a case.
type FieldError struct {
	Field, Text string
	WrongKind   bool // a value has the wrong JSON kind
	LoadsAnyway bool // the case loads, as it does in other harnesses, but cannot be run
}

func (f FieldError) Error() string { return "field " + f.Field + ": " + f.Text }

// addFault adds a fault of a member with a formatted text.
func (f *fieldReader) addFault(name, format string, args ...any) {
	f.faults = append(f.faults, FieldError{Field: f.prefix + name, Text: fmt.Sprintf(format, args...)})
}

// addRunFault adds a fault that does not keep the case from being loaded.
func (f *fieldReader) addRunFault(name, format string, args ...any) {
	f.addFault(name, format, args...)
	f.faults[len(f.faults)-1].LoadsAnyway = true
}

// claimFileName records that a field puts a file of that name into the sandbox.
func (f *fieldReader) claimFileName(name, field string) {
	if f.nameOwners == nil {
		f.nameOwners = map[string]string{}
	}
	f.nameOwners[name] = field
}

// addWrongKind adds the fault of a member that has the wrong kind.
func (f *fieldReader) addWrongKind(name, want string, found pyvalue.Value) {
	f.addFault(name, "want %s, found %s", want, pyvalue.KindOf(found))
	f.faults[len(f.faults)-1].WrongKind = true
}

// getMember returns a member, or nil if it is absent or null.
func (f *fieldReader) getMember(name string) pyvalue.Value {
	v := f.object.Get(name)
	if v == (pyvalue.Null{}) {
		return nil
	}
	return v
}

// getRequiredText returns a string. If it is absent or null, that is a fault.
func (f *fieldReader) getRequiredText(name string) string {
	if f.object.Get(name) == nil {
		f.addFault(name, "missing")
		return ""
	}
	if f.getMember(name) == nil {
		f.addWrongKind(name, "a string", pyvalue.Null{})
	}
	return f.getText(name)
}

// getText returns a string.
func (f *fieldReader) getText(name string) string {
	v := f.getMember(name)
	s, ok := v.(pyvalue.String)
	if v != nil && !ok {
		f.addWrongKind(name, "a string", v)
	}
	return string(s)
}

// getObject returns an object, nil if there is none.
func (f *fieldReader) getObject(name string) *pyvalue.Object {
	v := f.getMember(name)
	o, ok := v.(*pyvalue.Object)
	if v != nil && !ok {
		f.addWrongKind(name, "an object", v)
	}
	return o
}

// getList returns a list, nil if there is none.
func (f *fieldReader) getList(name string) pyvalue.List {
	v := f.getMember(name)
	l, ok := v.(pyvalue.List)
	if v != nil && !ok {
		f.addWrongKind(name, "a list", v)
	}
	return l
}

// getTexts returns a list of strings.
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

// getCount returns an integer above 0.
func (f *fieldReader) getCount(name string) int64 {
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

// getAmount returns a finite number above 0.
func (f *fieldReader) getAmount(name string) float64 {
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

// getDuration returns a number of seconds above 0.
func (f *fieldReader) getDuration(name string) time.Duration {
	return secondsToDuration(f.getAmount(name))
}

// secondsToDuration converts seconds to a duration. Numbers out of range become the longest
// duration.
func secondsToDuration(n float64) time.Duration {
	const most = float64(math.MaxInt64 / time.Second)
	return time.Duration(max(-most, min(n, most)) * float64(time.Second))
}

// rejectUnknownKeys adds a fault for each member that is not known.
func (f *fieldReader) rejectUnknownKeys(known ...string) {
	for key := range f.object.All() {
		if !slices.Contains(known, key) {
			f.addFault(key, "unknown; known are %s", strings.Join(known, ", "))
		}
	}
}

// maxWholeNumberChars is the length of the longest text that is parsed as a whole number.
const maxWholeNumberChars = 4300

// getTimeout returns whole seconds by the rules of the public format, see
// parseWholeNumber.
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

// parseWholeNumber returns a whole number by the rules of the public format: an
// integer; a boolean; a float without a fraction that fits 64 bits; or a text with
// optional white space around it, a sign, underscores between digits, and a fraction of
// zeros.
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

// parseWholeText parses a whole number from a text, see parseWholeNumber.
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

// bigIntToFloat converts an integer. It is infinite if it is out of range.
func bigIntToFloat(i *big.Int) float64 {
	n, _ := new(big.Float).SetInt(i).Float64()
	return n
}
