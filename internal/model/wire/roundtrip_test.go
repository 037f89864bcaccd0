package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/wire"
)

// minimalRequest returns the body of a short request to the API.
func minimalRequest(api wire.API, isStreamed bool) string {
	body := `{"model":"m","input":"hi"`
	switch api {
	case wire.Messages:
		body = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]`
	case wire.Chat:
		body = `{"model":"m","messages":[{"role":"user","content":"hi"}]`
	}
	if isStreamed {
		body += `,"stream":true`
	}
	if isStreamed && api == wire.Chat {
		body += `,"stream_options":{"include_usage":true}`
	}
	return body + "}"
}

// mockReply returns the body with which the mock server sends the reply of this script
// line.
func mockReply(t *testing.T, api wire.API, line string, isStreamed bool) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, api.Path(), strings.NewReader(minimalRequest(api, isStreamed)))
	r.Header.Set("X-Api-Key", "k")
	w := httptest.NewRecorder()
	mockapi.New(modeltest.ParseScript(t, line), nil).ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return w.Body.String()
}
