package model

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// ErrCutStream means that a model's reply broke off before its end, or that the client
// cancelled the call after the idle timeout.
var ErrCutStream = errors.New("the reply broke off before its end")

// ErrUnreachable means that the connection to a model API failed before any part of a
// reply arrived.
var ErrUnreachable = errors.New("the API cannot be reached")

// Values of [APIError.Type] that name a reason better than the HTTP status does.
const (
	TypeNoQuota       = "insufficient_quota"        // OpenAI: a 429 that does not pass by waiting
	TypeContextLength = "context_length_exceeded"   // OpenAI: the conversation is too long
	TypeContextSize   = "exceed_context_size_error" // llama.cpp: the conversation is too long
)

// toolsWithReasoningErrorText is part of the message with which OpenAI rejects tools for a
// reasoning model. Some of its models do so unless reasoning is switched off.
const toolsWithReasoningErrorText = "Function tools with reasoning_effort are not supported"

// APIError is an error response of a model's API. Its text is one line, such as
// "anthropic: 401 authentication_error: invalid x-api-key". If a setting of Assay
// avoids the error, the text names the setting.
type APIError struct {
	Provider   string // anthropic, openai, or script
	Status     int    // of HTTP
	Type       string // as the API names it, may be empty
	Message    string
	RetryAfter time.Duration // how long the API asks to wait, 0 if it does not say
}

func (e *APIError) Error() string {
	text := fmt.Sprintf("%s: %d %s: %s", e.Provider, e.Status, e.Type, strings.Join(strings.Fields(e.Message), " "))
	if strings.Contains(e.Message, toolsWithReasoningErrorText) {
		text += " (set --model-arg api=responses, or reasoning_effort=none where the model knows it)"
	}
	return text
}

// IsContextExceeded reports whether err is an API's error response for a conversation
// that is longer than the model's context.
func IsContextExceeded(err error) bool {
	var api *APIError
	if !errors.As(err, &api) {
		return false
	}
	if api.Provider == "openai" && isOpenAIContextExceeded(api) {
		return true
	}
	return api.Status == http.StatusRequestEntityTooLarge ||
		api.Status == http.StatusBadRequest && strings.Contains(api.Message, "prompt is too long")
}

// contextTooLongPattern matches the error messages, in lower case, with which servers
// that are compatible with OpenAI reject a conversation as too long.
var contextTooLongPattern = regexp.MustCompile(`prompt is too long|maximum context length` +
	`|\b(exceed|exceeds|exceeded|longer than|greater than)\b.*\bcontext\b` +
	`|\bcontext\b.*\b(exceeded|overflows|overflowed)\b`)

// isOpenAIContextExceeded reports whether an error of the Chat Completions API says
// that the conversation is too long, by its type or, since compatible servers differ,
// by its message. A max_tokens that is too large is a different error.
func isOpenAIContextExceeded(api *APIError) bool {
	if api.Type == TypeContextLength || api.Type == TypeContextSize {
		return true
	}
	message := strings.ToLower(api.Message)
	if api.Status == http.StatusTooManyRequests || strings.Contains(message, "is too large") {
		return false
	}
	return contextTooLongPattern.MatchString(message)
}

// IsTransient reports whether the call to a model that failed with err may succeed if
// it is repeated: the API could not be reached or had no capacity, or the reply broke
// off. An error response that rejects the request itself is not transient.
func IsTransient(err error) bool {
	api, refused := errors.AsType[*APIError](err)
	if !refused {
		return errors.Is(err, ErrCutStream) || errors.Is(err, ErrUnreachable)
	}
	if api.Type == TypeNoQuota || IsContextExceeded(err) {
		return false
	}
	switch api.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return api.Status >= http.StatusInternalServerError
	}
}

// errorTypeByStatus returns the error type that the Messages API uses for each HTTP
// error status.
func errorTypeByStatus() map[int]string {
	const overloaded = 529 // the API has no capacity
	return map[int]string{
		http.StatusBadRequest:            "invalid_request_error",
		http.StatusUnauthorized:          "authentication_error",
		http.StatusPaymentRequired:       "billing_error",
		http.StatusForbidden:             "permission_error",
		http.StatusNotFound:              "not_found_error",
		http.StatusConflict:              "conflict_error",
		http.StatusRequestEntityTooLarge: "request_too_large",
		http.StatusTooManyRequests:       "rate_limit_error",
		http.StatusInternalServerError:   "api_error",
		http.StatusGatewayTimeout:        "timeout_error",
		overloaded:                       "overloaded_error",
	}
}

// ErrorTypeOfStatus returns the error type that the Messages API uses for an HTTP
// status. For a status without a type it returns api_error from 500 on, and otherwise
// invalid_request_error.
func ErrorTypeOfStatus(status int) string {
	if name, ok := errorTypeByStatus()[status]; ok {
		return name
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// StatusOfErrorType returns the HTTP status that belongs to an error type of the
// Messages API. It is for errors in the middle of a streamed reply. The API had
// accepted the request, so an unknown type is 500.
func StatusOfErrorType(errorType string) int {
	for status, known := range errorTypeByStatus() {
		if known == errorType {
			return status
		}
	}
	return http.StatusInternalServerError
}

// ErrorBody is the JSON body of an error response of the Messages API.
type ErrorBody struct {
	Type  string      `json:"type"` // always error
	Error ErrorDetail `json:"error"`
}

// ErrorDetail is the type and message inside an [ErrorBody].
type ErrorDetail struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}
