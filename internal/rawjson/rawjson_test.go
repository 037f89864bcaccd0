package rawjson_test

import (
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
