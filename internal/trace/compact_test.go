package trace_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/trace"
)

// What is taken for compact is what compacting would leave as it is.
func FuzzIsCompact(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":1}`, `{"a": 1}`, "{\n}", `"a b"`, `"a\"b c\\"`, `["\\"," "]`, `["\\", ""]`, `{"a":"\\\" x"}`, `1 `, ` 1`, "[1,\t2]", `"`, `""""`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var compacted bytes.Buffer
		if json.Compact(&compacted, text) != nil {
			trace.IsCompact(text) // of anything: no panic
			return
		}
		require.Equal(t, compacted.String() == string(text), trace.IsCompact(text), "%q", text)
	})
}

// A line less what its frame carries is the rest of it, whatever that is.
func TestBrief(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"seq":1,"type":"x","msg":{"a":{"msg":1}}}`:      `{"seq":1,"type":"x"}`,
		`{"seq":1,"type":"say \",\"msg\":","msg":"text"}`: `{"seq":1,"type":"say \",\"msg\":"}`,
		`{"seq":1,"ref":7}`:                               `{"seq":1,"ref":7}`,
		`{"type":"trace","version":1}`:                    `{"type":"trace","version":1}`,
		``:                                                ``,
	} {
		text := []byte(line)
		brief := trace.LineWithoutMessage(text)
		require.Equal(t, want, string(brief))
		for i := range brief {
			brief[i] = '!'
		}
		require.Equal(t, line, string(text), "it shares nothing")
	}
}
