package pyvalue_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// sampleUnicodeRunes returns the characters of all scripts and symbols, without the
// large blocks of ideographs and without those that Python's or Go's version of Unicode
// does not know.
func sampleUnicodeRunes(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, block := range [][2]rune{
		{0, 0x3100}, {0xa640, 0xac00}, {0xd7ff, 0xd810}, {0xdff0, 0xe001}, {0xf8ff, 0x12000}, {0x16a00, 0x17000}, {0x1d000, 0x1fc00}, {0x10fffd, 0x110000},
	} {
		for r := block[0]; r < block[1]; r++ {
			if isKnownRune(r) {
				texts = append(texts, string(pyvalue.AppendRune(nil, r)))
			}
		}
	}
	var both []string
	for i, category := range callPythonOnTexts(t, "category", texts) {
		if category != "Cn" {
			both = append(both, texts[i])
		}
	}
	require.Greater(t, len(both), 20_000)
	return both
}

// isKnownRune reports whether Go's version of Unicode has assigned the character.
func isKnownRune(r rune) bool {
	return unicode.In(r, unicode.C, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z)
}

// requireEqualTexts requires that Python's and our result for text are equal. It is
// faster than require.Equal alone for many thousands of texts.
func requireEqualTexts(t *testing.T, python, ours, text string) {
	t.Helper()
	if python != ours {
		require.Equal(t, python, ours, "%.100q", text)
	}
}

func TestUpperAsPython(t *testing.T) {
	t.Parallel()
	texts := []string{"straße", "ﬁn", "ΣΑΣ ς", "ŉ", "ǰ", "ΐ", "i̇ı", "Ǆǅǆ", "a\xed\xa0\x80ß\xed\xb0\x80", ""}
	texts = append(texts, sampleUnicodeRunes(t)...)
	for i, python := range callPythonOnTexts(t, "upper", texts) {
		if strings.ContainsFunc(python, func(r rune) bool { return !isKnownRune(r) }) {
			continue // upper case is of a newer Unicode than Go's
		}
		requireEqualTexts(t, python, pyvalue.Upper(texts[i]), texts[i])
	}
}

func TestLowerAsPython(t *testing.T) {
	t.Parallel()
	texts := []string{"STRAßE", "ΣΑΣ", "ΑΣ Σ ΣΑ", "ΑΣ\u0301", "ΑΣ.Β", "Α.Σ", "İI", "ǅ", "A\xed\xa0\x80B\xed\xb0\x80", ""}
	texts = append(texts, sampleUnicodeRunes(t)...)
	for i, python := range callPythonOnTexts(t, "lower", texts) {
		if strings.ContainsFunc(python, func(r rune) bool { return !isKnownRune(r) }) {
			continue // lower case is of a newer Unicode than Go's
		}
		requireEqualTexts(t, python, pyvalue.Lower(texts[i]), texts[i])
	}
}

func TestTrimAsPython(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, c := range sampleUnicodeRunes(t) {
		texts = append(texts, c+"x"+c)
	}
	for i, python := range callPythonOnTexts(t, "strip", texts) {
		requireEqualTexts(t, python, pyvalue.TrimSpace(texts[i]), texts[i])
	}
}

func TestReprAsPython(t *testing.T) {
	t.Parallel()
	texts := []string{`it's`, `say "x"`, `it's "x"`, `back\slash`}
	texts = append(texts, sampleUnicodeRunes(t)...)
	for i, python := range callPythonOnTexts(t, "repr", texts) {
		requireEqualTexts(t, python, pyvalue.Repr(pyvalue.String(texts[i])), texts[i])
	}
}

func TestStrOfValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`true`: "True", `false`: "False", `null`: "None", `1`: "1", `1.0`: "1.0", `1e16`: "1e+16", `1e-5`: "1e-05", `["B"]`: "['B']",
		`{"a": 1, "b": [null, "x'"]}`: `{'a': 1, 'b': [None, "x'"]}`, `NaN`: "nan", `-Infinity`: "-inf", `"B"`: "B", `[]`: "[]", `{}`: "{}", `-0.0`: "-0.0",
	} {
		require.Equal(t, want, pyvalue.Str(pyvaluetest.MustDecode(t, text)))
	}
}

// ParseFloat accepts the same texts as Python's float. The test tries each character
// alone and before, after and inside a number.
func TestParseFloatAsPython(t *testing.T) {
	t.Parallel()
	texts := []string{
		"1.5", " 1.5\n", "1_0.0_1e1_0", "1__0", "_1", "1_", "1_.5", "1._5", "1e_5", "1e5_", ".5", "5.", ".", "", " ", "+1", "-1", "+-1", "- 1", "1e400", "-1e400", "1e-400",
		"inf", "-INF", "+Infinity", "in", "iNf_", "nan", "-NaN", "+nan", "nan1", "0x10", "0x1p3", "1,000", "50%", "5 kg", "1e", "e5", "1e+", "1e5.0", "1 2", "\u22125", "\u200b5",
		"٣.١٤", "１２３", "\U0001d7d8\U0001d7e1\U0001d7ff", "१२", "1\u0660", "\x1c5", "\x1f5\x1f", "\v5\f", "\u00855", "\u20035\u3000", "\x005", "5\x00", "²", "½", "true", "None", "1d", "1f", "0b1", "1E5", "infinity ", "1\u00a0",
		"\xed\xa0\x80", strings.Repeat("1", 5000), "0." + strings.Repeat("3", 5000), "179769313486231580793e289", "1_000_000", "0_0", "00012", "1\n2",
	}
	for _, c := range sampleUnicodeRunes(t) {
		texts = append(texts, c, c+"5"+c, "1"+c+"2")
	}
	for i, python := range callPythonOnTexts(t, "float", texts) {
		ours := "refused"
		if f, ok := pyvalue.ParseFloat(texts[i]); ok {
			ours = pyvalue.Repr(pyvalue.Float(f))
		}
		requireEqualTexts(t, python, ours, texts[i])
	}
}

func TestEqualAndLessOrEqual(t *testing.T) {
	t.Parallel()
	huge := "1" + strings.Repeat("0", 400)
	for _, c := range []struct {
		a, b  string
		equal bool
		most  string // a <= b: "true", "false" or "type_error"
	}{
		{`1`, `1.0`, true, "true"},
		{`1`, `true`, true, "true"},
		{`0.0`, `false`, true, "true"},
		{`-0.0`, `0`, true, "true"},
		{`9007199254740993`, `9007199254740992.0`, false, "false"},
		{`9007199254740992.0`, `9007199254740993`, false, "true"},
		{huge, `1e308`, false, "false"},
		{huge, `Infinity`, false, "true"},
		{`-Infinity`, huge, false, "true"},
		{`NaN`, `NaN`, false, "false"},
		{`NaN`, `1`, false, "false"},
		{`1`, `NaN`, false, "false"},
		{`"a"`, `"b"`, false, "true"},
		{`"1"`, `1`, false, "type_error"},
		{`null`, `null`, true, "type_error"},
		{`null`, `0`, false, "type_error"},
		{`[]`, `[]`, true, "true"},
		{`[1, 2]`, `[1.0, true]`, false, "false"},
		{`[1, 2]`, `[1, 2, null]`, false, "true"},
		{`[1, null]`, `[1, 2]`, false, "type_error"},
		{`[1, null, 0]`, `[true, null, 1]`, false, "true"},
		{`[NaN]`, `[NaN]`, true, "true"},
		{`[NaN, 2]`, `[NaN, 1]`, false, "false"},
		{`{"a": [NaN]}`, `{"a": [NaN]}`, true, "type_error"},
		{`{"a": 1, "b": 2}`, `{"b": 2.0, "a": true}`, true, "type_error"},
		{`{"a": 1}`, `{"b": 1}`, false, "type_error"},
		{`{"a": 1}`, `{"a": 1, "b": 1}`, false, "type_error"},
		{`"\ud800"`, `"\ue000"`, false, "true"},
		{`"\uffff"`, `"😀"`, false, "true"},
	} {
		a, b := pyvaluetest.MustDecode(t, c.a), pyvaluetest.MustDecode(t, c.b)
		require.Equal(t, c.equal, pyvalue.Equal(a, b), "%s == %s", c.a, c.b)
		require.Equal(t, c.equal, pyvalue.Equal(b, a), "%s == %s", c.b, c.a)
		most, err := pyvalue.LessOrEqual(a, b)
		got := fmt.Sprint(most)
		if err != nil {
			got = "type_error"
			require.ErrorContains(t, err, got)
		}
		require.Equal(t, c.most, got, "%s <= %s", c.a, c.b)
	}
}

func TestObjectMembers(t *testing.T) {
	t.Parallel()
	var none *pyvalue.Object
	require.Zero(t, none.Len())
	require.False(t, none.Has("a"))
	o := pyvalue.NewObject("b", pyvalue.NewInt(1))
	o.Set("a", pyvalue.Float(math.Inf(1)))
	o.Set("b", pyvalue.Null{})
	out, err := json.Marshal(o)
	require.NoError(t, err)
	require.JSONEq(t, `{"b":null,"a":{"$float":"Infinity"}}`, string(out))
	require.Equal(t, "nothing", pyvalue.KindOf(nil))
	for _, v := range []string{"null", "boolean", "integer", "number", "string", "list", "object"} {
		text := map[string]string{"null": "null", "boolean": "true", "integer": "1", "number": "1.0", "string": `""`, "list": "[]", "object": "{}"}[v]
		require.Equal(t, v, pyvalue.KindOf(pyvaluetest.MustDecode(t, text)))
	}
}

// callPythonOnTexts runs the named function of testdata/python.py on each text and returns
// Python's results.
func callPythonOnTexts(t *testing.T, question string, texts []string) []string {
	t.Helper()
	request := pyvalue.List{}
	for _, text := range texts {
		request = append(request, pyvalue.List{pyvalue.String(question), pyvalue.String(text)})
	}
	stdin, err := json.Marshal(request)
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/python.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var answers []string
	for _, v := range pyvaluetest.RequireList(t, pyvaluetest.MustDecode(t, string(out))) {
		answers = append(answers, pyvalue.Str(v))
	}
	require.Len(t, answers, len(texts))
	return answers
}
