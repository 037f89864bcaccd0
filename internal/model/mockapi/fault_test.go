package mockapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
)

// A fault also affects a response that is not streamed.
func TestFaultsInUnstreamedAnswers(t *testing.T) {
	t.Parallel()
	body := messageRequestBody(hi)
	plain := func(fault string) (int, string) {
		mock := mockapi.New(modeltest.ParseScript(t, `{"content":"hello","fault":`+fault+`}`), nil)
		return postMessageRequest(t, mock, body, nil)
	}
	for fault, want := range map[string]string{
		`{"end":3}`:           `{"id":"msg_1","type":"message"`,
		`{"garbage":"json"}`:  `{"id":"msg_1","type":"message"`,
		`{"garbage":"event"}`: `"text":"hello"`,
		`{"stall_ms":1}`:      `"text":"hello"`,
		`{"garbage":"html"}`:  `<!DOCTYPE html>`,
	} {
		status, text := plain(fault)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, text, want, fault)
		require.Equal(t, strings.Contains(want, "hello"), json.Valid([]byte(text)), fault)
	}
	status, text := plain(`{"error":{"type":"overloaded_error","message":"busy"}}`)
	require.Equal(t, 529, status)
	require.JSONEq(t, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, text)
	for _, fault := range []string{`{"cut":3}`, `{"drop":true}`} {
		require.PanicsWithValue(t, http.ErrAbortHandler, func() { plain(fault) }, fault)
	}
}
