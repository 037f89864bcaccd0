package model

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ErrCutStream says that a reply broke off before its end, or that nothing came
// for so long that it was given up.
var ErrCutStream = errors.New("the reply broke off before its end")

// ErrUnreachable says that no connection brought so much as the beginning of a
// reply.
var ErrUnreachable = errors.New("the API cannot be reached")

// ErrNotRecorded says that a [Recording] holds no such request that has not been
// played yet.
var ErrNotRecorded = errors.New("the request was not recorded")

// APIError is a refusal of a model's API. Its text is one line, such as
// "anthropic: 401 authentication_error: invalid x-api-key". To the one of OpenAI
// that a setting mends it adds which.
type APIError struct {
	Provider   string // anthropic, openai, or script
	Status     int    // of HTTP
	Type       string // as the API names it, may be empty
	Message    string
	RetryAfter time.Duration // what the API asked to wait, 0 when it did not say
}

func (e *APIError) Error() string {
	text := fmt.Sprintf("%s: %d %s: %s", e.Provider, e.Status, e.Type, oneLine(e.Message))
	if strings.Contains(e.Message, chatNoTools) {
		text += " (set --model-arg reasoning_effort=none where the model knows it)"
	}
	return text
}

// ContextExceeded reports whether err is an API's refusal of a conversation
// that is longer than the model can read.
func ContextExceeded(err error) bool {
	var api *APIError
	if !errors.As(err, &api) {
		return false
	}
	if api.Provider == providerOpenAI && chatContextExceeded(api) {
		return true
	}
	return api.Status == http.StatusRequestEntityTooLarge ||
		api.Status == http.StatusBadRequest && strings.Contains(api.Message, "prompt is too long")
}

// Transient reports whether the call that ended with err may succeed if it is
// made again: the API could not be reached or had no capacity, or the reply broke
// off. The refusal of a request as such is not transient.
func Transient(err error) bool {
	api, refused := errors.AsType[*APIError](err)
	if !refused {
		return errors.Is(err, ErrCutStream) || errors.Is(err, ErrUnreachable)
	}
	if api.Type == chatNoQuota || ContextExceeded(err) {
		return false
	}
	switch api.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return api.Status >= http.StatusInternalServerError
	}
}

// errorTypes is how the Messages API names the errors of each status.
func errorTypes() map[int]string {
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
		statusOverloaded:                 "overloaded_error",
	}
}

// statusOverloaded is what the Messages API answers when it has no capacity.
const statusOverloaded = 529

// errorType names the error of a status.
func errorType(status int) string {
	if name, ok := errorTypes()[status]; ok {
		return name
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// streamedStatus is the status that the name of an error in the middle of a
// reply stands for. The API had accepted the request, so one that is not known is
// a failure of its own.
func streamedStatus(name string) int {
	for status, known := range errorTypes() {
		if known == name {
			return status
		}
	}
	return http.StatusInternalServerError
}

// errorBody is an error as the API writes it.
type errorBody struct {
	Type  string      `json:"type"` // error
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}
