package pyvalue_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

func TestRestoreFloats(t *testing.T) {
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
		require.Equal(t, want, pyvalue.Repr(pyvalue.RestoreFloats(pyvaluetest.Decode(t, text))), text)
	}
}

// TestFloatsRoundTrip: what is written and restored is what it was, whatever
// numbers are in it.
func TestFloatsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := pyvalue.List{pyvaluetest.Values().Draw(t, "value"), pyvalue.Float(rapid.Float64().Draw(t, "float"))}
		text, err := v.MarshalJSON()
		require.NoError(t, err)
		again, err := pyvalue.Decode(string(text))
		require.NoError(t, err)
		require.Equal(t, pyvalue.Repr(v), pyvalue.Repr(pyvalue.RestoreFloats(again)))
	})
}
