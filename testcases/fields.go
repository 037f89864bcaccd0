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

// fields reads the members of an object and collects what is wrong with them.
// A member that is absent or null reads as the zero value.
type fields struct {
	object *pyvalue.Object
	prefix string // of the names in messages
	faults []FieldError
	owners map[string]string // names in the sandbox to the fields they come from
}

// FieldError is what is wrong with one field of a case.
type FieldError struct {
	Field, Text string
	WrongKind   bool // a member is of another kind than wanted
	Late        bool // the case loads all the same, as it does elsewhere, but cannot be run
}

func (f FieldError) Error() string { return "field " + f.Field + ": " + f.Text }

func (f *fields) fail(name, format string, args ...any) {
	f.faults = append(f.faults, FieldError{Field: f.prefix + name, Text: fmt.Sprintf(format, args...)})
}

func (f *fields) failLate(name, format string, args ...any) {
	f.fail(name, format, args...)
	f.faults[len(f.faults)-1].Late = true
}

func (f *fields) own(name, field string) {
	if f.owners == nil {
		f.owners = map[string]string{}
	}
	f.owners[name] = field
}

// wrong reports a member of another kind than wanted.
func (f *fields) wrong(name, want string, found pyvalue.Value) {
	f.fail(name, "want %s, found %s", want, pyvalue.KindOf(found))
	f.faults[len(f.faults)-1].WrongKind = true
}

// get returns a member, nil when it is absent or null.
func (f *fields) get(name string) pyvalue.Value {
	v := f.object.Get(name)
	if v == (pyvalue.Null{}) {
		return nil
	}
	return v
}

// required reads a string that must be there.
func (f *fields) required(name string) string {
	if f.object.Get(name) == nil {
		f.fail(name, "missing")
		return ""
	}
	if f.get(name) == nil {
		f.wrong(name, "a string", pyvalue.Null{})
	}
	return f.text(name)
}

func (f *fields) text(name string) string {
	v := f.get(name)
	s, ok := v.(pyvalue.String)
	if v != nil && !ok {
		f.wrong(name, "a string", v)
	}
	return string(s)
}

func (f *fields) members(name string) *pyvalue.Object {
	v := f.get(name)
	o, ok := v.(*pyvalue.Object)
	if v != nil && !ok {
		f.wrong(name, "an object", v)
	}
	return o
}

func (f *fields) list(name string) pyvalue.List {
	v := f.get(name)
	l, ok := v.(pyvalue.List)
	if v != nil && !ok {
		f.wrong(name, "a list", v)
	}
	return l
}

// texts reads a list of strings.
func (f *fields) texts(name string) []string {
	var out []string
	for i, item := range f.list(name) {
		s, ok := item.(pyvalue.String)
		if !ok {
			f.wrong(fmt.Sprintf("%s[%d]", name, i), "a string", item)
		}
		out = append(out, string(s))
	}
	return out
}

// count reads a whole number above 0.
func (f *fields) count(name string) int64 {
	v := f.get(name)
	if v == nil {
		return 0
	}
	i, ok := v.(pyvalue.Int)
	if !ok || i.Big().Sign() <= 0 || !i.Big().IsInt64() {
		f.fail(name, "want a whole number above 0, found %s", pyvalue.Text(v))
		return 0
	}
	return i.Big().Int64()
}

// amount reads a finite number above 0.
func (f *fields) amount(name string) float64 {
	v := f.get(name)
	if v == nil {
		return 0
	}
	n := math.NaN()
	switch v := v.(type) {
	case pyvalue.Int:
		n = nearestFloat(v.Big())
	case pyvalue.Float:
		n = float64(v)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) || n <= 0 {
		f.fail(name, "want a number above 0, found %s", pyvalue.Text(v))
		return 0
	}
	return n
}

// duration reads an amount of seconds.
func (f *fields) duration(name string) time.Duration {
	return seconds(f.amount(name))
}

// seconds converts; what lasts longer than any duration is the longest.
func seconds(n float64) time.Duration {
	const most = float64(math.MaxInt64 / time.Second)
	return time.Duration(max(-most, min(n, most)) * float64(time.Second))
}

// onlyKeys reports members that are not known.
func (f *fields) onlyKeys(known ...string) {
	for key := range f.object.All() {
		if !slices.Contains(known, key) {
			f.fail(key, "unknown; known are %s", strings.Join(known, ", "))
		}
	}
}

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
