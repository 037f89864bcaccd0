package trace_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/trace"
)

// FuzzIsCompactJSON checks that isCompactJSON is true exactly for JSON that json.Compact would not
// change.
func FuzzIsCompactJSON(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":1}`, `{"a": 1}`, "{\n}", `"a b"`, `"a\"b c\\"`, `["\\"," "]`, `["\\", ""]`, `{"a":"\\\" x"}`, `1 `, ` 1`, "[1,\t2]", `"`, `""""`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var compacted bytes.Buffer
		if json.Compact(&compacted, text) != nil {
			trace.IsCompactJSON(text) // must not panic on text that is not JSON
			return
		}
		require.Equal(t, compacted.String() == string(text), trace.IsCompactJSON(text), "%q", text)
	})
}
