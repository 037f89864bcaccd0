package lint

import (
	"fmt"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// newIssue returns an issue with this code. The first letter of the code decides its
// level: E is an error, W a warning.
func newIssue(code, location, format string, args ...any) Issue {
	level := LevelWarning
	if strings.HasPrefix(code, "E") {
		level = LevelError
	}
	return Issue{Level: level, Code: code, Location: location, Message: fmt.Sprintf(format, args...)}
}

// issueList collects the lint issues of a case.
type issueList []Issue

// addIssue adds an issue to the list. The returned pointer, through which a fix can be
// added, is valid until the next call.
func (l *issueList) addIssue(code, location, format string, args ...any) *Issue {
	*l = append(*l, newIssue(code, location, format, args...))
	return &(*l)[len(*l)-1]
}

// addRenameFix adds a fix to the issue that replaces the name of a member by the most
// similar known name, unless none is similar enough or object already has a member with
// that name.
func (i *Issue) addRenameFix(key string, known []string, object *pyvalue.Object) {
	if near := nearestWord(key, known); near != "" && !object.Has(near) {
		i.Fix = &Fix{Before: toJSON(pyvalue.String(key)), After: toJSON(pyvalue.String(near))}
	}
}

// addCorrectionFix adds a fix to the issue that replaces the value of a member by the
// most similar known value, unless none is similar enough.
func (i *Issue) addCorrectionFix(key string, found pyvalue.Value, known []string) {
	text, _ := found.(pyvalue.String)
	if near := nearestWord(string(text), known); near != "" {
		i.addReplacementFix(key, text, pyvalue.String(near))
	}
}

// addReplacementFix adds a fix to the issue that replaces the value of a member.
func (i *Issue) addReplacementFix(key string, before, after pyvalue.Value) {
	name := toJSON(pyvalue.String(key)) + ": "
	i.Fix = &Fix{Before: name + toJSON(before), After: name + toJSON(after)}
}

// toJSON returns the JSON of v.
func toJSON(v pyvalue.Value) string {
	text, _ := v.MarshalJSON()
	return string(text)
}

// nearestWord returns the known word that word was probably meant to be, or "" if there
// is none. One letter in three may differ, but no more than two; case and the kind of
// separator do not matter.
func nearestWord(word string, known []string) string {
	const most = 64 // longer words are no names
	if len(word) > most {
		return ""
	}
	plain := func(s string) string { return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(s)) }
	best, found := min(3, len(word)/3+1), ""
	for _, candidate := range known {
		if d := editDistance(plain(word), plain(candidate)); d < best {
			best, found = d, candidate
		}
	}
	return found
}

// editDistance returns how many characters must be inserted, deleted or replaced to
// turn a into b.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1) // distance of the part of a read so far from each beginning of b
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range to {
			cost := 1
			if r == s {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

// isAbsent reports whether the value of a member is absent or null.
func isAbsent(v pyvalue.Value) bool { return v == nil || v == (pyvalue.Null{}) }

// isBlank reports whether a text is empty or white space, as Python defines it.
func isBlank(text string) bool { return pyvalue.TrimSpace(text) == "" }

// isPythonNumber reports whether v is a number. A boolean counts as one, as in Python.
func isPythonNumber(v pyvalue.Value) bool {
	_, ok := pyvalue.AsNumber(v)
	return ok
}

// isValueLess reports whether a < b. It is false if the values cannot be ordered: with
// NaN, and with values of different kinds.
func isValueLess(a, b pyvalue.Value) bool {
	less, _ := pyvalue.Less(a, b)
	return less
}
