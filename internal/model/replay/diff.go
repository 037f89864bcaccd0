package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/internal/rawjson"
)

// valueDiff is a place, as a JSON pointer, at which a recorded and a new JSON value differ, with
// excerpts of both.
type valueDiff struct {
	pointer    string // RFC 6901
	want, have string // excerpts of the recorded and the new value there
}

// absentValue stands in for a member or list item that only the other JSON value has.
type absentValue struct{}

// firstDiff returns the first difference between two values that [decodeKeepingNumbers]
// has decoded, visiting keys in sorted order, or nil if they are equal. pointer is the
// JSON pointer to both values.
func firstDiff(pointer string, want, have any) *valueDiff {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			return firstObjectDiff(pointer, w, h)
		}
	case []any:
		if h, ok := have.([]any); ok {
			return firstListDiff(pointer, w, h)
		}
	default:
		if want == have {
			return nil
		}
	}
	d := &valueDiff{pointer: pointer}
	d.want, d.have = excerptsAroundFirstDifference(describeValue(want), describeValue(have))
	return d
}

func firstObjectDiff(pointer string, want, have map[string]any) *valueDiff {
	all := maps.Clone(want)
	maps.Copy(all, have)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		step := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		if d := firstDiff(pointer+step, memberOrAbsent(want, key), memberOrAbsent(have, key)); d != nil {
			return d
		}
	}
	return nil
}

func firstListDiff(pointer string, want, have []any) *valueDiff {
	for i := range max(len(want), len(have)) {
		if d := firstDiff(pointer+"/"+strconv.Itoa(i), itemOrAbsent(want, i), itemOrAbsent(have, i)); d != nil {
			return d
		}
	}
	return nil
}

func memberOrAbsent(object map[string]any, key string) any {
	if v, ok := object[key]; ok {
		return v
	}
	return absentValue{}
}

func itemOrAbsent(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absentValue{}
}

// describeValue returns a value as JSON, or "nothing" if it is absent.
func describeValue(v any) string {
	if v == (absentValue{}) {
		return "nothing"
	}
	text, err := rawjson.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// excerptsAroundFirstDifference returns from each of two texts the part around the first byte that
// differs.
func excerptsAroundFirstDifference(a, b string) (string, string) {
	const before = 20
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	return excerptAtOffset(a, same-before), excerptAtOffset(b, same-before)
}

// excerptAtOffset returns up to 80 characters of s from the byte offset from on, with an
// ellipsis at each end that is cut off.
func excerptAtOffset(s string, from int) string {
	const most = 80
	head, tail := "", ""
	if from > 0 {
		for from < len(s) && !utf8.RuneStart(s[from]) {
			from++
		}
		head, s = "…", s[from:]
	}
	if shown := []rune(s); len(shown) > most {
		s, tail = string(shown[:most]), "…"
	}
	return head + s + tail
}
