package rawjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/rawjson"
)

// RepairUnicode replaces invalid Unicode and changes nothing else.
func TestRepairUnicode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": "é 🧪 \u00e9 \\ \" \ud83e\uddea", "b":1.50}`: `{"a": "é 🧪 \u00e9 \\ \" \ud83e\uddea", "b":1.50}`,
		`{"a":"\ud83e"}`:             `{"a":"\ufffd"}`,
		`{"a":"\uDDEA\ud83e x"}`:     `{"a":"\ufffd\ufffd x"}`,
		`{"a":"\ud83e\ud83e\uddea"}`: `{"a":"\ufffd\ud83e\uddea"}`,
		`{"a":"\ud83e\u0041"}`:       `{"a":"\ufffd\u0041"}`,
		`{"a":"\\ud83e"}`:            `{"a":"\\ud83e"}`,
		`{"a":"\\\ud83e"}`:           `{"a":"\\\ufffd"}`,
		"{\"a\":\"\xff\xfe\"}":       "{\"a\":\"\uFFFD\"}",
		"{\"a\":\"\xf0\x9f\xa7\"}":   "{\"a\":\"\uFFFD\"}",
	} {
		require.Equal(t, want, string(rawjson.RepairUnicode([]byte(text))), text)
	}
}

// Indent writes what encoding/json writes, and, beyond maxDepth, leaves values as they are.
func TestIndent(t *testing.T) {
	t.Parallel()
	const text = `{"a":[1,[],{},{"b{":"x,[\"]:\\"}],"c":{"d":[[2]]},"e":""}`
	var want bytes.Buffer
	require.NoError(t, json.Indent(&want, []byte(text), "  ", " "))
	require.Equal(t, want.String(), string(rawjson.Indent(nil, []byte(text), "  ", 10)))
	require.Equal(t, "{\n \"a\": [\n  1,\n  [],\n  {},\n  {\"b{\":\"x,[\\\"]:\\\\\"}\n ],\n \"c\": {\n  \"d\": [[2]]\n },\n \"e\": \"\"\n}",
		string(rawjson.Indent(nil, []byte(text), "", 2)))

	deep := strings.Repeat("[", 200) + strings.TrimSuffix(strings.Repeat("0,", 100_000), ",") + strings.Repeat("]", 200)
	require.Less(t, len(rawjson.Indent(nil, []byte(deep), "    ", 6)), len(deep)+200)
}
