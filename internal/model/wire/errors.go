package wire

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/rawjson"
)

// DecodeError returns the error in the body of an error response with this HTTP status, or
// with status 0 in an error event, whose error gets the status that its type implies. If the body is not an error of the API, its beginning is the message.
func DecodeError(api API, status int, body []byte) *model.APIError {
	detail := parseErrorDetail(body)
	if status == 0 {
		status = detail.httpStatus()
	}
	return &model.APIError{
		Provider: api.Provider(), Status: status, Message: detail.Message,
		Type: cmp.Or(detail.codeOrType(), model.ErrorTypeOfStatus(status)),
	}
}

// errorDetail is the JSON of an error. Some servers use an HTTP status as its code.
type errorDetail struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // only of OpenAI's APIs
}

// parseErrorDetail decodes an error that is a JSON object, with or without an enclosing
// object, a JSON string or any other text.
func parseErrorDetail(body []byte) errorDetail {
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(body, &outer) // without an error if it is no object
	inner := body
	if !isNull(outer.Error) {
		inner = outer.Error
	}
	var e errorDetail
	if decodeLeniently(inner, &e) == nil && e.Message != "" {
		return e
	}
	if isNull(outer.Error) {
		e = errorDetail{} // the type is that of something else
	}
	if json.Unmarshal(inner, &e.Message) != nil {
		e.Message = endpoint.TextExcerpt(strings.TrimSpace(string(inner)))
	}
	return e
}

// isNull reports whether a JSON value is absent or null.
func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// codeOrType returns the error's code, or its type if it has no code.
func (e errorDetail) codeOrType() string {
	var code string
	_ = json.Unmarshal(e.Code, &code) // "" if the code is a number
	return cmp.Or(code, e.Type)
}

// httpStatus returns the HTTP status for an error that came in a response with status 200:
// the error's code if that is a status, else the status that its code or type implies,
// else 500, since the server had accepted the request.
func (e errorDetail) httpStatus() int {
	var code int
	if json.Unmarshal(e.Code, &code) == nil && code >= http.StatusBadRequest && code <= 599 {
		return code
	}
	switch kind := e.codeOrType(); kind {
	case typeRateLimit, model.TypeNoQuota:
		return http.StatusTooManyRequests
	case model.TypeContextLength, model.TypeContextSize:
		return http.StatusBadRequest
	default:
		return model.StatusOfErrorType(kind)
	}
}

// typeRateLimit is the code with which OpenAI says that requests come too fast.
const typeRateLimit = "rate_limit_exceeded"

// openAIError is the error in a response of OpenAI's APIs.
type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// newOpenAIError returns an error of OpenAI's APIs. Some types are also codes there, by
// which clients recognize the error.
func newOpenAIError(errorType, message string) openAIError {
	out := openAIError{Message: message, Type: errorType}
	switch errorType {
	case model.TypeContextLength:
		out.Type, out.Code = "invalid_request_error", &errorType
	case model.TypeNoQuota, typeRateLimit:
		out.Code = &errorType
	}
	return out
}

// ErrorBody returns the body of an error response of the API. errorType "" stands for the
// type that the status implies.
func ErrorBody(api API, status int, errorType, message string) []byte {
	errorType = cmp.Or(errorType, model.ErrorTypeOfStatus(status))
	if api == Messages {
		return encode(model.ErrorBody{Type: "error", Error: model.ErrorDetail{Type: errorType, Message: message}})
	}
	return encode(map[string]openAIError{"error": newOpenAIError(errorType, message)})
}

// WriteError sends an error response of the API. errorType "" stands for the type that the
// status implies. Other headers than the media type are the caller's.
func WriteError(w http.ResponseWriter, api API, status int, errorType, message string) {
	_ = writeJSON(w, status, ErrorBody(api, status, errorType, message))
}

// writeAPIError sends an error of any API as an error response of this API. It asks the
// client to wait if the error does.
func writeAPIError(w http.ResponseWriter, api API, err *model.APIError) {
	if err.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(err.RetryAfter.Seconds(), 'f', -1, 64))
	}
	known := *err
	if known.Status < http.StatusBadRequest {
		known.Status = http.StatusBadGateway
	}
	errorType, message := translateError(api, &known)
	WriteError(w, api, known.Status, errorType, message)
}

// translateError returns type and message with which this API reports an error of any API.
// A client recognizes by them that the conversation is too long.
func translateError(api API, err *model.APIError) (errorType, message string) {
	const tooLong = "prompt is too long"
	switch {
	case err.Provider == api.Provider():
		return err.Type, err.Message
	case !model.IsContextExceeded(err) && api == Messages:
		return model.ErrorTypeOfStatus(err.Status), err.Message
	case !model.IsContextExceeded(err):
		return err.Type, err.Message
	case api != Messages:
		return model.TypeContextLength, err.Message
	case strings.Contains(err.Message, tooLong):
		return "invalid_request_error", err.Message
	default:
		return "invalid_request_error", tooLong + ": " + err.Message
	}
}

// writeJSON sends a response with a JSON body. It returns an error if the client has gone.
func writeJSON(w http.ResponseWriter, status int, body []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// encode returns v as JSON. Its raw JSON must be valid.
func encode(v any) []byte {
	text, err := rawjson.Marshal(v)
	if err != nil {
		return []byte("null") // cannot happen: what is encoded was JSON, or is text
	}
	return text
}
