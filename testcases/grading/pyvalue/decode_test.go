package pyvalue_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// Decode accepts the same texts as Python's decoder. The test compares, by Python's
// repr, what both make of each text.
func TestDecodeAsPython(t *testing.T) {
	t.Parallel()
	texts := []string{
		`null`, `true`, `false`, `0`, `-0`, `-0.0`, `5`, `5.0`, `5e0`, `1E5`, `1e400`, `-1e400`, `1e-400`, `0.1`,
		`1e16`, `1e15`, `123456789012345678`, `1e-4`, `0.00001`, `1.7976931348623157e308`, `5e-324`,
		`NaN`, `Infinity`, `-Infinity`, `-NaN`, `nan`, `inf`, `+Infinity`, `Infinityx`, `nulll`, `tru`,
		`123456789012345678901234567890`, strings.Repeat("9", 4300), strings.Repeat("9", 4301), "-" + strings.Repeat("9", 4300),
		`1.` + strings.Repeat("9", 5000), `[` + strings.Repeat("9", 4301), `01`, `-01`, `+1`, `.5`, `5.`, `1e`, `1e+`, `1.e5`, `1_000`, `0x10`, `--1`, `-`,
		``, ` `, "\ufeff1", "\u00a01", "1\u00a0", " \t\r\n1 \t\r\n", "\v1", "\f1", `1 2`, `1,`, `/* a */ 1`, `1 // a`,
		`"a"`, `'a'`, `"`, `"a`, `"\`, `"\n"`, "\"\n\"", "\"\x1f\"", "\"\x7f\"", "\"\u0080\"", `"\x41"`, `"\u0041"`, `"\u00e9"`, `"\uD83D\uDE00"`,
		`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`, `"\ud83d\n"`, `"\ud83dx"`, `"\u00zz"`, `"\u+041"`, `"\u004"`, `"\u 041"`, `"\/\b\f\n\r\t\\\""`, `"é😀"`, "\"\u2028\"",
		`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `[`, `]`, `[1]]`, `[[[]]]`, `["a", 'b']`,
		`{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{1:2}`, `{"a":1 "b":2}`, `{"a":1`, `{"a" : 1 , "b" : 2}`,
		`{"b":1,"a":2,"b":3}`, `{"":0}`, `{"a":{"a":{"a":1}}}`, `{"a":[1,{"b":[true,null]}]}`,
		nestedJSON("[", "]", 400), nestedJSON(`{"a":`, "}", 400),
		"```json\n{}\n```", `{"answer": "<letter>"}`, `answer is C`, `True`, `None`,
	}
	for i, python := range callPythonOnTexts(t, "loads", texts) {
		ours := "refused"
		v, err := pyvalue.Decode(texts[i])
		var limit *pyvalue.Error
		switch {
		case err == nil:
			ours = pyvalue.Repr(v)
		case json.Valid([]byte(texts[i])) || !isSyntaxError(err):
			require.ErrorAs(t, err, &limit, texts[i])
			ours = map[string]string{"value_error": "ValueError"}[limit.Kind]
		}
		require.Equal(t, python, ours, "%.100q", texts[i])
	}
}

func isSyntaxError(err error) bool {
	_, ok := errors.AsType[*pyvalue.SyntaxError](err)
	return ok
}

func nestedJSON(open, end string, n int) string {
	return strings.Repeat(open, n) + "1" + strings.Repeat(end, n)
}

func TestDecodeNesting(t *testing.T) {
	t.Parallel()
	_, err := pyvalue.Decode(nestedJSON("[", "]", 990))
	require.NoError(t, err)
	for _, text := range []string{
		nestedJSON("[", "]", 991), nestedJSON(`{"a":`, "}", 991), nestedJSON(`[{"a":`, "}]", 500),
		strings.Repeat("[", 1_000_000), "[1, " + strings.Repeat(`{"a":`, 100_000),
	} {
		_, err = pyvalue.Decode(text)
		var limit *pyvalue.Error
		require.ErrorAs(t, err, &limit)
		require.Equal(t, "recursion_error", limit.Kind)
	}
}

func TestDecodePositions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"a\": 1,\n \"é\": ?}":    `line 2 column 7: expected a value, found '?'`,
		"[1, 2":                     `line 1 column 6: expected ',' or ']', found the end`,
		"{\"a\" 1}":                 `line 1 column 6: expected ':', found '1'`,
		"{'a': 1}":                  `line 1 column 2: expected a key in double quotes, found '\''`,
		"\n\n  \"abc":               `line 3 column 3: expected a string that ends, found '"'`,
		"[\"a\nb\"]":                `line 1 column 4: expected no raw control character in a string, found '\n'`,
		"1 x":                       `line 1 column 3: expected the end, found 'x'`,
		"\"\xff\"":                  `line 1 column 2: expected UTF-8, found '�'`,
		`"\q"`:                      `line 1 column 2: expected a valid escape, found '\\'`,
		"":                          `line 1 column 1: expected a value, found the end`,
		"{\"a\": 1, }":              `line 1 column 10: expected a key in double quotes, found '}'`,
		"\"\\ud83d\" \"\\ude00\"":   `line 1 column 10: expected the end, found '"'`,
		"[\"\xed\xa0\xbd\", \xed]":  `line 1 column 7: expected a value, found '�'`,
		"{\"a\": [1, {\"b\": 01}]}": `line 1 column 18: expected ',' or '}', found '1'`,
	} {
		_, err := pyvalue.Decode(text)
		require.EqualError(t, err, want, "%q", text)
	}
}

func TestDecodeKeepsOrder(t *testing.T) {
	t.Parallel()
	v := pyvaluetest.MustDecode(t, `{"z": 1, "a": 2, "m": 3, "a": {"y": 1.0, "x": 100000000000000000000}}`)
	out, err := json.Marshal(v)
	require.NoError(t, err)
	require.Equal(t, `{"z":1,"a":{"y":1.0,"x":100000000000000000000},"m":3}`, string(out))
}

func TestMarshalNonFinite(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(pyvaluetest.MustDecode(t, `[NaN, Infinity, -Infinity, 1e400, "\ud800", "<&\u2028", null, true]`))
	require.NoError(t, err)
	require.JSONEq(t, `[{"$float":"NaN"},{"$float":"Infinity"},{"$float":"-Infinity"},{"$float":"Infinity"},"\ud800","<&\u2028",null,true]`, string(out))
	require.Contains(t, string(out), `"\ud800"`, "the surrogate survives")
}

// A value that is encoded as JSON and decoded again equals the original.
func TestMarshalDecodeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := pyvaluetest.ValueGenerator().Draw(t, "value")
		out, err := json.Marshal(v)
		require.NoError(t, err)
		again, err := pyvalue.Decode(string(out))
		require.NoError(t, err)
		require.Equal(t, pyvalue.Repr(v), pyvalue.Repr(again))
		require.True(t, pyvalue.Equal(v, again))
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,"x\ud83d"],"b":null}`, `[NaN,-Infinity,1e400]`, `"\u00e9\n"`, `{"a":1,"a":2}`, "\"\xed\xa0\x80\"", `[[[[1]]]]`, ` 1 `, `-`, `"\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := pyvalue.Decode(text)
		if err != nil {
			if json.Valid([]byte(text)) && utf8.ValidString(text) {
				require.False(t, isSyntaxError(err), "valid JSON was refused: %v", err)
			}
			return
		}
		out, err := json.Marshal(v)
		require.NoError(t, err)
		again, err := pyvalue.Decode(string(out))
		require.NoError(t, err)
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(out), string(twice))
	})
}

func TestRestoreNonFiniteFloats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"$float": "NaN"}`: `nan`,
		`[{"$float": "Infinity"}, {"a": {"$float": "-Infinity"}, "b": [[{"$float": "NaN"}]]}]`: `[inf, {'a': -inf, 'b': [[nan]]}]`,
		`{"$float": "nan"}`:                          `{'$float': 'nan'}`,
		`{"$float": 1.5}`:                            `{'$float': 1.5}`,
		`{"$float": null}`:                           `{'$float': None}`,
		`{"$float": {"$float": "NaN"}}`:              `{'$float': nan}`,
		`{"$float": "NaN", "x": 1}`:                  `{'$float': 'NaN', 'x': 1}`,
		`{"\u0024float": "NaN"}`:                     `nan`,
		`{"x": "$float", "$float": ["NaN"], "y": 1}`: `{'x': '$float', '$float': ['NaN'], 'y': 1}`,
		`["$float", 1, true, null, NaN]`:             `['$float', 1, True, None, nan]`,
	} {
		require.Equal(t, want, pyvalue.Repr(pyvalue.RestoreNonFiniteFloats(pyvaluetest.MustDecode(t, text))), text)
	}
}

// A value with any floats, infinite ones and NaN included, equals the original after
// encoding, decoding and RestoreNonFiniteFloats.
func TestRestoreNonFiniteFloatsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := pyvalue.List{pyvaluetest.ValueGenerator().Draw(t, "value"), pyvalue.Float(rapid.Float64().Draw(t, "float"))}
		text, err := v.MarshalJSON()
		require.NoError(t, err)
		again, err := pyvalue.Decode(string(text))
		require.NoError(t, err)
		require.Equal(t, pyvalue.Repr(v), pyvalue.Repr(pyvalue.RestoreNonFiniteFloats(again)))
	})
}
