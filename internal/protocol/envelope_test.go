package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

func TestDecodeEnvelope(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body string
		want protocol.Envelope
	}{
		"an action": {
			`{"type":"agent_action","action":"edit_cell","params":{"cell_id":"inner","type":"no"},"tx_id":"tx_1"}`,
			protocol.Envelope{Type: "agent_action", Action: "edit_cell", TxID: "tx_1", CellID: "inner"},
		},
		"params that are no object": {`{"type":"x","params":[{"cell_id":"c"}]}`, protocol.Envelope{Type: "x"}},
		"params further down":       {`{"type":"x","a":{"params":{"cell_id":"c"}}}`, protocol.Envelope{Type: "x"}},
		"white space and order":     {" { \"tx_id\" : \"a\" ,\n \"type\":\"x\" } \n", protocol.Envelope{Type: "x", TxID: "a"}},
		"the last of two counts":    {`{"type":"a","type":"b"}`, protocol.Envelope{Type: "b"}},
		"escapes":                   {`{"type":"\u0072eady","cell_id":"a\"b"}`, protocol.Envelope{Type: "ready", CellID: `a"b`}},
		"not a string":              {`{"type":7,"cell_id":null,"tx_id":["a"]}`, protocol.Envelope{}},
		"no fields":                 {`{}`, protocol.Envelope{}},
		"active_cell":               {`{"type":"kernel_stdio","active_cell":"c"}`, protocol.Envelope{Type: "kernel_stdio", CellID: "c"}},
		"lone surrogate in a value": {`{"type":"x","data":"\ud800"}`, protocol.Envelope{Type: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dec := protocol.NewEnvelopeDecoder()
			for range 2 { // a decoder can be used again
				got, err := dec.Decode([]byte(tc.body))
				require.NoError(t, err)
				require.Equal(t, tc.want, got)
			}
		})
	}
}

func TestDecodeRefusesMalformedMessages(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"empty":            "",
		"text":             "Traceback",
		"a list":           `[{"type":"x"}]`,
		"cut":              `{"type":"x"`,
		"cut in a value":   `{"type":"x","a":[1,2`,
		"text behind":      `{"type":"x"} {"type":"y"}`,
		"bare words":       `{"type":"x","a":{foo}}`,
		"trailing comma":   `{"type":"x",}`,
		"NaN":              `{"type":"x","a":NaN}`,
		"not UTF-8":        "{\"type\":\"x\",\"a\":\"\xff\"}",
		"raw control code": "{\"type\":\"x\",\"a\":\"\x01\"}",
		"nested too deep":  `{"type":"x","a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		"raw, too short":   "\x00\x01",
		"raw, stream 3":    "\x00\x03\x00\x00text",
		"raw, id too long": "\x00\x01\xff\x00text",
		"raw, not UTF-8":   "\x00\x01\x00\x00\xff",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := protocol.NewEnvelopeDecoder().Decode([]byte(body))
			require.ErrorIs(t, err, protocol.ErrMalformed)
		})
	}
}

func TestRawFrameRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []protocol.RawFrame{
		{Stream: protocol.Stdout, CellID: "cell-1", Text: []byte("héllo\n")},
		{Stream: protocol.Stderr, CellID: "", Text: []byte{}},
	} {
		body := protocol.AppendRawFrame(nil, want)
		got, err := protocol.ParseRawFrame(body)
		require.NoError(t, err)
		require.Equal(t, want, got)
		env, err := protocol.NewEnvelopeDecoder().Decode(body)
		require.NoError(t, err)
		require.Equal(t, protocol.Envelope{Type: protocol.TypeKernelStdio, CellID: want.CellID}, env)
	}
	text, err := protocol.BodyToJSON(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, Text: []byte("x")}))
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"kernel_stdio","active_cell":null,"stream":"stdout","data":"x"}`, string(text))
}

// FuzzDecodeEnvelope decodes arbitrary bytes: an accepted message must be valid JSON, and a raw
// frame must have the same envelope as the JSON message that it stands for.
func FuzzDecodeEnvelope(f *testing.F) {
	f.Add([]byte(`{"type":"agent_action","action":"run_cell","params":{"cell_id":"c"},"tx_id":"t"}`))
	f.Add([]byte("\x00\x01\x02\x00c1text"))
	f.Add([]byte("\x00\x01\x02\x000ʆ")) // the end of the cell id is within a character
	f.Add([]byte(`{"type":"\ud800","a":[{}]}`))
	dec := protocol.NewEnvelopeDecoder()
	f.Fuzz(func(t *testing.T, body []byte) {
		env, err := dec.Decode(body)
		if err != nil {
			require.ErrorIs(t, err, protocol.ErrMalformed)
			return
		}
		text, err := protocol.BodyToJSON(body)
		require.NoError(t, err)
		require.True(t, json.Valid(text), "a message that is accepted is JSON")
		again, err := dec.Decode(text)
		require.NoError(t, err)
		require.Equal(t, env, again)
	})
}

func TestTxIDFormat(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^tx_[0-9a-f]{12}$`, protocol.NewTxID())
	require.Regexp(t, `^eval_[0-9a-f]{12}$`, protocol.NewServerTxID())
	first := protocol.NewTxID()
	require.NotEqual(t, first, protocol.NewTxID())
}

// Why an action without a usable tx_id gets no answer.
func TestProblemWithTxID(t *testing.T) {
	t.Parallel()
	const missing = "it had no tx_id, so it got no answer"
	for body, want := range map[string]string{
		`{"type":"agent_action"}`: missing,
		`{"tx_id":null}`:          missing,
		`{"tx_id":""}`:            missing,
		`{"tx_id":`:               missing,
		`{"tx_id":17}`:            "its tx_id was 17, which is no text, so it got no answer",
		`{"tx_id":{"id":"a"}}`:    `its tx_id was {"id":"a"}, which is no text, so it got no answer`,
		`{"tx_id":[` + strings.Repeat("1,", 100) + `1]}`: "its tx_id was [" + strings.Repeat("1,", 19) + "1, which is no text, so it got no answer",
	} {
		text, mistyped := protocol.ProblemWithTxID([]byte(body))
		require.Equal(t, want, text)
		require.Equal(t, want != missing, mistyped)
	}
}

func TestReplaceFields(t *testing.T) {
	t.Parallel()
	got, err := protocol.ReplaceFields([]byte(`{"type":"globals_summary","agent_tx_id":"eval_1","summary":{"x":{"repr":"\ud800 1.0"}},"big":12345678901234567890}`),
		protocol.Field{Name: "type", Value: "agent_action_response"},
		protocol.Field{Name: "tx_id", Value: "tx_1"},
		protocol.Field{Name: "agent_tx_id"})
	require.NoError(t, err)
	require.Equal(t, `{"type":"agent_action_response","tx_id":"tx_1","summary":{"x":{"repr":"\ud800 1.0"}},"big":12345678901234567890}`, string(got))
	got, err = protocol.ReplaceFields([]byte(`{"a":1}`), protocol.Field{Name: "a"})
	require.NoError(t, err)
	require.Equal(t, `{}`, string(got))
	for _, body := range []string{"", "[]", `{"a":`, `{"a":1`} {
		_, err := protocol.ReplaceFields([]byte(body), protocol.Field{Name: "b", Value: 1})
		require.ErrorIs(t, err, protocol.ErrMalformed, body)
	}
}

func TestHasNumberLongerThan(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("7", 11)
	for text, want := range map[string]bool{
		`{"n":` + digits[:10] + `}`:               false,
		`{"n":` + digits + `}`:                    true,
		`{"n":-1.5e-` + digits[:8] + `}`:          true,
		`{"some text before":[1,` + digits + `]}`: true,
		`{"n":"` + digits + digits + `"}`:         false,
		`{"n":"\"` + digits + `\"","m":12}`:       false,
		`{"n":"x","m":[` + digits + `,2]}`:        true,
		``:                                        false,
	} {
		require.Equal(t, want, protocol.HasNumberLongerThan([]byte(text), 10), text)
	}
}
