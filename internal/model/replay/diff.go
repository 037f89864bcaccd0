package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/internal/model/rawjson"
)

// diff is a place at which two JSON values differ.
type diff struct {
	pointer    string // RFC 6901
	want, have string // what is there, short enough for an error
}

// absent stands for a member that one of the values does not have.
type absent struct{}

// firstDifference finds the first difference of two values that were read by
// [decode], keys in sorted order; nil when they are equal.
func firstDifference(pointer string, want, have any) *diff {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			return objectDifference(pointer, w, h)
		}
	case []any:
		if h, ok := have.([]any); ok {
			return listDifference(pointer, w, h)
		}
	default:
		if want == have {
			return nil
		}
	}
	d := &diff{pointer: pointer}
	d.want, d.have = apart(asText(want), asText(have))
	return d
}

func objectDifference(pointer string, want, have map[string]any) *diff {
	all := maps.Clone(want)
	maps.Copy(all, have)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		step := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		if d := firstDifference(pointer+step, member(want, key), member(have, key)); d != nil {
			return d
		}
	}
	return nil
}

func listDifference(pointer string, want, have []any) *diff {
	for i := range max(len(want), len(have)) {
		if d := firstDifference(pointer+"/"+strconv.Itoa(i), item(want, i), item(have, i)); d != nil {
			return d
		}
	}
	return nil
}

func member(object map[string]any, key string) any {
	if v, ok := object[key]; ok {
		return v
	}
	return absent{}
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

func asText(v any) string {
	if v == (absent{}) {
		return "nothing"
	}
	text, err := rawjson.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// apart cuts two texts to a few characters around the first that differs.
func apart(a, b string) (string, string) {
	const before = 20
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	return around(a, same-before), around(b, same-before)
}

// around is what of s follows byte from, cut at both ends.
func around(s string, from int) string {
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
