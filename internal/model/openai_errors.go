package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// What the errors of Chat Completions are called that are looked at by name.
const (
	chatNoQuota  = "insufficient_quota" // a 429 that no waiting mends
	chatTooLong  = "context_length_exceeded"
	llamaTooLong = "exceed_context_size_error"
)

// chatNoTools is in the words by which OpenAI refuses tools to a model that
// reasons, as some of them do unless they are told not to.
const chatNoTools = "Function tools with reasoning_effort are not supported"

// chatError is an error on the wire. Some endpoints write it without an object
// around it, or a status as its code.
type chatError struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
}

// name is what the API calls the error, as exactly as it does.
func (e chatError) name() string {
	var code string
	_ = json.Unmarshal(e.Code, &code) // a number is no name
	return cmp.Or(code, e.Type)
}

// status is that of an error after which there is no telling by HTTP.
func (e chatError) status() int {
	var code int
	if json.Unmarshal(e.Code, &code) == nil && code >= http.StatusBadRequest && code <= 599 {
		return code
	}
	switch e.name() {
	case "rate_limit_exceeded", "rate_limit_error", chatNoQuota:
		return http.StatusTooManyRequests
	case "invalid_request_error", chatTooLong, llamaTooLong:
		return http.StatusBadRequest
	default:
		return http.StatusInternalServerError // it had begun to reply
	}
}

// chatRefusal reads the error among the members of an answer, nil when there
// is none.
func chatRefusal(text json.RawMessage) error {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	e := parseChatError(text)
	status := e.status()
	return &APIError{Provider: providerOpenAI, Status: status, Type: cmp.Or(e.name(), errorType(status)), Message: e.Message}
}

// parseChatError reads an error that is an object or a text.
func parseChatError(text []byte) chatError {
	var e chatError
	if json.Unmarshal(text, &e) != nil || e.Message == "" {
		var said string
		if json.Unmarshal(text, &said) != nil {
			said = excerpt(string(text))
		}
		e.Message = said
	}
	return e
}

// chatRefused reads an answer whose status is an error.
func chatRefused(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxEvent)) // what has come is quoted
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	inner := text
	if json.Unmarshal(text, &body) == nil && len(body.Error) > 0 && string(body.Error) != "null" {
		inner = body.Error
	}
	e := parseChatError(inner)
	return &APIError{
		Provider: providerOpenAI, Status: answer.StatusCode, Type: cmp.Or(e.name(), errorType(answer.StatusCode)),
		Message: e.Message, RetryAfter: retryAfter(answer.Header),
	}
}

// chatContextExceeded reports whether an API says that the conversation is
// longer than its model reads. Compatible servers have words of their own for
// it. That a reply may not be as long as was asked for is something else.
func chatContextExceeded(api *APIError) bool {
	if api.Type == chatTooLong || api.Type == llamaTooLong {
		return true
	}
	words := strings.ToLower(api.Message)
	if api.Status == http.StatusTooManyRequests || strings.Contains(words, "is too large") {
		return false
	}
	return regexp.MustCompile(`prompt is too long|maximum context length` +
		`|\b(exceed|exceeds|exceeded|longer than|greater than)\b.*\bcontext\b` +
		`|\bcontext\b.*\b(exceeded|overflows|overflowed)\b`).MatchString(words)
}

// chatBroken is the error of an answer that failed after its head had come.
func chatBroken(err error) error {
	_, refused := errors.AsType[*APIError](err)
	if refused || errors.Is(err, errNotStream) || errors.Is(err, errTooLong) {
		return err
	}
	return broken(err)
}
