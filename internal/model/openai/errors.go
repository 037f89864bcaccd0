package openai

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// errorDetail is an error on the wire. Some endpoints write it without an object
// around it, or a status as its code.
type errorDetail struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
}

// name is what the API calls the error, as exactly as it does.
func (e errorDetail) name() string {
	var code string
	_ = json.Unmarshal(e.Code, &code) // a number is no name
	return cmp.Or(code, e.Type)
}

// status is that of an error after which there is no telling by HTTP.
func (e errorDetail) status() int {
	var code int
	if json.Unmarshal(e.Code, &code) == nil && code >= http.StatusBadRequest && code <= 599 {
		return code
	}
	switch e.name() {
	case "rate_limit_exceeded", "rate_limit_error", model.TypeNoQuota:
		return http.StatusTooManyRequests
	case "invalid_request_error", model.TypeContextLength, model.TypeContextSize:
		return http.StatusBadRequest
	default:
		return http.StatusInternalServerError // it had begun to reply
	}
}

// streamRefusal reads the error among the members of an answer, nil when there
// is none.
func streamRefusal(text json.RawMessage) error {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	e := parseErrorDetail(text)
	status := e.status()
	return &model.APIError{Provider: provider, Status: status, Type: cmp.Or(e.name(), model.ErrorType(status)), Message: e.Message}
}

// parseErrorDetail reads an error that is an object or a text.
func parseErrorDetail(text []byte) errorDetail {
	var e errorDetail
	if json.Unmarshal(text, &e) != nil || e.Message == "" {
		var said string
		if json.Unmarshal(text, &said) != nil {
			said = endpoint.Excerpt(string(text))
		}
		e.Message = said
	}
	return e
}

// statusRefusal reads an answer whose status is an error.
func statusRefusal(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, endpoint.MaxLineBytes)) // what has come is quoted
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	inner := text
	if json.Unmarshal(text, &body) == nil && len(body.Error) > 0 && string(body.Error) != "null" {
		inner = body.Error
	}
	e := parseErrorDetail(inner)
	return &model.APIError{
		Provider: provider, Status: answer.StatusCode, Type: cmp.Or(e.name(), model.ErrorType(answer.StatusCode)),
		Message: e.Message, RetryAfter: endpoint.RetryAfter(answer.Header),
	}
}
