package testcases

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/testcases/grading"
)

// fields reads the members of an object and collects what is wrong with them.
// A member that is absent or null reads as the zero value.
type fields struct {
	object *grading.Object
	prefix string // of the names in messages
	errs   []error
}

func (f *fields) fail(name, format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("field %s%s: %s", f.prefix, name, fmt.Sprintf(format, args...)))
}

// wrong reports a member of another kind than wanted.
func (f *fields) wrong(name, want string, found grading.Value) {
	f.fail(name, "want %s, found %s", want, grading.KindOf(found))
}

// get returns a member, nil when it is absent or null.
func (f *fields) get(name string) grading.Value {
	v := f.object.Get(name)
	if v == (grading.Null{}) {
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
		f.wrong(name, "a string", grading.Null{})
	}
	return f.text(name)
}

func (f *fields) text(name string) string {
	v := f.get(name)
	s, ok := v.(grading.String)
	if v != nil && !ok {
		f.wrong(name, "a string", v)
	}
	return string(s)
}

func (f *fields) members(name string) *grading.Object {
	v := f.get(name)
	o, ok := v.(*grading.Object)
	if v != nil && !ok {
		f.wrong(name, "an object", v)
	}
	return o
}

func (f *fields) list(name string) grading.List {
	v := f.get(name)
	l, ok := v.(grading.List)
	if v != nil && !ok {
		f.wrong(name, "a list", v)
	}
	return l
}

// texts reads a list of strings.
func (f *fields) texts(name string) []string {
	var out []string
	for i, item := range f.list(name) {
		s, ok := item.(grading.String)
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
	i, ok := v.(grading.Int)
	if !ok || i.Big().Sign() <= 0 || !i.Big().IsInt64() {
		f.fail(name, "want a whole number above 0, found %s", grading.Text(v))
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
	case grading.Int:
		n, _ = new(big.Float).SetInt(v.Big()).Float64()
	case grading.Float:
		n = float64(v)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) || n <= 0 {
		f.fail(name, "want a number above 0, found %s", grading.Text(v))
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

// timeout reads whole seconds of the public format, which also come as text, as
// a float without a fraction or as a boolean.
func (f *fields) timeout(name string) time.Duration {
	v := f.get(name)
	if v == nil {
		return 0
	}
	n, ok := wholeNumber(v)
	if !ok {
		f.fail(name, "want a whole number of seconds, found %s", grading.Text(v))
	}
	return seconds(n)
}

func wholeNumber(v grading.Value) (n float64, ok bool) {
	switch v := v.(type) {
	case grading.Bool:
		return map[grading.Bool]float64{true: 1}[v], true
	case grading.Int:
		n, _ = new(big.Float).SetInt(v.Big()).Float64()
		return n, true
	case grading.Float:
		return float64(v), float64(v) == math.Trunc(float64(v)) && !math.IsInf(float64(v), 0)
	case grading.String:
		digits, fraction, _ := strings.Cut(strings.TrimSpace(string(v)), ".")
		whole, err := strconv.ParseInt(digits, 10, 64)
		return float64(whole), err == nil && strings.Trim(fraction, "0") == ""
	default:
		return 0, false
	}
}

// onlyKeys reports members that are not known.
func (f *fields) onlyKeys(known ...string) {
	for key := range f.object.All() {
		if !slices.Contains(known, key) {
			f.fail(key, "unknown; known are %s", strings.Join(known, ", "))
		}
	}
}
