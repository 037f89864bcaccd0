package openai

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// errorDetail is the JSON of an error of Chat Completions. Some servers send it without
// the enclosing object, or use an HTTP status as its code.
type errorDetail struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
}

// codeOrType returns the error's code, or its type if it has no code.
func (e errorDetail) codeOrType() string {
	var code string
	_ = json.Unmarshal(e.Code, &code) // "" if the code is a number
	return cmp.Or(code, e.Type)
}

// httpStatus returns the HTTP status for an error that came in a response with status 200:
// the error's code if that is a status, else the status that its code or type implies,
// else 500.
func (e errorDetail) httpStatus() int {
	var code int
	if json.Unmarshal(e.Code, &code) == nil && code >= http.StatusBadRequest && code <= 599 {
		return code
	}
	switch e.codeOrType() {
	case "rate_limit_exceeded", "rate_limit_error", model.TypeNoQuota:
		return http.StatusTooManyRequests
	case "invalid_request_error", model.TypeContextLength, model.TypeContextSize:
		return http.StatusBadRequest
	default:
		return http.StatusInternalServerError // the server had accepted the request
	}
}

// apiErrorInChunk returns the error in a chunk of a reply as an APIError, or nil if
// text is absent or null.
func apiErrorInChunk(text json.RawMessage) error {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	e := parseErrorDetail(text)
	status := e.httpStatus()
	return &model.APIError{Provider: providerName, Status: status, Type: cmp.Or(e.codeOrType(), model.ErrorTypeOfStatus(status)), Message: e.Message}
}

// parseErrorDetail decodes an API error that is a JSON object, a JSON string or any
// other text.
func parseErrorDetail(text []byte) errorDetail {
	var e errorDetail
	if json.Unmarshal(text, &e) != nil || e.Message == "" {
		var plainText string
		if json.Unmarshal(text, &plainText) != nil {
			plainText = endpoint.TextExcerpt(string(text))
		}
		e.Message = plainText
	}
	return e
}

// apiErrorOfResponse returns the APIError for a response with an HTTP error status.
func apiErrorOfResponse(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, endpoint.MaxLineBytes)) // a part of the body is good enough
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	inner := text
	if json.Unmarshal(text, &body) == nil && len(body.Error) > 0 && string(body.Error) != "null" {
		inner = body.Error
	}
	e := parseErrorDetail(inner)
	return &model.APIError{
		Provider: providerName, Status: answer.StatusCode, Type: cmp.Or(e.codeOrType(), model.ErrorTypeOfStatus(answer.StatusCode)),
		Message: e.Message, RetryAfter: endpoint.ParseRetryAfter(answer.Header),
	}
}
