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
	if near := NearestWord(key, known); near != "" && !object.Has(near) {
		i.Fix = &Fix{Before: toJSON(pyvalue.String(key)), After: toJSON(pyvalue.String(near))}
	}
}

// addCorrectionFix adds a fix to the issue that replaces the value of a member by the
// most similar known value, unless none is similar enough.
func (i *Issue) addCorrectionFix(key string, found pyvalue.Value, known []string) {
	text, _ := found.(pyvalue.String)
	if near := NearestWord(string(text), known); near != "" {
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

// NearestWord returns the known word that word was probably meant to be, or "" if there
// is none. One letter in three may differ, but no more than two, where two exchanged
// neighbors count once; case and the kind of separator do not matter.
func NearestWord(word string, known []string) string {
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

// editDistance returns how many characters must be inserted, deleted, replaced or exchanged
// with the next one to turn a into b.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	// distance[i][j] is the distance between the first i characters of a and the first j of b.
	distance := make([][]int, len(from)+1)
	for i := range distance {
		distance[i] = make([]int, len(to)+1)
		distance[i][0] = i
	}
	for j := range distance[0] {
		distance[0][j] = j
	}
	for i := 1; i <= len(from); i++ {
		for j := 1; j <= len(to); j++ {
			replaced := distance[i-1][j-1]
			if from[i-1] != to[j-1] {
				replaced++
			}
			distance[i][j] = min(replaced, distance[i-1][j]+1, distance[i][j-1]+1)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				distance[i][j] = min(distance[i][j], distance[i-2][j-2]+1)
			}
		}
	}
	return distance[len(from)][len(to)]
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
