package tools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/tools"
)

// The error for any invalid input is one short line, the same every time.
func FuzzInputValidation(f *testing.F) {
	for _, seed := range []string{
		`{"position":0,"source":"x"}`, `{"position":1e999,"source":[]}`, `{"b":1,"a":{"b":null}}`, `[]`, `null`, `"`, "{\"source\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	schema := `{"type":"object","properties":{"position":{"type":"integer","minimum":0},"source":{"type":"string","description":"it"},
		"value":{}},"required":["position","source"],"additionalProperties":false}`
	f.Fuzz(func(t *testing.T, input []byte) {
		err := tools.ValidateInput(schema, input)
		require.Equal(t, err, tools.ValidateInput(schema, input))
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			require.Less(t, len(err.Error()), 2000)
		}
	})
}

func TestCO10_LongInvalidInputIsShortened(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	err := tools.ValidateInput(schema, []byte(`{"n":"`+strings.Repeat(`a\n`, 100_000)+`"}`))
	require.Less(t, len(err.Error()), 600)
	require.Regexp(t, `^n: "a\\na.* bytes left out .*a\\n" does not fit \{"type":"integer"\}$`, err.Error())
	err = tools.ValidateInput(schema, []byte(`{"`+strings.Repeat(`a\n`, 100_000)+`":1}`))
	require.Less(t, len(err.Error()), 1000)
	require.EqualError(t, tools.ValidateInput(schema, []byte(`[1]`)), "it must be a JSON object")
	require.EqualError(t, tools.ValidateInput(schema, []byte(`{`)), "it must be a JSON object")
}
